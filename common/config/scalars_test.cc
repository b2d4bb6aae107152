#include "common/config/scalars.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/time/time.h"
#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(ReadBoolTest, TakesTrueAndFalseOnly) {
  bool value = false;
  EXPECT_EQ(ReadBool("true", &value), Parsed::kOk);
  EXPECT_TRUE(value);
  EXPECT_EQ(ReadBool("false", &value), Parsed::kOk);
  EXPECT_FALSE(value);
  for (const char* text :
       {"", "True", "TRUE", "yes", "no", "on", "1", "0", " true"}) {
    EXPECT_EQ(ReadBool(text, &value), Parsed::kWrongType) << text;
  }
}

TEST(ReadWholeTest, IsExactUpToTheLargestUint64) {
  uint64_t value = 0;
  EXPECT_EQ(ReadWhole("0", &value), Parsed::kOk);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(ReadWhole("9007199254740993", &value), Parsed::kOk);
  EXPECT_EQ(value, 9007199254740993u) << "no double has been in between";
  EXPECT_EQ(ReadWhole("18446744073709551615", &value), Parsed::kOk);
  EXPECT_EQ(value, kMax);
}

TEST(ReadWholeTest, TellsOtherThingsFromNumbersOutOfRange) {
  uint64_t value = 7;
  for (const char* text :
       {"18446744073709551616", "-1", "-0", "99999999999999999999999999"}) {
    EXPECT_EQ(ReadWhole(text, &value), Parsed::kOutOfRange) << text;
  }
  for (const char* text : {"", "-", "+1", "1.0", "1e3", "0x10", "1_000", " 1",
                           "1 ", "ten", "--1", "1-"}) {
    EXPECT_EQ(ReadWhole(text, &value), Parsed::kWrongType) << text;
  }
  EXPECT_EQ(value, 7) << "a failure leaves the variable";
}

TEST(ReadNumberTest, TakesDecimalForms) {
  const std::pair<const char*, double> cases[] = {
      {"0", 0.0},     {"0.1", 0.1}, {"1e-3", 0.001}, {"1E+2", 100},
      {"-2.5", -2.5}, {".5", 0.5},  {"5.", 5},       {"1e308", 1e308},
      {"-0", -0.0},   {"1e0", 1.0},
  };
  for (const auto& [text, want] : cases) {
    double value = -1;
    EXPECT_EQ(ReadNumber(text, &value), Parsed::kOk) << text;
    EXPECT_EQ(value, want) << text;
  }
}

TEST(ReadNumberTest, RefusesWhatIsNotFinite) {
  double value = 7;
  for (const char* text :
       {"nan", "NaN", ".nan", "inf", ".inf", "-inf", "infinity", "nan(1)", "",
        "1e", "e1", "0x1p3", "1,5", "1 ", " 1", "+1", "1..2", "--1"}) {
    EXPECT_EQ(ReadNumber(text, &value), Parsed::kWrongType) << text;
  }
  EXPECT_EQ(ReadNumber("1e999", &value), Parsed::kOutOfRange);
  EXPECT_EQ(ReadNumber("-1e999", &value), Parsed::kOutOfRange);
  EXPECT_EQ(value, 7);
}

TEST(WriteNumberTest, ReadsBackToTheSameBits) {
  constexpr uint64_t kSeed = 20240607;
  int finite = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const uint64_t bits = Draw(kSeed, {i});
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    ++finite;
    double back = 0;
    ASSERT_EQ(ReadNumber(WriteNumber(value), &back), Parsed::kOk) << value;
    ASSERT_EQ(std::memcmp(&back, &value, sizeof(value)), 0)
        << WriteNumber(value) << " seed " << kSeed << " draw " << i;
  }
  EXPECT_GT(finite, 9000);
}

TEST(ReadDurationTest, WantsAUnit) {
  const std::pair<const char*, absl::Duration> cases[] = {
      {"500ms", absl::Milliseconds(500)}, {"5s", absl::Seconds(5)},
      {"2m", absl::Minutes(2)},           {"1h", absl::Hours(1)},
      {"1.5s", absl::Milliseconds(1500)}, {"1m30s", absl::Seconds(90)},
      {"0s", absl::ZeroDuration()},       {"10us", absl::Microseconds(10)},
      {"7ns", absl::Nanoseconds(7)},
  };
  for (const auto& [text, want] : cases) {
    absl::Duration value;
    EXPECT_EQ(ReadDuration(text, &value), Parsed::kOk) << text;
    EXPECT_EQ(value, want) << text;
  }
  absl::Duration value = absl::Seconds(7);
  for (const char* text : {"", "5", "0", "5 s", "s", "5d", "inf", "-inf", "+5s",
                           "five seconds", "5s ", "ms5"}) {
    EXPECT_EQ(ReadDuration(text, &value), Parsed::kWrongType) << text;
  }
  for (const char* text : {"-5s", "300000000h", "99999999999999999999h"}) {
    EXPECT_NE(ReadDuration(text, &value), Parsed::kOk) << text;
  }
  EXPECT_EQ(value, absl::Seconds(7));
}

TEST(WriteDurationTest, ReadsBack) {
  for (const absl::Duration value :
       {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Milliseconds(20),
        absl::Milliseconds(1500), absl::Seconds(5), absl::Seconds(90),
        absl::Hours(30) + absl::Nanoseconds(1)}) {
    absl::Duration back = absl::InfiniteDuration();
    EXPECT_EQ(ReadDuration(WriteDuration(value), &back), Parsed::kOk)
        << WriteDuration(value);
    EXPECT_EQ(back, value);
  }
}

TEST(ReadSizeTest, WantsAUnit) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0B", 0},
      {"5B", 5},
      {"64KiB", 65536},
      {"64MiB", uint64_t{64} << 20},
      {"1GiB", uint64_t{1} << 30},
      {"3TiB", uint64_t{3} << 40},
      {"1kB", 1000},
      {"2MB", 2'000'000},
      {"2GB", 2'000'000'000},
      {"1TB", 1'000'000'000'000},
      {"18446744073709551615B", kMax},
  };
  for (const auto& [text, want] : cases) {
    uint64_t value = 7;
    EXPECT_EQ(ReadSize(text, &value), Parsed::kOk) << text;
    EXPECT_EQ(value, want) << text;
  }
  uint64_t value = 7;
  for (const char* text : {"", "64", "MiB", "64 MiB", "64M", "64Mi", "64mib",
                           "1.5GiB", "64MiB ", "x64MiB"}) {
    EXPECT_EQ(ReadSize(text, &value), Parsed::kWrongType) << text;
  }
  for (const char* text : {"-1MiB", "16777216TiB", "99999999999999999999B"}) {
    EXPECT_EQ(ReadSize(text, &value), Parsed::kOutOfRange) << text;
  }
  EXPECT_EQ(value, 7);
}

TEST(WriteSizeTest, TakesTheLargestExactUnitAndReadsBack) {
  EXPECT_EQ(WriteSize(0), "0B");
  EXPECT_EQ(WriteSize(1), "1B");
  EXPECT_EQ(WriteSize(1023), "1023B");
  EXPECT_EQ(WriteSize(1024), "1KiB");
  EXPECT_EQ(WriteSize(1'000'000), "1000000B");
  EXPECT_EQ(WriteSize(uint64_t{16} << 20), "16MiB");
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{12345},
                               uint64_t{5} << 33, uint64_t{1} << 63, kMax}) {
    uint64_t back = 7;
    EXPECT_EQ(ReadSize(WriteSize(bytes), &back), Parsed::kOk);
    EXPECT_EQ(back, bytes);
  }
}

}  // namespace
}  // namespace seraph
