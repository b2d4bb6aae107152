// scale, fill, axpy, copy: each element of a column becomes a function of
// itself and of that of another column, computed in double and rounded once.
#include <utility>

#include "server/functions/built_ins.h"
#include "server/functions/other_column.h"

namespace seraph {
namespace {

double NumberOf(const FunctionInput& input, size_t argument) {
  return std::get<double>(input.arguments[argument]);
}

// Over the rows that exist.
template <typename Of>
void WriteElements(const RowsAt& rows, uint32_t column, Of of,
                   Function::WriteRows write) {
  rows.ForEach(
      [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
        for (size_t i = 0; i < keys.size(); ++i) {
          float& value = values[i * rows.width() + column];
          value = static_cast<float>(of(value));
        }
        write(keys, values);
      });
}

class Scale final : public Function {
 public:
  Scale()
      : Function({.name = "scale",
                  .writes = true,
                  .arguments = {{"factor", ValueType::kDouble}}},
                 true) {}

  absl::Status Write(const RowsAt& rows, const FunctionInput& input,
                     WriteRows write) const override {
    const double factor = NumberOf(input, 0);
    WriteElements(
        rows, input.column, [&](double value) { return factor * value; },
        write);
    return absl::OkStatus();
  }
};

class Fill final : public Function {
 public:
  Fill()
      : Function({.name = "fill",
                  .writes = true,
                  .arguments = {{"value", ValueType::kDouble}}},
                 true) {}

  absl::Status Write(const RowsAt& rows, const FunctionInput& input,
                     WriteRows write) const override {
    const double value = NumberOf(input, 0);
    WriteElements(
        rows, input.column, [&](double) { return value; }, write);
    return absl::OkStatus();
  }
};

// y = factor x + y, or y = x, where x is the other column.
class FromOther final : public Function {
 public:
  FromOther(std::string name, bool adds)
      : Function({.name = std::move(name),
                  .writes = true,
                  .arguments = adds ? std::vector<FunctionArgument>(
                                          {{"factor", ValueType::kDouble},
                                           {"column", ValueType::kInt},
                                           {"table", ValueType::kText, true}})
                                    : std::vector<FunctionArgument>(
                                          {{"column", ValueType::kInt},
                                           {"table", ValueType::kText, true}})},
                 true),
        adds_(adds) {}

  absl::Status Write(const RowsAt& rows, const FunctionInput& input,
                     WriteRows write) const override {
    const double factor = adds_ ? NumberOf(input, 0) : 1.0;
    OtherColumn other(rows, input,
                      std::get<int64_t>(input.arguments[adds_ ? 1 : 0]));
    rows.ForEach(
        [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
          const std::vector<float>& others = other.Of(keys, values);
          for (size_t i = 0; i < keys.size(); ++i) {
            float& value = values[i * rows.width() + input.column];
            const double x = others[i];
            const double y = value;
            value = adds_ ? static_cast<float>(factor * x + y) : others[i];
          }
          write(keys, values);
        });
    return absl::OkStatus();
  }

 private:
  const bool adds_;
};

}  // namespace

void AddElementFunctions(Functions* functions) {
  functions->push_back(std::make_shared<Scale>());
  functions->push_back(std::make_shared<Fill>());
  functions->push_back(std::make_shared<FromOther>("axpy", true));
  functions->push_back(std::make_shared<FromOther>("copy", false));
}

}  // namespace seraph
