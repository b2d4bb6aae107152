#include "client/render/numbers.h"

#include <limits>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(NumbersTest, Commas) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(std::numeric_limits<uint64_t>::max()),
            "18,446,744,073,709,551,615");
}

TEST(NumbersTest, Bytes) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(23 << 20), "23 MiB");
  EXPECT_EQ(HumanBytes(std::numeric_limits<uint64_t>::max()), "16384 PiB");
}

TEST(NumbersTest, Durations) {
  EXPECT_EQ(HumanDuration(absl::Seconds(-1)), "0.00s");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(214)), "0.21s");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(999)), "1.0s");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(5300)), "5.3s");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(9990)), "10s");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(59600)), "1m00s");
  EXPECT_EQ(HumanDuration(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(HumanDuration(absl::Seconds(7500)), "2h05m");
  EXPECT_EQ(HumanDuration(absl::Hours(99)), "4d03h");
  EXPECT_EQ(HumanDuration(absl::InfiniteDuration()), "?");
}

TEST(NumbersTest, SixSignificantDigits) {
  EXPECT_EQ(ShortNumber(0.3412349), "0.341235");
  EXPECT_EQ(ShortNumber(1), "1");
  EXPECT_EQ(ShortNumber(1234567), "1.23457e+06");
}

}  // namespace
}  // namespace seraph
