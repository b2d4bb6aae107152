// A run of rows in the order of their keys.
#ifndef SERAPH_SERVER_STORE_SEGMENT_H_
#define SERAPH_SERVER_STORE_SEGMENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/types/span.h"
#include "common/base/key.h"

namespace seraph {

// How the segments of a store lie in memory: a function of row_cells alone.
//
// A segment has 1 to kMostUnits units of memory, and room for that many. It is
// an array of keys and behind it one of rows.
struct SegmentShape {
  static constexpr size_t kMostUnits = 16;

  explicit SegmentShape(size_t row_cells);

  // Slots for rows.
  size_t Capacity(size_t units) const {
    return units * unit_bytes / (sizeof(Key) + row_bytes());
  }
  // The fullest that a segment gets: 7/8. What is above costs time, since a new
  // row moves all rows up to the next gap.
  size_t MostRows(size_t units) const { return Capacity(units) / 8 * 7; }
  // The least units for so many rows. Requires: they fit into kMostUnits.
  size_t UnitsFor(size_t rows) const;

  size_t row_bytes() const { return row_cells * sizeof(float); }
  size_t room_bytes() const { return kMostUnits * unit_bytes; }

  size_t row_cells;
  size_t unit_bytes;  // Whole pages, for at least 8 rows.
};

// A sorted array with gaps (Ding et al., "ALEX: An Updatable Adaptive Learned
// Index", SIGMOD 2020): a row lies near the slot that a straight line from the
// first key to the last one gives, so that where keys are spread evenly a row
// is found within a cache line or two, and few rows move for a new one. Where
// they are not, it is a search by halves.
//
// A gap has the key of the row before it, so the slots' keys never decrease,
// and a slot holds a row exactly if its key is not that of the slot before it.
// Slot 0 holds a row.
//
// A value: the memory is the store's.
class Segment {
 public:
  // Without rows. `memory` has room for kMostUnits units.
  explicit Segment(char* memory) : keys_(reinterpret_cast<Key*>(memory)) {}

  // Replaces all rows: keys [n], strictly increasing, cells [n * row_cells],
  // none of them of this memory. `slots` is memory that is used again.
  // Requires: 0 < n <= MostRows(units).
  void Fill(const SegmentShape& shape, size_t units, absl::Span<const Key> keys,
            const float* cells, std::vector<uint32_t>* slots);

  size_t rows() const { return rows_; }
  size_t units() const { return units_; }
  char* memory() const { return reinterpret_cast<char*>(keys_); }

  // The slot at which the search for `key` begins: any will do, a near one is
  // fast. For this and what follows, there are rows.
  size_t Guess(Key key) const {
    // Of a key below first_, which wraps, it is the last one.
    const uint64_t slot =
        (static_cast<unsigned __int128>(key - first_) * scale_) >> 64;
    return std::min<uint64_t>(slot, last_guess_);
  }

  // Has fetched what Find will most likely read, and the row.
  // Inlined: gcc removes calls of functions that do nothing but prefetch.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Prefetch(const SegmentShape& shape,
                                             size_t guess) const {
    // Two lines or three. A search that leaves the window, as one in twenty
    // does, would else wait for memory, and all keys behind it too.
    __builtin_prefetch(keys_ + guess - (guess > 0 ? 1 : 0));
    __builtin_prefetch(keys_ + guess + kWindow / 2);
    __builtin_prefetch(keys_ + guess + kWindow);
    __builtin_prefetch(RowAt(shape, guess + kWindow / 2), 1);
  }

  // The row of `key`, whose Guess is given; null if it is missing.
  float* Find(const SegmentShape& shape, Key key, size_t guess) const {
    const size_t slot = FindSlot(key, guess);
    return slot == kNoSlot ? nullptr : RowAt(shape, slot);
  }

  static constexpr size_t kNoSlot = ~size_t{0};

  // The slot of its row; kNoSlot if it is missing.
  size_t FindSlot(Key key, size_t guess) const {
    const size_t slot = LowerBound(key, guess);
    return slot == capacity_ || keys_[slot] != key ? kNoSlot : slot;
  }

  // The rows by slot, side by side.
  float* RowSlots() const {
    return reinterpret_cast<float*>(keys_ + capacity_);
  }

  // Adds a missing key. Requires: 0 < rows() < MostRows(units()).
  void Insert(const SegmentShape& shape, Key key, const float* cells);

  // Copies the rows that there are, ascending: keys [rows()], and, unless null,
  // cells [rows() * row_cells].
  void Copy(const SegmentShape& shape, Key* keys, float* cells) const;

 private:
  static constexpr size_t kWindow = 8;

  float* RowAt(const SegmentShape& shape, size_t slot) const {
    return RowSlots() + slot * shape.row_cells;
  }
  bool IsGap(size_t slot) const {
    return slot > 0 && keys_[slot] == keys_[slot - 1];
  }

  // The first slot whose key is not below `key`; capacity_ if there is none.
  size_t LowerBound(Key key, size_t guess) const {
    // Counted, not searched: no branch of it can be predicted wrongly.
    const Key* const window = keys_ + guess;
    uint64_t below = 0;
    for (size_t i = 0; i < kWindow; ++i) below += window[i] < key;
    if (below == 0 && guess > 0 && keys_[guess - 1] >= key) [[unlikely]] {
      return SearchBelow(key, guess - 1);
    }
    if (below == kWindow) [[unlikely]]
      return SearchAbove(key, guess + kWindow);
    return guess + below;
  }
  // LowerBound, which is not above `slot`.
  size_t SearchBelow(Key key, size_t slot) const;
  // LowerBound, which is not below `slot`.
  size_t SearchAbove(Key key, size_t slot) const;

  // Moves n slots by one, up (+1) or down (-1).
  void Move(const SegmentShape& shape, size_t begin, size_t n, int by);

  // Sets slots [n], such that they increase and are near the keys' guesses if
  // that can be.
  void Spread(absl::Span<const Key> keys, std::vector<uint32_t>* slots) const;

  Key* keys_ = nullptr;  // [capacity_], then cells [capacity_ * row_cells].
  Key first_ = 0;        // The line: slot 0 ...
  uint64_t scale_ = 0;   // ... and slots per key, times 2^64.
  uint32_t last_guess_ = 0;
  uint32_t capacity_ = 0;
  uint32_t rows_ = 0;
  uint32_t units_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_SEGMENT_H_
