#include "common/base/key_order.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

std::vector<Key> RunOf(Key first, size_t n) {
  std::vector<Key> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

TEST(KeyOrderTest, ARunIncreasesAndIsConsecutive) {
  for (size_t n : {0, 1, 2, 63, 64, 65, 66, 128, 129, 300}) {
    for (const Key first : {Key{0}, Key{1} << 63, kMaxKey - 299}) {
      const std::vector<Key> keys = RunOf(first, n);
      EXPECT_EQ(FirstNotAbove(keys), n);
      EXPECT_TRUE(AreConsecutive(keys));
      EXPECT_TRUE(AreConsecutiveIfIncreasing(keys));
    }
  }
}

TEST(KeyOrderTest, FindsTheFirstKeyThatIsNotAboveTheOneBefore) {
  for (size_t n : {2, 3, 64, 65, 66, 129, 200}) {
    for (size_t at = 1; at < n; ++at) {
      std::vector<Key> keys = RunOf(1000, n);
      keys[at] = keys[at - 1];
      if (at + 1 < n) keys[n - 1] = 0;  // A later one does not matter.
      EXPECT_EQ(FirstNotAbove(keys), at) << "of " << n;
      keys[at] = 7;
      EXPECT_EQ(FirstNotAbove(keys), at) << "of " << n;
      // Not as signed numbers.
      keys = RunOf(kMaxKey - n, n);
      keys[at] = 1;
      EXPECT_EQ(FirstNotAbove(keys), at) << "of " << n;
    }
  }
}

// With the ends of a run: what stands between them decides.
TEST(KeyOrderTest, AListThatLooksLikeARunAtItsEndsMayBeNone) {
  for (size_t n : {3, 64, 65, 66, 200}) {
    for (size_t at = 1; at + 1 < n; ++at) {
      std::vector<Key> keys = RunOf(1000, n);
      keys[at] += 1;
      EXPECT_FALSE(AreConsecutive(keys)) << at << " of " << n;
    }
  }
}

TEST(KeyOrderTest, AGapShowsAtTheEnds) {
  std::vector<Key> keys = RunOf(5, 100);
  keys.back() += 1;
  EXPECT_FALSE(AreConsecutive(keys));
  EXPECT_FALSE(AreConsecutiveIfIncreasing(keys));
  EXPECT_FALSE(AreConsecutive({3, 2}));
  EXPECT_FALSE(AreConsecutive({3, 3}));
}

}  // namespace
}  // namespace seraph
