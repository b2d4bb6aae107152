#include "server/store/sparse_store.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <utility>

#include "common/table/partitioning.h"
#include "server/store/key_index.h"

namespace seraph {
namespace {

// Cells of a slab at most, unless a single row is longer: 64 KiB.
constexpr size_t kSlabCells = 16384;

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

class SparseStore final : public RowStore {
 public:
  SparseStore(const TableSpec& table, const KeyRange& range,
              std::unique_ptr<const UpdateRule> rule)
      : RowStore(table, range, std::move(rule)),
        row_cells_(this->rule().row_cells()),
        slab_shift_(
            std::bit_width(std::max<size_t>(1, kSlabCells / row_cells_)) - 1) {}

  size_t blocks() const override { return slabs_.size(); }

  void CopyBlock(size_t block, std::vector<Key>* keys,
                 std::vector<float>* cells) const override {
    const size_t begin = block << slab_shift_;
    const size_t n = std::min(keys_.size() - begin, size_t{1} << slab_shift_);
    keys->assign(keys_.begin() + begin, keys_.begin() + begin + n);
    const float* slab = slabs_[block].get();
    cells->assign(slab, slab + n * row_cells_);
  }

  std::vector<Key> Keys(const KeyRange& wanted) const override {
    std::vector<Key> keys;
    std::copy_if(keys_.begin(), keys_.end(), std::back_inserter(keys),
                 [&](Key key) { return wanted.Contains(key); });
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  std::unique_ptr<RowCursor> Cursor() const override {
    std::vector<Key> originals;
    originals.reserve(keys_.size());
    for (const Key key : keys_) {
      originals.push_back(ToOriginalKey(table(), key));
    }
    std::sort(originals.begin(), originals.end());
    return std::make_unique<SparseCursor>(*this, std::move(originals));
  }

  size_t rows() const override { return keys_.size(); }

  size_t bytes() const override {
    return index_.bytes() + keys_.capacity() * sizeof(Key) +
           (slabs_.size() << slab_shift_) * row_cells_ * sizeof(float);
  }

 private:
  void Find(absl::Span<const Key> keys, float** rows) const override {
    FindAnd(keys, rows, [](size_t) {});
  }

  void FindToWrite(absl::Span<const Key> keys, float** rows) override {
    FindAnd(keys, rows, [this](size_t slab) { Touch(slab); });
  }

  template <typename Found>
  void FindAnd(absl::Span<const Key> keys, float** rows, Found found) const {
    // Copies: a store to `rows` might change the members, for all the compiler
    // knows.
    const std::unique_ptr<float[]>* const slabs = slabs_.data();
    const int shift = slab_shift_;
    const size_t mask = (size_t{1} << shift) - 1;
    const size_t row_cells = row_cells_;
    uint32_t numbers[UpdateRule::kMaxRows];
    for (const Key key : keys) index_.Prefetch(key);
    for (size_t i = 0; i < keys.size(); ++i) numbers[i] = index_.Find(keys[i]);
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t row = numbers[i];
      if (row == KeyIndex::kMissing) {
        rows[i] = nullptr;
        continue;
      }
      rows[i] = slabs[row >> shift].get() + (row & mask) * row_cells;
      Prefetch(rows[i], row_cells);
      found(row >> shift);
    }
  }

  // Wide rows up to a limit; what follows, the processor guesses by itself.
  static void Prefetch(const float* row, size_t row_cells) {
    constexpr size_t kLine = 64 / sizeof(float);
    const size_t cells = std::min(row_cells, 16 * kLine);
    for (size_t i = 0; i < cells; i += kLine) __builtin_prefetch(row + i, 1);
  }

  float* Create(Key key) override {
    const size_t row = keys_.size();
    if ((row >> slab_shift_) == slabs_.size()) {
      slabs_.push_back(std::make_unique<float[]>(row_cells_ << slab_shift_));
      AddBlock();
    }
    Touch(row >> slab_shift_);
    keys_.push_back(key);
    index_.Insert(key, static_cast<uint32_t>(row));
    return Row(row);
  }

  float* Row(size_t row) const {
    return slabs_[row >> slab_shift_].get() +
           (row & ((size_t{1} << slab_shift_) - 1)) * row_cells_;
  }

  const size_t row_cells_;
  const int slab_shift_;  // A slab has 2^slab_shift_ rows.
  KeyIndex index_;
  std::vector<Key> keys_;  // By row: the blocks are the slabs.
  std::vector<std::unique_ptr<float[]>> slabs_;  // Filled one after the other.
};

}  // namespace

std::unique_ptr<RowStore> MakeSparseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule) {
  return std::make_unique<SparseStore>(table, range, std::move(rule));
}

}  // namespace seraph
