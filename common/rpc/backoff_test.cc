#include "common/rpc/backoff.h"

#include <set>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(BackoffTest, DoublesToItsMaximumWithinTheUpperHalf) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff(absl::Milliseconds(20), absl::Milliseconds(100), seed);
    for (int64_t whole_ms : {20, 40, 80, 100, 100, 100}) {
      const absl::Duration delay = backoff.Next();
      EXPECT_GT(delay, absl::Milliseconds(whole_ms) / 2) << "seed " << seed;
      EXPECT_LE(delay, absl::Milliseconds(whole_ms)) << "seed " << seed;
    }
    backoff.Reset();
    EXPECT_LE(backoff.Next(), absl::Milliseconds(20));
  }
}

TEST(BackoffTest, DelaysDifferBetweenSeedsAndFromDrawToDraw) {
  std::set<absl::Duration> delays;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Backoff backoff(absl::Seconds(1), absl::Seconds(1), seed);
    delays.insert(backoff.Next());
    delays.insert(backoff.Next());
  }
  EXPECT_GT(delays.size(), 95);
}

}  // namespace
}  // namespace seraph
