#include "common/functions/function_value.h"

#include <limits>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;

using Keys = std::vector<Key>;
using Floats = std::vector<float>;

FunctionValue Parsed(absl::string_view text) {
  return ParseFunctionValue(text).value_or("?");
}

TEST(FunctionValueTest, ATextBecomesTheValueThatItLooksLike) {
  EXPECT_EQ(Parsed("7"), FunctionValue(int64_t{7}));
  EXPECT_EQ(Parsed("-7"), FunctionValue(int64_t{-7}));
  EXPECT_EQ(Parsed("0.5"), FunctionValue(0.5));
  EXPECT_EQ(Parsed("-1e-3"), FunctionValue(-1e-3));
  EXPECT_EQ(Parsed("7."), FunctionValue(7.0));
  EXPECT_EQ(Parsed("w"), FunctionValue("w"));
  EXPECT_EQ(Parsed("inf"), FunctionValue("inf"));
  EXPECT_EQ(Parsed("e"), FunctionValue("e"));
  EXPECT_EQ(Parsed("-"), FunctionValue("-"));
  EXPECT_EQ(Parsed(""), FunctionValue(""));
  EXPECT_EQ(Parsed("text:7"), FunctionValue("7"));
  EXPECT_EQ(Parsed("keys:1,18446744073709551615"),
            FunctionValue(Keys{1, kMaxKey}));
  EXPECT_EQ(Parsed("keys:"), FunctionValue(Keys{}));
  EXPECT_EQ(Parsed("floats:0.5,-2"), FunctionValue(Floats{0.5f, -2.0f}));
}

TEST(FunctionValueTest, WhatIsNoValueIsRefused) {
  for (const char* text : {"9223372036854775808", "keys:1,x", "keys:-1",
                           "keys:1,", "floats:1,two"}) {
    EXPECT_THAT(ParseFunctionValue(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(FunctionValueTest, KnowsItsTypeAndWhetherItIsFinite) {
  EXPECT_EQ(ValueTypeName(TypeOf(int64_t{1})), "int");
  EXPECT_EQ(ValueTypeName(TypeOf(1.0)), "double");
  EXPECT_EQ(ValueTypeName(TypeOf("x")), "text");
  EXPECT_EQ(ValueTypeName(TypeOf(Keys{})), "keys");
  EXPECT_EQ(ValueTypeName(TypeOf(Floats{})), "floats");
  EXPECT_TRUE(IsFinite(1.0));
  EXPECT_FALSE(IsFinite(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(IsFinite(Floats{1, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_TRUE(IsFinite("nan"));
}

}  // namespace
}  // namespace seraph
