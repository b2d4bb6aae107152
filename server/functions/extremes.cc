// min, max, top_k: rows in an order in which no two are equal (value, then
// original key), so that the first ones of all partitions are exact.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/table/partitioning.h"
#include "server/functions/built_ins.h"

namespace seraph {
namespace {

constexpr int64_t kMaxRows = 1 << 16;

class FirstRows final : public Function {
 public:
  // `counts`: it has an argument k, else k is 1.
  FirstRows(std::string name, CombineRule rule, bool counts)
      : Function({.name = std::move(name),
                  .arguments = counts ? std::vector<FunctionArgument>(
                                            {{"k", ValueType::kInt}})
                                      : std::vector<FunctionArgument>(),
                  .combine = rule},
                 true),
        before_(rule == CombineRule::kLeast ? IsLess : IsLarger) {}

  absl::Status Check(absl::Span<const FunctionValue> arguments) const override {
    if (arguments.empty()) return absl::OkStatus();
    const int64_t k = std::get<int64_t>(arguments[0]);
    if (k >= 1 && k <= kMaxRows) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("function '", signature().name, "': k is ", k,
                     ", and has to be 1 to ", kMaxRows));
  }

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    const int64_t k =
        input.arguments.empty() ? 1 : std::get<int64_t>(input.arguments[0]);
    // A heap of the first k so far, the last of them in front.
    std::vector<KeyedValue> first;
    rows.ForEach(
        [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
          for (size_t i = 0; i < keys.size(); ++i) {
            const KeyedValue row = {ToOriginalKey(rows.table(), keys[i]),
                                    values[i * rows.width() + input.column]};
            if (static_cast<int64_t>(first.size()) == k) {
              if (!before_(row, first.front())) continue;
              std::pop_heap(first.begin(), first.end(), before_);
              first.back() = row;
            } else {
              first.push_back(row);
            }
            std::push_heap(first.begin(), first.end(), before_);
          }
        });
    std::sort_heap(first.begin(), first.end(), before_);
    return PartialResult{.count = k, .rows = std::move(first)};
  }

 private:
  bool (*const before_)(const KeyedValue&, const KeyedValue&);
};

}  // namespace

void AddExtremes(Functions* functions) {
  functions->push_back(
      std::make_shared<FirstRows>("min", CombineRule::kLeast, false));
  functions->push_back(
      std::make_shared<FirstRows>("max", CombineRule::kLargest, false));
  functions->push_back(
      std::make_shared<FirstRows>("top_k", CombineRule::kLargest, true));
}

}  // namespace seraph
