#include "common/table/initializer.h"

#include <bit>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TableSpec Table(InitializerSpec initializer) {
  return {.name = "weights", .seed = 3, .initializer = initializer};
}

constexpr InitializerSpec kNormal = {
    .kind = InitializerKind::kNormal, .mean = 1, .scale = 0.5};
constexpr InitializerSpec kUniform = {
    .kind = InitializerKind::kUniform, .mean = 1, .scale = 0.5};

TEST(InitializerTest, ConstantsAreConstant) {
  EXPECT_EQ(Initializer(Table({})).Value(5, 2), 0.0f);
  EXPECT_TRUE(Initializer(Table({})).IsZero());
  const Initializer constant(
      Table({.kind = InitializerKind::kConstant, .mean = 0.1}));
  EXPECT_EQ(constant.Value(5, 2), 0.1f);
  EXPECT_FALSE(constant.IsZero());
}

TEST(InitializerTest, DrawsHaveTheMeanAndDeviationAskedFor) {
  constexpr int kDraws = 40000;
  for (const InitializerSpec& spec : {kNormal, kUniform}) {
    const Initializer initializer(Table(spec));
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = initializer.Value(i / 4, i % 4);
      sum += x;
      squares += (x - 1) * (x - 1);
    }
    const double variance =
        spec.kind == InitializerKind::kNormal ? 0.25 : 0.25 / 3;
    // Five standard errors.
    EXPECT_NEAR(sum / kDraws, 1, 5 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws, variance,
                5 * variance * std::sqrt(2.0 / kDraws));
  }
}

TEST(InitializerTest, UniformStaysWithinItsBounds) {
  const Initializer initializer(Table(kUniform));
  for (Key key = 0; key < 10000; ++key) {
    ASSERT_GE(initializer.Value(key, 0), 0.5f);
    ASSERT_LE(initializer.Value(key, 0), 1.5f);
  }
}

TEST(InitializerTest, EveryInputMattersAndNoOther) {
  TableSpec table = Table(kNormal);
  const float value = Initializer(table).Value(5, 2);
  EXPECT_NE(Initializer(table).Value(6, 2), value);
  EXPECT_NE(Initializer(table).Value(5, 3), value);
  table.seed = 4;
  EXPECT_NE(Initializer(table).Value(5, 2), value);
  table = Table(kNormal);
  table.name = "bias";
  EXPECT_NE(Initializer(table).Value(5, 2), value);
  table = Table(kNormal);
  table.partitions = 64;
  table.width = 17;
  table.kind = TableKind::kDense;
  table.keys = 1000;
  EXPECT_EQ(Initializer(table).Value(5, 2), value);
}

TEST(InitializerTest, FillsARowByColumns) {
  const Initializer initializer(Table(kNormal));
  std::vector<float> row(5);
  initializer.Fill(7, absl::MakeSpan(row));
  for (uint32_t column = 0; column < row.size(); ++column) {
    EXPECT_EQ(row[column], initializer.Value(7, column));
  }
}

// Models trained from a seed stay the same.
TEST(InitializerTest, NeverChanges) {
  EXPECT_EQ(std::bit_cast<uint32_t>(Initializer(Table(kNormal)).Value(5, 2)),
            0x3fc94e4du);
  EXPECT_EQ(std::bit_cast<uint32_t>(Initializer(Table(kUniform)).Value(5, 2)),
            0x3f985708u);
}

}  // namespace
}  // namespace seraph
