// The lists of keys that clients may name.
#ifndef SERAPH_SERVER_SERVICE_KEY_LIST_CACHE_H_
#define SERAPH_SERVER_SERVICE_KEY_LIST_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/concurrent/mutex.h"
#include "common/wire/list_name.h"
#include "server/store/resolved_rows.h"

namespace seraph {

// Of one job on one server, in memory alone. Each list is of one client and one
// life of one replica: another one's partition may have other keys, and its
// turn is another one's, in which resolved rows are looked at.
//
// When there are too many bytes, those that were not used for longest go; a
// client learns that when it names them.
//
// Threads: every method may be called from any thread.
class KeyListCache {
 public:
  struct Id {
    uint64_t replica = 0;  // PartitionActor::number().
    uint64_t session = 0;  // Of a client that is no rank; else ...
    uint32_t rank = 0;
    uint32_t attempt = 0;
    ListName name;

    friend bool operator==(const Id&, const Id&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Id& id) {
      return H::combine(std::move(h), id.replica, id.session, id.rank,
                        id.attempt, id.name);
    }
  };

  explicit KeyListCache(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Null: it is not known.
  std::shared_ptr<KeyList> Find(const Id& id) ABSL_LOCKS_EXCLUDED(mu_);

  // Keeps a list, unless it is there, or too large; returns the one to use.
  std::shared_ptr<KeyList> Keep(const Id& id, std::shared_ptr<KeyList> list)
      ABSL_LOCKS_EXCLUDED(mu_);

  size_t bytes() const ABSL_LOCKS_EXCLUDED(mu_);
  // How often Find found one, and how often not.
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  struct Kept {
    Id id;
    std::shared_ptr<KeyList> list;
  };
  using List = std::list<Kept>;

  static size_t BytesOf(const KeyList& list);

  const size_t most_bytes_;
  std::atomic<uint64_t> hits_ = 0;
  std::atomic<uint64_t> misses_ = 0;

  mutable Mutex mu_;
  List order_ ABSL_GUARDED_BY(mu_);  // The last ones used first.
  absl::flat_hash_map<Id, List::iterator> lists_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_KEY_LIST_CACHE_H_
