// Arrays of numbers that lie in the bytes of a message.
#ifndef SERAPH_COMMON_WIRE_SLICE_VALUES_H_
#define SERAPH_COMMON_WIRE_SLICE_VALUES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/wire/byte_slices.h"

namespace seraph {
namespace wire_internal {

// Reads numbers at an address that need not be aligned.
template <typename T>
class Unaligned {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = T;

  explicit Unaligned(const char* at) : at_(at) {}
  T operator*() const {
    T value;
    std::memcpy(&value, at_, sizeof(T));
    return value;
  }
  Unaligned& operator++() {
    at_ += sizeof(T);
    return *this;
  }
  Unaligned operator++(int) {
    const Unaligned before = *this;
    ++*this;
    return before;
  }
  Unaligned& operator--() {
    at_ -= sizeof(T);
    return *this;
  }
  Unaligned& operator+=(difference_type n) {
    at_ += n * static_cast<difference_type>(sizeof(T));
    return *this;
  }
  friend difference_type operator-(Unaligned a, Unaligned b) {
    return (a.at_ - b.at_) / static_cast<difference_type>(sizeof(T));
  }
  friend bool operator==(Unaligned, Unaligned) = default;

 private:
  const char* at_;
};

}  // namespace wire_internal

// Sets `values` to the next numbers of `from`, little-endian, likewise.
// Requires: so many bytes are left.
template <typename T>
void CopyValues(SliceReader* from, absl::Span<T> values) {
  static_assert(std::is_arithmetic_v<T>);
  from->CopyTo(values.size() * sizeof(T), values.data());
}

// Replaces `values` by the next `count` numbers of `from`, little-endian, which
// need not be aligned, and may lie in two pieces. Each byte is written once: an
// array that was filled with zeroes first would cost as much again.
// Requires: so many bytes are left.
template <typename T>
void TakeValues(size_t count, SliceReader* from, std::vector<T>* values) {
  static_assert(std::is_arithmetic_v<T>);
  values->clear();
  values->reserve(count);
  const ByteSlices taken = from->Take(count * sizeof(T));
  char split[sizeof(T)];  // One that lies in several pieces.
  size_t have = 0;
  for (absl::string_view piece : taken.pieces()) {
    while (have > 0 && have < sizeof(T) && !piece.empty()) {
      split[have++] = piece[0];
      piece.remove_prefix(1);
    }
    if (have == sizeof(T)) {
      values->push_back(*wire_internal::Unaligned<T>(split));
      have = 0;
    }
    const size_t whole = piece.size() / sizeof(T);
    values->insert(
        values->end(), wire_internal::Unaligned<T>(piece.data()),
        wire_internal::Unaligned<T>(piece.data() + whole * sizeof(T)));
    piece.remove_prefix(whole * sizeof(T));
    if (piece.empty()) continue;
    std::memcpy(split, piece.data(), piece.size());
    have = piece.size();
  }
}

// Calls `visit` with each of the next `count` records of `size` bytes, each in
// one piece, which need not be aligned. Requires: so many bytes are left.
template <typename Visitor>
void ForEachRecord(size_t count, size_t size, SliceReader* from,
                   Visitor visit) {
  const ByteSlices taken = from->Take(count * size);
  std::string split;  // One that lies in several pieces.
  for (absl::string_view piece : taken.pieces()) {
    if (!split.empty()) {
      const size_t more = std::min(size - split.size(), piece.size());
      split.append(piece.data(), more);
      piece.remove_prefix(more);
      if (split.size() < size) continue;
      visit(split.data());
      split.clear();
    }
    for (; piece.size() >= size; piece.remove_prefix(size)) {
      visit(piece.data());
    }
    split.append(piece.data(), piece.size());
  }
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_SLICE_VALUES_H_
