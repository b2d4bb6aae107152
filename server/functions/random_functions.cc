// uniform, normal: values that are drawn anew, by the formulas of the table's
// initializer (common/table/initializer.h). Each is a function of (seed,
// table's name, original key, column) alone.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/table/initializer.h"
#include "common/table/partitioning.h"
#include "server/functions/built_ins.h"

namespace seraph {
namespace {

class Random final : public Function {
 public:
  Random(std::string name, InitializerKind kind)
      : Function({.name = std::move(name),
                  .writes = true,
                  .arguments = {{"mean", ValueType::kDouble},
                                {"scale", ValueType::kDouble},
                                {"seed", ValueType::kInt}}},
                 true),
        kind_(kind) {}

  absl::Status Check(absl::Span<const FunctionValue> arguments) const override {
    const double scale = std::get<double>(arguments[1]);
    if (scale >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("function '", signature().name, "': scale is ", scale,
                     ", and has to be at least 0"));
  }

  absl::Status Write(const RowsAt& rows, const FunctionInput& input,
                     WriteRows write) const override {
    TableSpec drawn = rows.table();
    drawn.initializer = {.kind = kind_,
                         .mean = std::get<double>(input.arguments[0]),
                         .scale = std::get<double>(input.arguments[1])};
    drawn.seed = std::get<int64_t>(input.arguments[2]);
    const Initializer initializer(drawn);
    rows.ForEach(
        [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
          for (size_t i = 0; i < keys.size(); ++i) {
            values[i * rows.width() + input.column] = initializer.Value(
                ToOriginalKey(rows.table(), keys[i]), input.column);
          }
          write(keys, values);
        });
    return absl::OkStatus();
  }

 private:
  const InitializerKind kind_;
};

}  // namespace

void AddRandomFunctions(Functions* functions) {
  functions->push_back(
      std::make_shared<Random>("uniform", InitializerKind::kUniform));
  functions->push_back(
      std::make_shared<Random>("normal", InitializerKind::kNormal));
}

}  // namespace seraph
