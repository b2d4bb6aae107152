// Libraries as users write them, and wrong ones.
#include "server/functions/function_library.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/functions/library_function.h"
#include "server/functions/partitioned_table.h"

namespace seraph::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string PathOf(const std::string& name) {
  return absl::StrCat("server/functions/example/lib", name, "_functions.so");
}

TableSpec Table() {
  TableSpec table{
      .name = "w", .kind = TableKind::kDense, .keys = 9000, .width = 2};
  table.optimizer.kind = OptimizerKind::kAssign;
  return table;
}

// Key k has the values k - 4500 and 1.
PartitionedTable Filled(uint32_t partitions) {
  PartitionedTable table(Table(), partitions);
  Model values;
  for (Key key = 0; key < 9000; ++key) {
    values[key] = {static_cast<float>(key) - 4500.0f, 1.0f};
  }
  table.Push(values);
  return table;
}

FunctionRegistry Loaded(const std::string& name) {
  FunctionRegistry registry = FunctionRegistry::WithBuiltIns();
  EXPECT_THAT(LoadFunctionLibrary(PathOf(name), &registry), IsOk());
  return registry;
}

TEST(FunctionLibraryTest, AFunctionOfASumGivesTheSameBitsOnAnyPartitions) {
  const FunctionRegistry registry = Loaded("example");
  const FunctionCall call = {.function = "power_sum", .arguments = {1.5}};
  long double expected = 0;
  for (int key = 0; key < 9000; ++key) {
    expected += std::pow(std::abs(key - 4500.0L), 1.5L);
  }
  std::vector<FunctionValue> first;
  for (const uint32_t partitions : {1, 3, 7}) {
    const auto result = Filled(partitions).Read(call, false, nullptr, registry);
    ASSERT_THAT(result, IsOk());
    if (first.empty()) first = *result;
    EXPECT_EQ(*result, first);
  }
  EXPECT_NEAR(std::get<double>(first[0]), expected, 1e-12 * expected);
}

TEST(FunctionLibraryTest, AFunctionThatWritesSetsRows) {
  const FunctionRegistry registry = Loaded("example");
  PartitionedTable table = Filled(3);
  ASSERT_THAT(table.Write({.function = "clip", .arguments = {int64_t{10}}},
                          nullptr, registry),
              IsOk());
  for (const auto& [key, row] : table.Rows()) {
    const float before = static_cast<float>(key) - 4500.0f;
    EXPECT_EQ(row[0], std::clamp(before, -10.0f, 10.0f));
    EXPECT_EQ(row[1], 1.0f);
  }
}

TEST(FunctionLibraryTest, WhatItSaysIsToldWithItsName) {
  const FunctionRegistry registry = Loaded("example");
  EXPECT_THAT(Filled(1).Read({.function = "power_sum", .arguments = {-1.0}},
                             false, nullptr, registry),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("'power_sum', version 1"),
                             HasSubstr("p has to be greater than 0"))));
  EXPECT_THAT(
      Filled(1).Read({.function = "power_sum"}, false, nullptr, registry),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("power_sum(p: double)")));
}

TEST(FunctionLibraryTest, WhatGoesWrongIsAnErrorAndNoCrash) {
  const FunctionRegistry registry = Loaded("faulty");
  const std::vector<std::pair<std::string, std::string>> faulty = {
      {"throws", "threw: out of luck"},    {"throws_int", "threw something"},
      {"returns_seven", "returned 7"},     {"gives_no_sum", "one double"},
      {"gives_no_count", "one int"},       {"gives_no_type", "of no type"},
      {"sets_a_row", "although it reads"},
  };
  for (const auto& [name, text] : faulty) {
    EXPECT_THAT(Filled(3).Read({.function = name}, false, nullptr, registry),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr(name), HasSubstr(text))));
  }
  PartitionedTable table = Filled(3);
  const Model before = table.Rows();
  EXPECT_THAT(table.Write({.function = "writes_and_throws"}, nullptr, registry),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("out of luck")));
  EXPECT_EQ(table.Rows(), before);
}

TEST(FunctionLibraryTest, LibrariesThatCannotBeTakenNameTheFile) {
  FunctionRegistry registry = FunctionRegistry::WithBuiltIns();
  EXPECT_THAT(
      LoadFunctionLibrary(PathOf("old"), &registry),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("libold_functions.so"),
                     HasSubstr("version 42 of"), HasSubstr("has version 1"))));
  EXPECT_THAT(LoadFunctionLibrary(PathOf("missing"), &registry),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("libmissing_functions.so")));
  // A library that is none of ours.
  EXPECT_THAT(
      LoadFunctionLibrary("libm.so.6", &registry),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("libm.so.6"), HasSubstr("seraph_functions"))));
  EXPECT_THAT(LoadFunctionLibrary(PathOf("clashing"), &registry),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("libclashing_functions.so"),
                             HasSubstr("'sum', version 1"))));
  EXPECT_EQ(registry.List(), FunctionRegistry::BuiltIns().List());
}

TEST(LibraryFunctionTest, DefinitionsThatMakeNoSenseAreRefused) {
  const auto run = [](const seraph_call*) { return 0; };
  seraph_function good{};
  good.name = "f";
  good.version = 1;
  good.run = run;
  EXPECT_THAT(WrapLibraryFunction(good), IsOk());
  seraph_function bad = good;
  bad.name = nullptr;
  EXPECT_FALSE(WrapLibraryFunction(bad).ok());
  bad = good;
  bad.run = nullptr;
  EXPECT_FALSE(WrapLibraryFunction(bad).ok());
  bad = good;
  bad.combine = 99;
  EXPECT_FALSE(WrapLibraryFunction(bad).ok());
  bad = good;
  bad.argument_count = 1;
  EXPECT_FALSE(WrapLibraryFunction(bad).ok());
  const seraph_argument argument = {"a", 99, 0};
  bad.arguments = &argument;
  EXPECT_FALSE(WrapLibraryFunction(bad).ok());
}

}  // namespace
}  // namespace seraph::testing
