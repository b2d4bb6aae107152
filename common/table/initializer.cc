#include "common/table/initializer.h"

#include "common/base/draw.h"

namespace seraph {
namespace {

// Sets these draws apart from any others of the same seed.
constexpr uint64_t kPurpose = 0x696e697469616c73;  // "initials".

}  // namespace

Initializer::Initializer(const TableSpec& table)
    : spec_(table.initializer),
      seed_(table.seed),
      label_(DrawLabel(table.name)) {}

float Initializer::Value(Key original, uint32_t column) const {
  const auto draw = [&](uint64_t which) {
    return Draw(seed_, {kPurpose, label_, original, column, which});
  };
  switch (spec_.kind) {
    case InitializerKind::kZero:
      break;
    case InitializerKind::kConstant:
      return static_cast<float>(spec_.mean);
    case InitializerKind::kUniform:
      return static_cast<float>(spec_.mean +
                                spec_.scale * (2.0 * ToUnit(draw(0)) - 1.0));
    case InitializerKind::kNormal:
      return static_cast<float>(spec_.mean +
                                spec_.scale * ToNormal(draw(0), draw(1)));
  }
  return 0.0f;
}

void Initializer::Fill(Key original, absl::Span<float> row) const {
  for (size_t column = 0; column < row.size(); ++column) {
    row[column] = Value(original, column);
  }
}

bool Initializer::IsZero() const {
  return spec_.kind == InitializerKind::kZero;
}

}  // namespace seraph
