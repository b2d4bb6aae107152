// The functions that read, against their definitions, which the test computes
// from what pulls return, in another way; and the same bits on any number of
// partitions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/functions/partitioned_table.h"

namespace seraph::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Keys = std::vector<Key>;
using Floats = std::vector<float>;
using Values = std::vector<FunctionValue>;

constexpr uint64_t kSeed = 20240611;

double Normal(std::initializer_list<uint64_t> place) {
  std::vector<uint64_t> counter(place);
  return ToNormal(Draw(kSeed, {counter[0], counter[1], counter[2], 0}),
                  Draw(kSeed, {counter[0], counter[1], counter[2], 1}));
}

struct Shape {
  std::string name;
  TableKind kind;
  bool scramble = false;
  OptimizerKind optimizer = OptimizerKind::kSgd;
};

TableSpec TableOf(const Shape& shape, const std::string& name = "w") {
  TableSpec table{
      .name = name,
      .kind = shape.kind,
      .keys = shape.kind == TableKind::kDense ? 20000u : 0u,
      .width = 3,
      .scramble = shape.scramble,
      .seed = 9,
      .initializer = {.kind = InitializerKind::kNormal, .scale = 0.1}};
  table.optimizer.kind = shape.optimizer;
  // Lazy terms: rows that were not pushed have moved, too.
  if (shape.optimizer == OptimizerKind::kSgd) {
    table.optimizer.l1 = 0.01;
    table.optimizer.l2 = 0.1;
  }
  return table;
}

// Some steps; the last one creates keys, and pushes old ones.
void Train(PartitionedTable* table, uint64_t purpose = 0) {
  const bool dense = table->table().kind == TableKind::kDense;
  for (uint64_t step = 0; step < 4; ++step) {
    Model gradients;
    for (uint64_t i = 0; i < 700; ++i) {
      const uint64_t draw = Draw(kSeed, {purpose, step, i, 7});
      // Low keys, and keys all over the key space.
      const Key key = dense           ? draw % 20000
                      : draw % 2 == 0 ? (draw >> 8) % 3000
                                      : Draw(draw, {1});
      for (uint64_t j = 0; j < 3; ++j) {
        gradients[key].push_back(Normal({step, key, j}) * (j == 2 ? 1e6 : 1));
      }
      gradients[key].resize(3);
    }
    table->Push(gradients);
  }
}

class ReadingFunctionsTest : public ::testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Tables, ReadingFunctionsTest,
                         ::testing::Values(Shape{"Dense", TableKind::kDense},
                                           Shape{"Sparse", TableKind::kSparse},
                                           Shape{"Scrambled",
                                                 TableKind::kSparse, true},
                                           Shape{"Ftrl", TableKind::kSparse,
                                                 true, OptimizerKind::kFtrl}),
                         [](const auto& info) { return info.param.name; });

std::vector<FunctionCall> Calls() {
  std::vector<FunctionCall> calls;
  for (uint32_t column = 0; column < 3; ++column) {
    for (const char* name : {"sum", "norm", "count", "nnz", "min", "max"}) {
      calls.push_back({.function = name, .column = column});
    }
    calls.push_back(
        {.function = "top_k", .column = column, .arguments = {int64_t{25}}});
    calls.push_back({.function = "dot",
                     .column = column,
                     .arguments = {int64_t{(column + 1) % 3}}});
  }
  return calls;
}

// The definition, in the extended precision of long double and in another
// order.
Values Oracle(const FunctionCall& call, const Model& model) {
  long double sum = 0, squares = 0, products = 0;
  int64_t nnz = 0;
  std::vector<std::pair<float, Key>> rows;
  for (auto it = model.rbegin(); it != model.rend(); ++it) {
    const long double value = it->second[call.column];
    sum += value;
    squares += value * value;
    nnz += value != 0;
    rows.push_back({it->second[call.column], it->first});
    if (call.function == "dot") {
      products += value * it->second[std::get<int64_t>(call.arguments[0])];
    }
  }
  if (call.function == "sum") return {double(sum)};
  if (call.function == "norm") return {double(std::sqrt(squares))};
  if (call.function == "dot") return {double(products)};
  if (call.function == "count") return {int64_t(model.size())};
  if (call.function == "nnz") return {nnz};
  const bool least = call.function == "min";
  std::stable_sort(rows.begin(), rows.end(), [&](auto& a, auto& b) {
    if (a.first == b.first) return a.second < b.second;
    return least == (a.first < b.first);
  });
  const size_t k =
      call.arguments.empty() ? 1 : std::get<int64_t>(call.arguments[0]);
  rows.resize(std::min(rows.size(), k));
  Keys keys;
  Floats values;
  for (const auto& [value, key] : rows) {
    keys.push_back(key);
    values.push_back(value);
  }
  return {keys, values};
}

// Sums of so many doubles: a relative error far below that of a float.
void ExpectNear(const Values& actual, const Values& expected, double scale) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (const auto* number = std::get_if<double>(&expected[i])) {
      EXPECT_NEAR(std::get<double>(actual[i]), *number, 1e-13 * scale);
    } else {
      EXPECT_EQ(actual[i], expected[i]);
    }
  }
}

// The sum of the terms' magnitudes, which rounding errors are relative to.
double ScaleOf(const FunctionCall& call, const Model& model) {
  double scale = 0;
  for (const auto& [key, row] : model) {
    const double value = std::abs(row[call.column]);
    const double other =
        call.function == "dot"
            ? std::abs(row[std::get<int64_t>(call.arguments[0])])
            : 1.0;
    scale += value * other;
  }
  return scale;
}

TEST_P(ReadingFunctionsTest, AreWhatTheyAreDefinedToBe) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  PartitionedTable table(TableOf(GetParam()), 3);
  Train(&table);
  const Model model = table.Rows();
  ASSERT_GT(model.size(), 1000);
  for (const FunctionCall& call : Calls()) {
    SCOPED_TRACE(call.function);
    const auto actual = table.Read(call);
    ASSERT_TRUE(actual.ok()) << actual.status();
    ExpectNear(*actual, Oracle(call, model), ScaleOf(call, model));
  }
}

TEST_P(ReadingFunctionsTest, GiveTheSameBitsOnAnyNumberOfPartitions) {
  std::vector<Values> first;
  for (const uint32_t partitions : {1, 3, 7}) {
    PartitionedTable table(TableOf(GetParam()), partitions);
    ASSERT_EQ(table.partitions(), partitions);
    Train(&table);
    std::vector<Values> results;
    for (const FunctionCall& call : Calls()) {
      results.push_back(*table.Read(call));
    }
    if (first.empty()) first = results;
    EXPECT_EQ(results, first) << partitions;
  }
}

// A rank that runs a clock again sees the rows from before the last step: not
// the new values, and not the new keys.
TEST_P(ReadingFunctionsTest, SeeTheRowsOfTheirMoment) {
  PartitionedTable table(TableOf(GetParam()), 3);
  Train(&table);
  const Model earlier = table.Rows();
  std::vector<Values> results;
  for (const FunctionCall& call : Calls()) results.push_back(*table.Read(call));
  Model gradients;
  for (Key key = 0; key < 400; ++key) gradients[key] = {1, -1, 1e7};
  for (Key key = 10000; key < 10100; ++key) gradients[key] = {1, 1, 1};
  table.Push(gradients);
  EXPECT_EQ(table.Rows(/*before=*/true), earlier);
  for (size_t i = 0; i < results.size(); ++i) {
    const FunctionCall call = Calls()[i];
    EXPECT_EQ(*table.Read(call, /*before=*/true), results[i]) << call.function;
    if (call.function == "count" && table.table().kind == TableKind::kSparse) {
      EXPECT_NE(*table.Read(call), results[i]);
    }
    if (call.function == "sum") {
      EXPECT_NE(*table.Read(call), results[i]);
    }
  }
}

TEST_P(ReadingFunctionsTest, DotOfTwoTablesIsOverTheKeysOfEither) {
  for (const uint32_t partitions : {1, 3, 7}) {
    PartitionedTable w(TableOf(GetParam()), partitions);
    PartitionedTable v(TableOf(GetParam(), "v"), partitions);
    Train(&w);
    Train(&v, /*purpose=*/1);
    const Initializer w_initial(w.table()), v_initial(v.table());
    const Model a = w.Rows(), b = v.Rows();
    long double expected = 0, scale = 0;
    Model both = a;
    both.insert(b.begin(), b.end());
    for (const auto& [key, row] : both) {
      const float x = a.contains(key) ? a.at(key)[0] : w_initial.Value(key, 0);
      const float y = b.contains(key) ? b.at(key)[1] : v_initial.Value(key, 1);
      expected += static_cast<long double>(x) * y;
      scale += std::abs(static_cast<long double>(x) * y);
    }
    const FunctionCall call = {
        .function = "dot", .column = 0, .arguments = {int64_t{1}, "v"}};
    const FunctionCall swapped = {
        .function = "dot", .column = 1, .arguments = {int64_t{0}, "w"}};
    const Values dot = *w.Read(call, false, &v);
    ExpectNear(dot, {double(expected)}, double(scale));
    EXPECT_EQ(*v.Read(swapped, false, &w), dot);
    static Values first;
    if (partitions == 1) first = dot;
    EXPECT_EQ(dot, first);
  }
}

TEST(EmptyTableTest, HasNothingToGive) {
  PartitionedTable table(TableOf({"", TableKind::kSparse}), 3);
  const auto read = [&](const char* name) {
    return *table.Read({.function = name});
  };
  EXPECT_THAT(read("sum"), ElementsAre(FunctionValue(0.0)));
  EXPECT_THAT(read("norm"), ElementsAre(FunctionValue(0.0)));
  EXPECT_THAT(read("count"), ElementsAre(FunctionValue(int64_t{0})));
  EXPECT_THAT(read("min"),
              ElementsAre(FunctionValue(Keys()), FunctionValue(Floats())));
}

TEST(TiesTest, AreBrokenByTheOriginalKey) {
  TableSpec table = TableOf({"", TableKind::kSparse, /*scramble=*/true});
  table.initializer = {};
  table.optimizer = {.kind = OptimizerKind::kAssign};
  PartitionedTable rows(table, 7);
  Model values;
  for (Key key = 100; key < 200; ++key) values[key] = {1, 0, -0.0f};
  rows.Push(values);
  EXPECT_THAT(*rows.Read({.function = "max"}),
              ElementsAre(FunctionValue(Keys{100}), FunctionValue(Floats{1})));
  EXPECT_THAT(
      *rows.Read({.function = "top_k", .column = 2, .arguments = {int64_t{3}}}),
      ElementsAre(FunctionValue(Keys{100, 101, 102}),
                  FunctionValue(Floats{0, 0, 0})));
}

}  // namespace
}  // namespace seraph::testing
