#include "server/store/segment.h"

#include "server/store/slot_arena.h"

namespace seraph {
namespace {

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Rows that lie so many slots from their guesses on average are not found
// there: the keys are not spread evenly.
constexpr uint64_t kFar = 32;

void CopyRow(const float* from, size_t row_cells, float* to) {
  // Most are shorter than a call of memcpy takes.
  if (row_cells > 4) {
    std::memcpy(to, from, row_cells * sizeof(float));
    return;
  }
  for (size_t i = 0; i < row_cells; ++i) to[i] = from[i];
}

}  // namespace

SegmentShape::SegmentShape(size_t row_cells)
    : row_cells(row_cells),
      unit_bytes(
          RoundUp(10 * (sizeof(Key) + row_bytes()), SlotArena::PageBytes())) {}

size_t SegmentShape::UnitsFor(size_t rows) const {
  size_t units =
      std::max<size_t>(1, rows * (sizeof(Key) + row_bytes()) / unit_bytes);
  while (MostRows(units) < rows) ++units;
  return units;
}

void Segment::Fill(const SegmentShape& shape, size_t units,
                   absl::Span<const Key> keys, const float* cells,
                   std::vector<uint32_t>* slots) {
  first_ = keys.front();
  capacity_ = shape.Capacity(units);
  last_guess_ = capacity_ - kWindow;
  rows_ = keys.size();
  units_ = units;
  // Where the keys are closer than the slots: one slot per key.
  scale_ = ~uint64_t{0};
  const Key span = keys.back() - keys.front();
  if (span >= last_guess_) {
    scale_ = (static_cast<unsigned __int128>(last_guess_) << 64) / span;
  }
  Spread(keys, slots);
  slots->push_back(capacity_);
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t slot = (*slots)[i];
    const size_t end = (*slots)[i + 1];
    std::fill(keys_ + slot, keys_ + end, keys[i]);
    CopyRow(cells + i * shape.row_cells, shape.row_cells, RowAt(shape, slot));
  }
}

void Segment::Spread(absl::Span<const Key> keys,
                     std::vector<uint32_t>* slots) const {
  const size_t n = keys.size();
  slots->resize(n);
  // Half way between two ways to have rows in order: each at its guess or, if
  // that is taken, above it; and the same below it. The guess is where the
  // window of the search begins; its middle is wanted.
  uint64_t distances = 0;
  size_t next = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t guess = Guess(keys[i]) + kWindow / 2;
    const size_t slot = std::max(next, std::min(guess, capacity_ - (n - i)));
    (*slots)[i] = slot;
    next = slot + 1;
    distances += slot > guess ? slot - guess : guess - slot;
  }
  if (distances > kFar * n) {
    for (size_t i = 0; i < n; ++i) (*slots)[i] = i * capacity_ / n;
    return;
  }
  next = capacity_;
  for (size_t i = n; i-- > 0;) {
    const size_t guess = Guess(keys[i]) + kWindow / 2;
    const size_t slot = std::min(next - 1, std::max(guess, i));
    next = slot;
    (*slots)[i] = ((*slots)[i] + slot) / 2;
  }
  (*slots)[0] = 0;
}

size_t Segment::SearchBelow(Key key, size_t slot) const {
  size_t high = slot;  // Not below `key`.
  size_t low = 0;
  for (size_t step = 1; step <= high; step *= 2) {
    if (keys_[high - step] < key) {
      low = high - step + 1;
      break;
    }
    high -= step;
  }
  return std::lower_bound(keys_ + low, keys_ + high, key) - keys_;
}

size_t Segment::SearchAbove(Key key, size_t slot) const {
  size_t low = slot;  // All that is below it is below `key`.
  size_t high = capacity_;
  for (size_t step = 1; low + step < capacity_; step *= 2) {
    if (keys_[low + step] >= key) {
      high = low + step;
      break;
    }
    low += step + 1;
  }
  return std::lower_bound(keys_ + low, keys_ + high, key) - keys_;
}

void Segment::Move(const SegmentShape& shape, size_t begin, size_t n, int by) {
  std::memmove(keys_ + begin + by, keys_ + begin, n * sizeof(Key));
  std::memmove(RowAt(shape, begin + by), RowAt(shape, begin),
               n * shape.row_bytes());
}

void Segment::Insert(const SegmentShape& shape, Key key, const float* cells) {
  const size_t guess = Guess(key);
  const size_t above = LowerBound(key, guess);
  size_t slot = above;
  if (above > 0 && IsGap(above - 1)) {
    // Anywhere in the gaps; those behind it then have its key.
    slot = above - 1;
    while (slot > guess + kWindow / 2 && IsGap(slot - 1)) --slot;
    std::fill(keys_ + slot, keys_ + above, key);
  } else {
    // The rows up to the nearest gap move by one.
    for (size_t distance = 1;; ++distance) {
      const size_t right = above + distance;
      if (right < capacity_ && IsGap(right)) {
        Move(shape, above, right - above, 1);
        break;
      }
      if (above > distance + 1 && IsGap(above - 1 - distance)) {
        const size_t left = above - 1 - distance;
        Move(shape, left + 1, above - 1 - left, -1);
        slot = above - 1;
        break;
      }
    }
    keys_[slot] = key;
  }
  CopyRow(cells, shape.row_cells, RowAt(shape, slot));
  ++rows_;
}

void Segment::Copy(const SegmentShape& shape, Key* keys, float* cells) const {
  // Gaps are copied too, and overwritten: a branch would be predicted wrongly.
  size_t n = 0;
  for (size_t slot = 0; n < rows_; ++slot) {
    keys[n] = keys_[slot];
    if (cells != nullptr) {
      CopyRow(RowAt(shape, slot), shape.row_cells, cells + n * shape.row_cells);
    }
    n += !IsGap(slot);
  }
}

}  // namespace seraph
