#include "worker/data/number.h"

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace seraph {
namespace {

float Float(absl::string_view text) {
  float value = -12345;
  EXPECT_EQ(ParseFloat(text, &value), NumberError::kNone) << text;
  return value;
}

TEST(ParseFloatTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(Float("1"), 1.0f);
  EXPECT_EQ(Float("+1"), 1.0f);
  EXPECT_EQ(Float("-1.0"), -1.0f);
  EXPECT_EQ(Float("0.3651"), 0.3651f);
  EXPECT_EQ(Float(".5"), 0.5f);
  EXPECT_EQ(Float("5."), 5.0f);
  EXPECT_EQ(Float("1.234567890123456e10"), 1.234567890123456e10f);
  EXPECT_EQ(Float("1E-3"), 1e-3f);
  EXPECT_EQ(Float("16777217"), 16777216.0f) << "halfway: to even";
  EXPECT_EQ(Float("16777219"), 16777220.0f);
  EXPECT_EQ(Float("0.000000001"), 1e-9f);
  EXPECT_EQ(Float("000000000000001"), 1.0f);
  EXPECT_TRUE(std::signbit(Float("-0")));
}

TEST(ParseFloatTest, RefusesTheRest) {
  float value = 7;
  for (const char* text :
       {"", "+", "-", ".", "+-1", "-+1", "++1", "--1", "1x", "x", "1 ", " 1",
        "1,0", "1e", "0x10", "1_000", "1.2.3", "1e5.0", "python"}) {
    EXPECT_EQ(ParseFloat(text, &value), NumberError::kNotANumber) << text;
  }
  for (const char* text : {"nan", "NaN", "-nan", "inf", "-Infinity", "+inf"}) {
    EXPECT_EQ(ParseFloat(text, &value), NumberError::kNotFinite) << text;
  }
  for (const char* text :
       {"1e39", "-3.5e38", "340282356779733661637539395458142568448"}) {
    EXPECT_EQ(ParseFloat(text, &value), NumberError::kTooLarge) << text;
  }
  EXPECT_EQ(value, 7) << "left as it was";
}

TEST(ParseFloatTest, WhatIsTooSmallIsZeroOrDenormal) {
  EXPECT_EQ(Float("1e-46"), 0.0f);
  EXPECT_EQ(Float("1e-400"), 0.0f);
  EXPECT_EQ(Float("-1e-99999999999999999999"), 0.0f);
  EXPECT_EQ(Float("1e-40"), 1e-40f);
  EXPECT_EQ(Float("0." + std::string(500, '0') + "1"), 0.0f);
  EXPECT_EQ(Float(std::string(100, '1') + "e-200"), 0.0f);
  float value;
  EXPECT_EQ(ParseFloat(std::string(500, '1') + "e-20", &value),
            NumberError::kTooLarge);
  EXPECT_EQ(ParseFloat("1e99999999999999999999", &value),
            NumberError::kTooLarge);
}

TEST(ParseDoubleTest, HasTheRangeOfDouble) {
  double value;
  EXPECT_EQ(ParseDouble("1e300", &value), NumberError::kNone);
  EXPECT_EQ(value, 1e300);
  EXPECT_EQ(ParseDouble("1e-310", &value), NumberError::kNone);
  EXPECT_EQ(value, 1e-310);
  EXPECT_EQ(ParseDouble("1e309", &value), NumberError::kTooLarge);
  EXPECT_EQ(ParseDouble("1e-400", &value), NumberError::kNone);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(ParseDouble("inf", &value), NumberError::kNotFinite);
}

TEST(ParseUint64Test, AllOf64BitsAndNoMore) {
  uint64_t value;
  EXPECT_EQ(ParseUint64("18446744073709551615", &value), NumberError::kNone);
  EXPECT_EQ(value, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ParseUint64("18446744073709551616", &value),
            NumberError::kTooLarge);
  for (const char* text : {"", "-1", "+1", "1.0", "1e3", " 1"}) {
    EXPECT_EQ(ParseUint64(text, &value), NumberError::kNotANumber) << text;
  }
}

// The short way must round as the library does, for every short number.
TEST(ParseFloatTest, IsTheNearestFloat) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200000; ++i) {
    std::string text = std::to_string(random() >> (random() % 32));
    if (random() % 4 != 0) text.insert(random() % (text.size() + 1), ".");
    if (random() % 2 == 0) text.insert(0, "-");
    if (text == "." || text == "-.") continue;
    ASSERT_EQ(Float(text), std::strtof(text.c_str(), nullptr)) << text;
  }
}

TEST(IsUtf8Test, KnowsTheWellFormed) {
  for (const char* good : {"", "plain", "\xc3\xa4", "\xe2\x82\xac",
                           "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << InQuotes(good);
  }
  for (const char* bad :
       {"\xe4", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xe2\x82z"}) {
    EXPECT_FALSE(IsUtf8(bad)) << InQuotes(bad);
  }
}

TEST(QuotedTest, IsShortAndPrintable) {
  EXPECT_EQ(InQuotes("python"), "'python'");
  EXPECT_EQ(InQuotes("a\xff\n"), "'a\\xff\\n'");
  EXPECT_EQ(InQuotes(std::string(100, 'x')),
            "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace seraph
