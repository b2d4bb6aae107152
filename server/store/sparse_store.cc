#include "server/store/sparse_store.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/table/partitioning.h"

namespace seraph {
namespace {

// Cells of a slab, unless a single row is longer: 64 KiB.
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
        slab_rows_(std::max<size_t>(1, kSlabCells / row_cells_)) {}

  std::vector<Key> Keys(const KeyRange& wanted) const override {
    std::vector<Key> keys;
    for (const auto& [key, row] : rows_) {
      if (wanted.Contains(key)) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  std::unique_ptr<RowCursor> Cursor() const override {
    std::vector<Key> originals;
    originals.reserve(rows_.size());
    for (const auto& [key, row] : rows_) {
      originals.push_back(ToOriginalKey(table(), key));
    }
    std::sort(originals.begin(), originals.end());
    return std::make_unique<SparseCursor>(*this, std::move(originals));
  }

  size_t rows() const override { return rows_.size(); }

  size_t bytes() const override {
    // The hash table has a byte of control and an entry for each bucket.
    return rows_.capacity() * (1 + sizeof(decltype(rows_)::value_type)) +
           slabs_.size() * slab_rows_ * row_cells_ * sizeof(float);
  }

 private:
  void Find(absl::Span<const Key> keys, float** rows) const override {
    for (const Key key : keys) rows_.prefetch(key);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = rows_.find(keys[i]);
      rows[i] = found == rows_.end() ? nullptr : found->second;
      Prefetch(rows[i]);
    }
  }

  // Wide rows up to a limit; what follows, the processor guesses by itself.
  void Prefetch(const float* row) const {
    if (row == nullptr) return;
    constexpr size_t kLine = 64 / sizeof(float);
    const size_t cells = std::min(row_cells_, 16 * kLine);
    for (size_t i = 0; i < cells; i += kLine) __builtin_prefetch(row + i, 1);
  }

  float* Create(Key key) override {
    const size_t in_slab = rows_.size() % slab_rows_;
    if (in_slab == 0) {
      slabs_.push_back(std::make_unique<float[]>(slab_rows_ * row_cells_));
    }
    float* row = slabs_.back().get() + in_slab * row_cells_;
    rows_.emplace(key, row);
    return row;
  }

  const size_t row_cells_;
  const size_t slab_rows_;
  absl::flat_hash_map<Key, float*> rows_;
  std::vector<std::unique_ptr<float[]>> slabs_;  // Filled one after the other.
};

}  // namespace

std::unique_ptr<RowStore> MakeSparseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule) {
  return std::make_unique<SparseStore>(table, range, std::move(rule));
}

}  // namespace seraph
