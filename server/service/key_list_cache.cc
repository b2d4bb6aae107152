#include "server/service/key_list_cache.h"

namespace seraph {

size_t KeyListCache::BytesOf(const KeyList& list) {
  return KeyList::BytesOf(list.keys().size()) + 2 * sizeof(Kept);
}

std::shared_ptr<KeyList> KeyListCache::Find(const Id& id) {
  MutexLock lock(&mu_);
  const auto found = lists_.find(id);
  if (found == lists_.end()) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->list;
}

std::shared_ptr<KeyList> KeyListCache::Keep(const Id& id,
                                            std::shared_ptr<KeyList> list) {
  const size_t bytes = BytesOf(*list);
  if (bytes > most_bytes_) return list;
  List gone;  // Freed without the lock.
  MutexLock lock(&mu_);
  const auto [found, added] = lists_.try_emplace(id);
  if (!added) {
    order_.splice(order_.begin(), order_, found->second);
    return found->second->list;
  }
  order_.push_front({id, list});
  found->second = order_.begin();
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    const auto last = std::prev(order_.end());
    bytes_ -= BytesOf(*last->list);
    lists_.erase(last->id);
    gone.splice(gone.begin(), order_, last);
  }
  return list;
}

size_t KeyListCache::bytes() const {
  MutexLock lock(&mu_);
  return bytes_;
}

}  // namespace seraph
