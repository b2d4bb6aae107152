// The functions that write, against their definitions.
#include <cmath>
#include <limits>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/functions/partitioned_table.h"

namespace seraph::testing {
namespace {

constexpr uint64_t kSeed = 20240612;

TableSpec TableOf(TableKind kind, const std::string& name = "w") {
  return {.name = name,
          .kind = kind,
          .keys = kind == TableKind::kDense ? 9000u : 0u,
          .width = 2,
          .scramble = kind == TableKind::kSparse,
          .seed = 9,
          .initializer = {.kind = InitializerKind::kNormal, .scale = 0.1},
          .optimizer = {.kind = OptimizerKind::kSgd, .l1 = 0.01, .l2 = 0.1}};
}

void Train(PartitionedTable* table, uint64_t purpose = 0) {
  for (uint64_t step = 0; step < 3; ++step) {
    Model gradients;
    for (uint64_t i = 0; i < 500; ++i) {
      const uint64_t draw = Draw(kSeed, {purpose, step, i});
      gradients[draw % 9000] = {static_cast<float>(ToUnit(draw) - 0.5),
                                static_cast<float>(ToUnit(Draw(draw, {1})))};
    }
    table->Push(gradients);
  }
}

class WritingFunctionsTest : public ::testing::TestWithParam<TableKind> {
 protected:
  // What the call makes of a trained table, on 3 partitions; the same bits on
  // 1 and 7.
  Model Written(const FunctionCall& call, Model* before,
                bool with_other = false) {
    Model result;
    for (const uint32_t partitions : {1, 7, 3}) {
      PartitionedTable table(TableOf(GetParam()), partitions);
      PartitionedTable other(TableOf(GetParam(), "v"), partitions);
      Train(&table);
      Train(&other, /*purpose=*/1);
      *before = table.Rows();
      EXPECT_THAT(table.Write(call, with_other ? &other : nullptr), IsOk());
      if (partitions > 1) {
        EXPECT_EQ(table.Rows(), result);
      }
      result = table.Rows();
      other_ = other.Rows();
    }
    return result;
  }

  // Column 0 becomes of(key, row before); the rest, and which keys there are,
  // stays.
  template <typename Of>
  void ExpectColumn(const FunctionCall& call, Of of, bool with_other = false) {
    Model before;
    const Model after = Written(call, &before, with_other);
    ASSERT_GT(before.size(), 500);
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [key, row] : before) {
      ASSERT_EQ(after.at(key)[0], of(key, row)) << key;
      ASSERT_EQ(after.at(key)[1], row[1]) << key;
    }
  }

  Model other_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, WritingFunctionsTest,
                         ::testing::Values(TableKind::kDense,
                                           TableKind::kSparse),
                         [](const auto& info) {
                           return info.param == TableKind::kDense ? "Dense"
                                                                  : "Sparse";
                         });

TEST_P(WritingFunctionsTest, ScaleMultiplies) {
  ExpectColumn({.function = "scale", .arguments = {0.3}},
               [](Key, const auto& row) {
                 return static_cast<float>(0.3 * static_cast<double>(row[0]));
               });
}

TEST_P(WritingFunctionsTest, FillSets) {
  ExpectColumn({.function = "fill", .arguments = {0.1}},
               [](Key, const auto&) { return 0.1f; });
}

TEST_P(WritingFunctionsTest, AxpyAddsAnotherColumn) {
  ExpectColumn({.function = "axpy", .arguments = {-2.5, int64_t{1}}},
               [](Key, const auto& row) {
                 return static_cast<float>(-2.5 * static_cast<double>(row[1]) +
                                           static_cast<double>(row[0]));
               });
}

TEST_P(WritingFunctionsTest, CopyTakesAnotherColumn) {
  ExpectColumn({.function = "copy", .arguments = {int64_t{1}}},
               [](Key, const auto& row) { return row[1]; });
}

TEST_P(WritingFunctionsTest, TheOtherColumnMayBeOfAnotherTable) {
  const Initializer initial(TableOf(GetParam(), "v"));
  const auto other = [&](Key key) {
    const auto it = other_.find(key);
    return it == other_.end() ? initial.Value(key, 1) : it->second[1];
  };
  ExpectColumn(
      {.function = "axpy", .arguments = {0.7, int64_t{1}, "v"}},
      [&](Key key, const auto& row) {
        return static_cast<float>(0.7 * static_cast<double>(other(key)) +
                                  static_cast<double>(row[0]));
      },
      /*with_other=*/true);
  ExpectColumn(
      {.function = "copy", .arguments = {int64_t{1}, "v"}},
      [&](Key key, const auto&) { return other(key); }, /*with_other=*/true);
}

TEST_P(WritingFunctionsTest, RandomValuesAreDrawnByPlaceAndSeed) {
  for (const auto& [name, kind] :
       {std::pair("uniform", InitializerKind::kUniform),
        std::pair("normal", InitializerKind::kNormal)}) {
    TableSpec drawn = TableOf(GetParam());
    drawn.initializer = {.kind = kind, .mean = 0.5, .scale = 2.0};
    drawn.seed = 77;
    const Initializer initial(drawn);
    double sum = 0, squares = 0;
    size_t n = 0;
    ExpectColumn({.function = name, .arguments = {0.5, 2.0, int64_t{77}}},
                 [&](Key key, const auto&) {
                   const float value = initial.Value(key, 0);
                   sum += value;
                   squares += (value - 0.5) * (value - 0.5);
                   ++n;
                   return value;
                 });
    // The mean and the deviation are those that were asked for, to four
    // standard errors.
    const double deviation =
        kind == InitializerKind::kUniform ? 2.0 / std::sqrt(3.0) : 2.0;
    EXPECT_NEAR(sum / n, 0.5, 4 * deviation / std::sqrt(n)) << name;
    EXPECT_NEAR(std::sqrt(squares / n), deviation, 4 * deviation / std::sqrt(n))
        << name;
  }
}

TEST_P(WritingFunctionsTest, ValuesThatAreNotFiniteLeaveTheRow) {
  PartitionedTable table(TableOf(GetParam()), 1);
  Train(&table);
  const Model before = table.Rows();
  EXPECT_THAT(table.Write({.function = "scale", .arguments = {1e300}}), IsOk());
  const Model after = table.Rows();
  for (const auto& [key, row] : before) {
    if (row[0] == 0.0f) continue;
    ASSERT_EQ(after.at(key), row) << key;
  }
}

}  // namespace
}  // namespace seraph::testing
