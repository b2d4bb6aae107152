#include "scheduler/membership/silent_links.h"

#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr absl::Duration kMemory = absl::Seconds(10);

TEST(SilentLinksTest, ALinkHasNoDirection) {
  SilentLinks links(kMemory);
  links.Report(1, {2}, absl::ZeroDuration());
  EXPECT_TRUE(links.Between(1, 2));
  EXPECT_TRUE(links.Between(2, 1));
  EXPECT_FALSE(links.Between(1, 3));
}

TEST(SilentLinksTest, CountsOtherServersNotWords) {
  SilentLinks links(kMemory);
  links.Report(1, {2, 3}, absl::ZeroDuration());
  links.Report(2, {1}, absl::ZeroDuration());
  links.Report(1, {1}, absl::ZeroDuration());
  EXPECT_EQ(links.Count(1), 2u);
  EXPECT_EQ(links.Count(2), 1u);
  EXPECT_EQ(links.Count(4), 0u);
}

TEST(SilentLinksTest, ForgetsWhatIsNotRepeated) {
  SilentLinks links(kMemory);
  links.Report(1, {2, 3}, absl::ZeroDuration());
  links.Report(1, {2}, kMemory);
  EXPECT_TRUE(links.Between(1, 3)) << "at the limit";
  links.Report(1, {}, kMemory + absl::Nanoseconds(1));
  EXPECT_FALSE(links.Between(1, 3));
  EXPECT_TRUE(links.Between(1, 2));
  links.Forget(2);
  EXPECT_FALSE(links.Between(1, 2));
}

}  // namespace
}  // namespace seraph
