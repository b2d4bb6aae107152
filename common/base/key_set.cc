#include "common/base/key_set.h"

#include <algorithm>
#include <numeric>

#include "common/base/key_order.h"

namespace seraph {

KeySpan KeySpan::subspan(size_t begin, size_t size) const {
  size = std::min(size, size_ - begin);
  if (is_range_) return Range(first_ + begin, size);
  return absl::MakeConstSpan(keys_ + begin, size);
}

absl::Span<const Key> KeySpan::WriteOut(Key* buffer) const {
  if (!is_range_) return list();
  std::iota(buffer, buffer + size_, first_);
  return absl::MakeConstSpan(buffer, size_);
}

absl::Span<const Key> KeySpan::WriteOut(std::vector<Key>* buffer) const {
  if (is_range_) buffer->resize(size_);
  return WriteOut(buffer->data());
}

std::vector<Key> KeySpan::ToVector() const {
  if (!is_range_) return std::vector<Key>(keys_, keys_ + size_);
  std::vector<Key> keys(size_);
  WriteOut(keys.data());
  return keys;
}

size_t KeySpan::LowerBound(size_t from, Key key) const {
  if (is_range_) {
    if (key <= first_) return from;
    return std::max<size_t>(from, std::min<Key>(key - first_, size_));
  }
  return std::lower_bound(keys_ + from, keys_ + size_, key) - keys_;
}

size_t KeySpan::FirstNotAbove() const {
  return is_range_ ? size_ : seraph::FirstNotAbove(list());
}

bool KeySpan::AreConsecutive() const {
  return is_range_ || seraph::AreConsecutive(list());
}

bool operator==(KeySpan a, KeySpan b) {
  if (a.size_ != b.size_) return false;
  if (a.empty()) return true;
  if (!a.is_range_ && !b.is_range_) {
    return std::equal(a.keys_, a.keys_ + a.size_, b.keys_);
  }
  return a.front() == b.front() && a.AreConsecutive() && b.AreConsecutive();
}

KeySet::KeySet(KeySpan keys) {
  if (keys.is_range()) {
    range_ = keys;
  } else {
    list_ = keys.ToVector();
  }
}

void KeySet::Append(KeySpan more) {
  if (more.empty()) return;
  if (empty()) {
    *this = KeySet(more);
    return;
  }
  if (is_range() && more.is_range() && range_.back() < more.front() &&
      more.front() - range_.back() == 1) {
    range_ = KeySpan::Range(range_.front(), range_.size() + more.size());
    return;
  }
  if (is_range()) {
    list_ = range_.ToVector();
    range_ = {};
  }
  std::vector<Key> written;
  const absl::Span<const Key> added = more.WriteOut(&written);
  list_.insert(list_.end(), added.begin(), added.end());
}

}  // namespace seraph
