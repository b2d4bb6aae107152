#include "server/functions/function.h"

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

class CopyColumn final : public Function {
 public:
  CopyColumn()
      : Function({.name = "column", .combine = CombineRule::kList},
                 /*built_in=*/true) {}

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    std::vector<Key> keys = rows.Keys();
    std::vector<float> values;
    values.reserve(keys.size());
    rows.ForEach(keys, [&](uint32_t, absl::Span<const Key> group,
                           absl::Span<float> cells) {
      for (size_t i = 0; i < group.size(); ++i) {
        values.push_back(cells[i * rows.width() + input.column]);
      }
    });
    PartialResult result;
    result.values.push_back(std::move(keys));
    result.values.push_back(std::move(values));
    return result;
  }
};

absl::Status NotThatKind(const Function& function, absl::string_view what) {
  return absl::InternalError(absl::StrCat(
      "function '", function.signature().name, "' does not ", what));
}

}  // namespace

absl::StatusOr<PartialResult> Function::Read(const RowsAt&,
                                             const FunctionInput&) const {
  return NotThatKind(*this, "read");
}

absl::Status Function::Write(const RowsAt&, const FunctionInput&,
                             WriteRows) const {
  return NotThatKind(*this, "write");
}

std::shared_ptr<const Function> ColumnCopyFunction() {
  static const auto* const function =
      new std::shared_ptr<const Function>(std::make_shared<CopyColumn>());
  return *function;
}

}  // namespace seraph
