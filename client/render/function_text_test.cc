#include "client/render/function_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using Keys = std::vector<Key>;
using Floats = std::vector<float>;

TEST(FunctionTextTest, ANumberIsPrintedToItsLastBit) {
  const FunctionResult result = {.table = "w",
                                 .version = 1,
                                 .combine = CombineRule::kRoot,
                                 .values = {0.1 + 0.2}};
  EXPECT_EQ(FunctionText(result), "0.30000000000000004\n");
  EXPECT_EQ(FunctionDocument({.function = "norm", .column = 2}, result).dump(),
            R"({"function":{"name":"norm","version":1},"table":"w",)"
            R"("column":2,"value":0.30000000000000004})");
}

TEST(FunctionTextTest, RowsAreATable) {
  const FunctionResult result = {
      .table = "w",
      .version = 1,
      .combine = CombineRule::kLargest,
      .values = {Keys{7, 18446744073709551615u}, Floats{0.1f, -2}}};
  EXPECT_EQ(FunctionText(result),
            "                 KEY  VALUE\n"
            "                   7    0.1\n"
            "18446744073709551615     -2\n");
  EXPECT_EQ(FunctionDocument({.function = "top_k"}, result)["rows"].dump(),
            R"([{"key":7,"value":0.1},)"
            R"({"key":18446744073709551615,"value":-2.0}])");
}

TEST(FunctionTextTest, AListIsALineForEachValue) {
  const FunctionResult result = {
      .table = "w",
      .version = 1,
      .combine = CombineRule::kList,
      .values = {"text", int64_t{-3}, Floats{0.5f, 0.1f}, Keys{1, 2}}};
  EXPECT_EQ(FunctionText(result), "text\n-3\n0.5 0.1\n1 2\n");
  EXPECT_EQ(FunctionDocument({.function = "f"}, result)["values"].dump(),
            R"(["text",-3,[0.5,0.1],[1,2]])");
}

}  // namespace
}  // namespace seraph
