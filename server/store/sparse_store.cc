#include "server/store/sparse_store.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "common/table/partitioning.h"
#include "server/store/segment.h"
#include "server/store/segment_directory.h"
#include "server/store/slot_arena.h"

namespace seraph {
namespace {

// Where a segment is too full for the most units, there come to be some of
// about so many.
constexpr size_t kUnitsOfPieces = 12;

class SparseCursor final : public RowCursor {
 public:
  // `originals` ascend.
  SparseCursor(const RowStore& store, std::vector<Key> originals)
      : RowCursor(store), originals_(std::move(originals)) {}

 private:
  std::vector<Key> NextKeys(size_t max_rows) override {
    const auto begin = originals_.begin() + next_;
    const size_t n = std::min(max_rows, originals_.size() - next_);
    next_ += n;
    return std::vector<Key>(begin, begin + n);
  }

  const std::vector<Key> originals_;
  size_t next_ = 0;
};

// Blocks are the segments, by their age.
class SparseStore final : public RowStore {
 public:
  SparseStore(const TableSpec& table, const KeyRange& range,
              std::unique_ptr<const UpdateRule> rule)
      : RowStore(table, range, std::move(rule)),
        shape_(this->rule().row_cells()),
        arena_(shape_.room_bytes()) {}

  size_t blocks() const override { return segments_.size(); }

  void CopyBlock(size_t block, std::vector<Key>* keys,
                 std::vector<float>* cells) const override {
    const Segment& segment = segments_[block];
    keys->resize(segment.rows());
    cells->resize(segment.rows() * shape_.row_cells);
    segment.Copy(shape_, keys->data(), cells->data());
  }

  std::vector<Key> Keys(const KeyRange& wanted) const override {
    std::vector<Key> keys;
    if (directory_.size() == 0) return keys;
    std::vector<Key> all;
    for (size_t at = directory_.Find(wanted.first);
         at < directory_.size() && directory_.bound(at) <= wanted.last; ++at) {
      const Segment& segment = segments_[directory_.segment(at)];
      all.resize(segment.rows());
      segment.Copy(shape_, all.data(), nullptr);
      const auto begin = std::lower_bound(all.begin(), all.end(), wanted.first);
      const auto end = std::upper_bound(begin, all.end(), wanted.last);
      keys.insert(keys.end(), begin, end);
    }
    return keys;
  }

  std::unique_ptr<RowCursor> Cursor() const override {
    std::vector<Key> originals = Keys(range());
    if (table().scramble) {
      for (Key& key : originals) key = ToOriginalKey(table(), key);
      std::sort(originals.begin(), originals.end());
    }
    return std::make_unique<SparseCursor>(*this, std::move(originals));
  }

  size_t Remove(absl::FunctionRef<bool(Key, const float*)> gone) override {
    const size_t before = rows_;
    // Rows of one or more neighbours, which together fit into the first of
    // them, at `home`. There are none unless one of them has lost some.
    std::vector<Key> kept_keys;
    std::vector<float> kept_cells;
    size_t home = 0;
    bool is_open = false;
    for (size_t at = 0; at < directory_.size(); ++at) {
      const size_t n = segments_[directory_.segment(at)].rows();
      const size_t left = CopyKept(directory_.segment(at), gone);
      rows_ -= n - left;
      if (is_open &&
          kept_keys.size() + left > shape_.MostRows(kUnitsOfPieces)) {
        at -= Close(home, kept_keys, kept_cells);
        is_open = false;
      }
      if (!is_open && left == n) continue;
      if (is_open) {
        FreeSegment(at--);
      } else {
        home = at;
        is_open = true;
        kept_keys.clear();
        kept_cells.clear();
      }
      kept_keys.insert(kept_keys.end(), merged_keys_.begin(),
                       merged_keys_.begin() + left);
      kept_cells.insert(kept_cells.end(), merged_cells_.begin(),
                        merged_cells_.begin() + left * shape_.row_cells);
    }
    if (is_open) Close(home, kept_keys, kept_cells);
    if (rows_ != before) MoveRows();
    return before - rows_;
  }

  size_t rows() const override { return rows_; }

  size_t bytes() const override {
    return units_ * shape_.unit_bytes + segments_.capacity() * sizeof(Segment) +
           directory_.bytes();
  }

 private:
  void GuessBlocks(absl::Span<const Key> keys, size_t* near,
                   Guesses* guesses) const override {
    if (directory_.size() == 0) return;
    directory_.Find(keys, near, guesses->blocks);
    for (size_t i = 0; i < keys.size(); ++i) {
      __builtin_prefetch(segments_.data() + guesses->blocks[i]);
    }
  }

  void GuessSlots(absl::Span<const Key> keys, Guesses* guesses) const override {
    if (directory_.size() == 0) return;
    // Copies: a store to `guesses` might change the members, for all the
    // compiler knows.
    const SegmentShape shape = shape_;
    const Segment* const segments = segments_.data();
    for (size_t i = 0; i < keys.size(); ++i) {
      const Segment& segment = segments[guesses->blocks[i]];
      const size_t guess = segment.Guess(keys[i]);
      segment.Prefetch(shape, guess);
      guesses->slots[i] = guess;
    }
  }

  void Find(absl::Span<const Key> keys, const Guesses& guesses,
            float** rows) const override {
    FindAnd(keys, guesses, rows, [](uint32_t) {});
  }

  void FindToWrite(absl::Span<const Key> keys, const Guesses& guesses,
                   float** rows) override {
    FindAnd(keys, guesses, rows, [this](uint32_t segment) { Touch(segment); });
  }

  template <typename Found>
  void FindAnd(absl::Span<const Key> keys, const Guesses& guesses, float** rows,
               Found found) const {
    if (directory_.size() == 0) {
      std::fill_n(rows, keys.size(), nullptr);
      return;
    }
    const SegmentShape shape = shape_;
    const Segment* const segments = segments_.data();
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint32_t in = guesses.blocks[i];
      rows[i] = segments[in].Find(shape, keys[i], guesses.slots[i]);
      if (rows[i] == nullptr) continue;
      Prefetch(rows[i], shape.row_cells);
      found(in);
    }
  }

  bool Resolve(absl::Span<const Key> keys, ResolvedRows* known) const override {
    known->slots.resize(keys.size());
    known->runs.clear();
    const SegmentShape shape = shape_;
    uint32_t in[UpdateRule::kMaxRows];
    uint32_t guesses[UpdateRule::kMaxRows];
    size_t near = 0;
    for (size_t begin = 0; begin < keys.size(); begin += UpdateRule::kMaxRows) {
      const auto group = keys.subspan(begin, UpdateRule::kMaxRows);
      uint32_t* const slots = known->slots.data() + begin;
      if (directory_.size() == 0) {
        std::fill_n(slots, group.size(), ResolvedRows::kMissing);
        continue;
      }
      directory_.Find(group, &near, in);
      for (size_t i = 0; i < group.size(); ++i) {
        guesses[i] = segments_[in[i]].Guess(group[i]);
        segments_[in[i]].Prefetch(shape, guesses[i]);
      }
      for (size_t i = 0; i < group.size(); ++i) {
        const Segment& segment = segments_[in[i]];
        const size_t slot = segment.FindSlot(group[i], guesses[i]);
        if (slot == Segment::kNoSlot) {
          slots[i] = ResolvedRows::kMissing;
          if (!known->runs.empty()) known->runs.back().end = begin + i + 1;
          continue;
        }
        slots[i] = slot;
        if (known->runs.empty() || known->runs.back().block != in[i]) {
          known->runs.push_back({.block = in[i], .rows = segment.RowSlots()});
        }
        known->runs.back().end = begin + i + 1;
      }
    }
    return true;
  }

  // Wide rows up to a limit; what follows, the processor guesses by itself.
  // Inlined: gcc removes calls of functions that do nothing but prefetch.
  ABSL_ATTRIBUTE_ALWAYS_INLINE static void Prefetch(const float* row,
                                                    size_t row_cells) {
    constexpr size_t kLine = 64 / sizeof(float);
    const size_t cells = std::min(row_cells, 16 * kLine);
    for (size_t i = 0; i < cells; i += kLine) __builtin_prefetch(row + i, 1);
  }

  void Insert(absl::Span<const Key> keys, const float* cells) override {
    if (!keys.empty()) MoveRows();
    rows_ += keys.size();
    while (!keys.empty()) {
      // Those of one segment.
      size_t at = 0;
      size_t n = keys.size();
      if (directory_.size() > 0) {
        at = directory_.Find(keys.front());
        if (at + 1 < directory_.size()) {
          n = std::lower_bound(keys.begin(), keys.end(),
                               directory_.bound(at + 1)) -
              keys.begin();
        }
      }
      if (!InsertIntoGaps(at, keys.first(n), cells)) {
        Rebuild(at, keys.first(n), cells);
      }
      keys.remove_prefix(n);
      cells += n * shape_.row_cells;
    }
  }

  // Inserts keys of the segment at `at` one by one. False, and nothing is done,
  // if there is no room, or if they are so many that a pass over all rows of
  // the segment is faster.
  bool InsertIntoGaps(size_t at, absl::Span<const Key> keys,
                      const float* cells) {
    if (directory_.size() == 0) return false;
    const uint32_t number = directory_.segment(at);
    Segment& segment = segments_[number];
    if (segment.rows() + keys.size() > shape_.MostRows(segment.units()) ||
        keys.size() > segment.rows() / 12) {
      return false;
    }
    for (const Key key : keys) segment.Prefetch(shape_, segment.Guess(key));
    for (size_t i = 0; i < keys.size(); ++i) {
      segment.Insert(shape_, keys[i], cells + i * shape_.row_cells);
    }
    Touch(number);
    return true;
  }

  // Replaces the segment at `at`, if there is one, by what has the new rows
  // too: one, or several if one is too small.
  void Rebuild(size_t at, absl::Span<const Key> keys, const float* cells) {
    const bool is_first = directory_.size() == 0;
    Merge(is_first ? nullptr : &segments_[directory_.segment(at)], keys, cells);
    const size_t rows = merged_keys_.size();
    size_t pieces = 1;
    if (WithRoom(rows) > shape_.MostRows(SegmentShape::kMostUnits)) {
      const size_t most = shape_.MostRows(kUnitsOfPieces);
      pieces = std::max<size_t>(2, (WithRoom(rows) + most - 1) / most);
    }
    for (size_t piece = 0; piece < pieces; ++piece) {
      const size_t begin = rows * piece / pieces;
      const size_t end = rows * (piece + 1) / pieces;
      const auto piece_keys =
          absl::MakeConstSpan(merged_keys_).subspan(begin, end - begin);
      const float* piece_cells =
          merged_cells_.data() + begin * shape_.row_cells;
      if (is_first || piece > 0) {
        AddSegment(at + piece, piece == 0 ? 0 : piece_keys.front());
      }
      Fill(directory_.segment(at + piece), piece_keys, piece_cells);
    }
  }

  // Sets merged_keys_ and merged_cells_ to the rows that stay; returns their
  // number.
  size_t CopyKept(uint32_t number,
                  absl::FunctionRef<bool(Key, const float*)> gone) {
    CopyBlock(number, &merged_keys_, &merged_cells_);
    const size_t row_cells = shape_.row_cells;
    size_t left = 0;
    for (size_t i = 0; i < merged_keys_.size(); ++i) {
      const float* const row = merged_cells_.data() + i * row_cells;
      if (gone(merged_keys_[i], row)) continue;
      merged_keys_[left] = merged_keys_[i];
      std::copy_n(row, row_cells, merged_cells_.data() + left * row_cells);
      ++left;
    }
    return left;
  }

  // Makes these the rows of the segment at `home`; without any it goes. Returns
  // the number of segments that went.
  size_t Close(size_t home, const std::vector<Key>& keys,
               const std::vector<float>& cells) {
    if (keys.empty()) {
      FreeSegment(home);
      return 1;
    }
    Fill(directory_.segment(home), keys, cells.data());
    return 0;
  }

  // A segment has room for 3 % more rows at least when it is made, or there
  // would soon be a next time. With more, new keys would be cheaper, and memory
  // dearer: it is to stay below 1.35 times the rows' bytes.
  static size_t WithRoom(size_t rows) { return rows + rows / 32; }

  void AddSegment(size_t at, Key bound) {
    if (!free_.empty()) {
      directory_.Add(at, bound, free_.back());
      free_.pop_back();
      return;
    }
    directory_.Add(at, bound, segments_.size());
    segments_.emplace_back(arena_.Add());
    AddBlock();
  }

  // The segment at `at` has no rows and no keys any more, its block no rows.
  void FreeSegment(size_t at) {
    const uint32_t number = directory_.segment(at);
    Segment& segment = segments_[number];
    SlotArena::Release(segment.memory(), segment.units() * shape_.unit_bytes);
    units_ -= segment.units();
    segment = Segment(segment.memory());
    free_.push_back(number);
    Touch(number);
    directory_.Remove(at);
  }

  // Makes these the rows of a segment.
  void Fill(uint32_t number, absl::Span<const Key> keys, const float* cells) {
    Segment& segment = segments_[number];
    const size_t before = segment.units();
    const size_t units = std::min(shape_.UnitsFor(WithRoom(keys.size())),
                                  SegmentShape::kMostUnits);
    segment.Fill(shape_, units, keys, cells, &slots_);
    units_ += units - before;
    if (units < before) {
      SlotArena::Release(segment.memory() + units * shape_.unit_bytes,
                         (before - units) * shape_.unit_bytes);
    }
    Touch(number);
  }

  // Sets merged_keys_ and merged_cells_ to the segment's rows, if there is one,
  // and the new ones.
  void Merge(const Segment* segment, absl::Span<const Key> keys,
             const float* cells) {
    const size_t row_cells = shape_.row_cells;
    size_t left = segment == nullptr ? 0 : segment->rows();
    merged_keys_.resize(left + keys.size());
    merged_cells_.resize((left + keys.size()) * row_cells);
    if (segment != nullptr) {
      segment->Copy(shape_, merged_keys_.data(), merged_cells_.data());
    }
    // From the back: what moves up makes room for what comes.
    const auto merged_keys = merged_keys_.begin();
    const auto merged_cells = merged_cells_.begin();
    for (size_t i = keys.size(); i-- > 0;) {
      const size_t below =
          std::lower_bound(merged_keys, merged_keys + left, keys[i]) -
          merged_keys;
      std::copy_backward(merged_keys + below, merged_keys + left,
                         merged_keys + left + i + 1);
      std::copy_backward(merged_cells + below * row_cells,
                         merged_cells + left * row_cells,
                         merged_cells + (left + i + 1) * row_cells);
      merged_keys_[below + i] = keys[i];
      std::copy_n(cells + i * row_cells, row_cells,
                  merged_cells + (below + i) * row_cells);
      left = below;
    }
  }

  const SegmentShape shape_;
  SlotArena arena_;
  SegmentDirectory directory_;
  std::vector<Segment> segments_;
  std::vector<uint32_t> free_;  // Those without rows.
  size_t units_ = 0;            // Of all segments.
  size_t rows_ = 0;
  // Of Rebuild: memory that is used again.
  std::vector<Key> merged_keys_;
  std::vector<float> merged_cells_;
  std::vector<uint32_t> slots_;
};

}  // namespace

std::unique_ptr<RowStore> MakeSparseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule) {
  return std::make_unique<SparseStore>(table, range, std::move(rule));
}

}  // namespace seraph
