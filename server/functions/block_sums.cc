// sum, norm, dot: sums in double, of a block's rows in the order of their mixed
// keys, and of blocks in their order. So the bits are a function of the rows
// alone, whatever the partitions and whatever the store's order.
#include <utility>

#include "server/functions/built_ins.h"
#include "server/functions/other_column.h"

namespace seraph {
namespace {

// Adds terms to the sum of their block. Blocks come ascending.
class BlockSummer {
 public:
  void Add(uint32_t block, double term) {
    if (result_.sums.empty() || result_.sums.back().block != block) {
      result_.sums.push_back({block, 0.0});
    }
    result_.sums.back().sum += term;
  }
  PartialResult Take() { return std::move(result_); }

 private:
  PartialResult result_;
};

class Sum final : public Function {
 public:
  Sum() : Function({.name = "sum", .combine = CombineRule::kSum}, true) {}

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    BlockSummer sums;
    rows.ForEach([&](uint32_t block, absl::Span<const Key> keys,
                     absl::Span<float> values) {
      for (size_t i = 0; i < keys.size(); ++i) {
        sums.Add(block, values[i * rows.width() + input.column]);
      }
    });
    return sums.Take();
  }
};

// The square of a float is exact in double, and cannot overflow there.
class Norm final : public Function {
 public:
  Norm() : Function({.name = "norm", .combine = CombineRule::kRoot}, true) {}

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    BlockSummer sums;
    rows.ForEach([&](uint32_t block, absl::Span<const Key> keys,
                     absl::Span<float> values) {
      for (size_t i = 0; i < keys.size(); ++i) {
        const double value = values[i * rows.width() + input.column];
        sums.Add(block, value * value);
      }
    });
    return sums.Take();
  }
};

// Over the keys of either table.
class Dot final : public Function {
 public:
  Dot()
      : Function({.name = "dot",
                  .arguments = {{"column", ValueType::kInt},
                                {"table", ValueType::kText, true}},
                  .combine = CombineRule::kSum},
                 true) {}

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    OtherColumn other(rows, input, std::get<int64_t>(input.arguments[0]));
    BlockSummer sums;
    rows.ForEach(
        other.KeysOfBoth(), [&](uint32_t block, absl::Span<const Key> keys,
                                absl::Span<float> values) {
          const std::vector<float>& others = other.Of(keys, values);
          for (size_t i = 0; i < keys.size(); ++i) {
            const double value = values[i * rows.width() + input.column];
            sums.Add(block, value * static_cast<double>(others[i]));
          }
        });
    return sums.Take();
  }
};

}  // namespace

void AddBlockSums(Functions* functions) {
  functions->push_back(std::make_shared<Sum>());
  functions->push_back(std::make_shared<Norm>());
  functions->push_back(std::make_shared<Dot>());
}

}  // namespace seraph
