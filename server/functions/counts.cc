// count, nnz: whole numbers, which add in any order.
#include "server/functions/built_ins.h"

namespace seraph {
namespace {

class Count final : public Function {
 public:
  Count() : Function({.name = "count", .combine = CombineRule::kCount}, true) {}

  absl::StatusOr<PartialResult> Read(const RowsAt& rows,
                                     const FunctionInput&) const override {
    return PartialResult{.count = static_cast<int64_t>(rows.Keys().size())};
  }
};

class Nnz final : public Function {
 public:
  Nnz() : Function({.name = "nnz", .combine = CombineRule::kCount}, true) {}

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    PartialResult result;
    rows.ForEach(
        [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
          for (size_t i = 0; i < keys.size(); ++i) {
            result.count += values[i * rows.width() + input.column] != 0.0f;
          }
        });
    return result;
  }
};

}  // namespace

void AddCounts(Functions* functions) {
  functions->push_back(std::make_shared<Count>());
  functions->push_back(std::make_shared<Nnz>());
}

}  // namespace seraph
