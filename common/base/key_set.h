// Keys that need not lie anywhere.
#ifndef SERAPH_COMMON_BASE_KEY_SET_H_
#define SERAPH_COMMON_BASE_KEY_SET_H_

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key.h"

namespace seraph {

// A view of keys in an order: written out, or `size` consecutive ones of which
// only the first is known. A dense table's values are four bytes each; a key of
// eight for each of them costs more than the value, to make, check and find.
//
// Two are equal if they are the same keys, however they are told.
class KeySpan {
 public:
  KeySpan() = default;
  KeySpan(absl::Span<const Key> keys)  // NOLINT: what it is a view of
      : keys_(keys.data()), size_(keys.size()) {}
  KeySpan(const std::vector<Key>& keys)  // NOLINT
      : KeySpan(absl::MakeConstSpan(keys)) {}
  // Until the end of the full expression.
  KeySpan(std::initializer_list<Key> keys)  // NOLINT
      : KeySpan(absl::MakeConstSpan(keys.begin(), keys.size())) {}

  // first, first + 1, ... Requires: the last is not beyond kMaxKey.
  static KeySpan Range(Key first, size_t size) {
    KeySpan keys;
    keys.first_ = first;
    keys.size_ = size;
    keys.is_range_ = true;
    return keys;
  }

  bool is_range() const { return is_range_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Of the memory that they take.
  size_t bytes() const { return is_range_ ? 0 : size_ * sizeof(Key); }

  Key operator[](size_t i) const { return is_range_ ? first_ + i : keys_[i]; }
  Key front() const { return (*this)[0]; }
  Key back() const { return (*this)[size_ - 1]; }

  // [begin, begin + size), or what there is of it. Requires: begin <= size().
  KeySpan subspan(size_t begin,
                  size_t size = absl::Span<const Key>::npos) const;

  // Requires: they are no range.
  absl::Span<const Key> list() const {
    return absl::MakeConstSpan(keys_, size_);
  }

  // The keys, in `buffer` where they are not written out yet. It has room for
  // size() of them; the other is replaced.
  absl::Span<const Key> WriteOut(Key* buffer) const;
  absl::Span<const Key> WriteOut(std::vector<Key>* buffer) const;
  std::vector<Key> ToVector() const;

  // The index of the first key at or after index `from` that is not below
  // `key`; size() if there is none. Requires: they ascend; from <= size().
  size_t LowerBound(size_t from, Key key) const;

  // The index of the first key that is not above the one before it; size() if
  // they strictly increase, which of a range is known.
  size_t FirstNotAbove() const;

  // Whether each key is one more than the one before it.
  bool AreConsecutive() const;
  // The same, known from the ends alone. Requires: they strictly increase.
  bool AreConsecutiveIfIncreasing() const {
    return is_range_ || empty() || back() - front() == size_ - 1;
  }

  friend bool operator==(KeySpan a, KeySpan b);

 private:
  const Key* keys_ = nullptr;  // Not of a range.
  Key first_ = 0;              // Of a range.
  size_t size_ = 0;
  bool is_range_ = false;
};

// Keys of its own, likewise.
class KeySet {
 public:
  KeySet() = default;
  KeySet(std::vector<Key> keys)  // NOLINT: a list is one
      : list_(std::move(keys)) {}
  KeySet(std::initializer_list<Key> keys) : list_(keys) {}
  // A copy of what is written out.
  explicit KeySet(KeySpan keys);

  // As KeySpan::Range.
  static KeySet Range(Key first, size_t size) {
    return KeySet(KeySpan::Range(first, size));
  }

  operator KeySpan() const {  // NOLINT: a view of this
    return range_.is_range() ? range_ : KeySpan(list_);
  }
  KeySpan span() const { return *this; }

  bool is_range() const { return range_.is_range(); }
  size_t size() const { return span().size(); }
  bool empty() const { return size() == 0; }
  size_t bytes() const { return span().bytes(); }
  Key operator[](size_t i) const { return span()[i]; }

  // Adds keys behind them: consecutive ones stay a range where they are one
  // together.
  void Append(KeySpan more);

  friend bool operator==(const KeySet& a, const KeySet& b) {
    return a.span() == b.span();
  }

 private:
  std::vector<Key> list_;  // Empty where they are a range.
  KeySpan range_;          // A range, or empty.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_KEY_SET_H_
