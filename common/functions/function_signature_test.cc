#include "common/functions/function_signature.h"

#include <limits>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

FunctionSignature Axpy() {
  return {.name = "axpy",
          .version = 3,
          .writes = true,
          .arguments = {{"factor", ValueType::kDouble},
                        {"column", ValueType::kInt},
                        {"table", ValueType::kText, /*optional=*/true}}};
}

TEST(FunctionSignatureTest, SaysWhatItIs) {
  EXPECT_EQ(ToText(Axpy()),
            "axpy(factor: double, column: int, [table: text]), version 3");
  EXPECT_EQ(Axpy().Find("column"), 1);
  EXPECT_EQ(Axpy().Find("row"), std::nullopt);
}

TEST(FunctionSignatureTest, TakesWhatFitsAndTurnsIntsIntoDoubles) {
  std::vector<FunctionValue> arguments = {int64_t{2}, int64_t{1}};
  EXPECT_THAT(CheckArguments(Axpy(), &arguments), IsOk());
  EXPECT_EQ(arguments[0], FunctionValue(2.0));
  arguments.push_back("w");
  EXPECT_THAT(CheckArguments(Axpy(), &arguments), IsOk());
}

TEST(FunctionSignatureTest, RefusesTheRestAndNamesFunctionAndWhatItTakes) {
  const std::vector<std::vector<FunctionValue>> wrong = {
      {},
      {2.0},
      {2.0, int64_t{1}, "w", "w"},
      {2.0, 1.0},
      {"2", int64_t{1}},
      {2.0, int64_t{1}, int64_t{1}},
      {std::numeric_limits<double>::infinity(), int64_t{1}},
  };
  for (std::vector<FunctionValue> arguments : wrong) {
    EXPECT_THAT(CheckArguments(Axpy(), &arguments),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("function 'axpy'"),
                               HasSubstr(ToText(Axpy())))));
  }
}

}  // namespace
}  // namespace seraph
