#include "server/store/dense_store.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

struct Free {
  void operator()(float* cells) const { std::free(cells); }
};
using Cells = std::unique_ptr<float[], Free>;

// Cells of a block at most, unless a single row is longer: 64 KiB.
constexpr size_t kBlockCells = 16384;

std::vector<Key> Consecutive(Key first, size_t n) {
  std::vector<Key> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

class DenseCursor final : public RowCursor {
 public:
  explicit DenseCursor(const RowStore& store)
      : RowCursor(store), next_(store.range().first), left_(store.rows()) {}

 private:
  std::vector<Key> NextKeys(size_t max_rows) override {
    const size_t n = std::min(max_rows, left_);
    std::vector<Key> keys = Consecutive(next_, n);
    next_ += n;
    left_ -= n;
    return keys;
  }

  Key next_;
  size_t left_;
};

class DenseStore final : public RowStore {
 public:
  // `cells` has row_cells() of zero bytes for each key.
  DenseStore(const TableSpec& table, const KeyRange& range,
             std::unique_ptr<const UpdateRule> rule, Cells cells)
      : RowStore(table, range, std::move(rule)),
        row_cells_(this->rule().row_cells()),
        block_shift_(
            std::bit_width(std::max<size_t>(1, kBlockCells / row_cells_)) - 1),
        cells_(std::move(cells)) {
    for (size_t block = 0; block < blocks(); ++block) AddBlock();
    InitRow(range.first, LazySums{}, cells_.get());
    if (table.initializer.kind == InitializerKind::kZero && FirstRowIsZero()) {
      return;  // And so are the others: their memory need not be touched.
    }
    for (size_t i = 1; i < rows(); ++i) {
      InitRow(range.first + i, LazySums{}, Row(range.first + i));
    }
  }

  size_t blocks() const override { return ((rows() - 1) >> block_shift_) + 1; }

  void CopyBlock(size_t block, std::vector<Key>* keys,
                 std::vector<float>* cells) const override {
    const size_t begin = block << block_shift_;
    const size_t n = std::min(rows() - begin, size_t{1} << block_shift_);
    *keys = Consecutive(range().first + begin, n);
    const float* first = Row(keys->front());
    cells->assign(first, first + n * row_cells_);
  }

  std::vector<Key> Keys(const KeyRange& wanted) const override {
    const Key first = std::max(wanted.first, range().first);
    const Key last = std::min(wanted.last, range().last);
    if (first > last) return {};
    return Consecutive(first, last - first + 1);
  }

  std::unique_ptr<RowCursor> Cursor() const override {
    return std::make_unique<DenseCursor>(*this);
  }

  size_t Remove(absl::FunctionRef<bool(Key, const float*)>) override {
    return 0;  // Each key exists.
  }

  size_t rows() const override { return range().last - range().first + 1; }
  size_t bytes() const override { return rows() * row_cells_ * sizeof(float); }

 private:
  void Find(absl::Span<const Key> keys, const Guesses&,
            float** rows) const override {
    for (size_t i = 0; i < keys.size(); ++i) rows[i] = Row(keys[i]);
  }

  void FindToWrite(absl::Span<const Key> keys, const Guesses&,
                   float** rows) override {
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[i] = Row(keys[i]);
      Touch((keys[i] - range().first) >> block_shift_);
    }
  }

  float* FindRun(Key key, size_t n) const override {
    return n <= range().last - key + 1 ? Row(key) : nullptr;
  }

  void TouchRun(Key key, size_t n) override {
    const size_t begin = key - range().first;
    const size_t last = (begin + n - 1) >> block_shift_;
    for (size_t block = begin >> block_shift_; block <= last; ++block) {
      Touch(block);
    }
  }

  // A row's place is computed from its key.
  bool Resolve(absl::Span<const Key>, ResolvedRows*) const override {
    return false;
  }

  // No key is missing.
  void Insert(absl::Span<const Key>, const float*) override {}

  bool FirstRowIsZero() const {
    return std::all_of(cells_.get(), cells_.get() + row_cells_, [](float cell) {
      return std::bit_cast<uint32_t>(cell) == 0;
    });
  }

  float* Row(Key key) const {
    return cells_.get() + (key - range().first) * row_cells_;
  }

  const size_t row_cells_;
  const int block_shift_;  // A block has 2^block_shift_ rows.
  const Cells cells_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RowStore>> MakeDenseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule) {
  const uint64_t rows = range.last - range.first + 1;
  const uint64_t row_bytes = uint64_t{rule->row_cells()} * sizeof(float);
  Cells cells;
  if (rows <= std::numeric_limits<size_t>::max() / row_bytes) {
    cells.reset(static_cast<float*>(std::calloc(rows, row_bytes)));
  }
  if (cells == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", rows, " rows of ", row_bytes,
                     " bytes of table '", table.name, "'"));
  }
  return std::make_unique<DenseStore>(table, range, std::move(rule),
                                      std::move(cells));
}

}  // namespace seraph
