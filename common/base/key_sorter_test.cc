#include "common/base/key_sorter.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr Key kLast = std::numeric_limits<Key>::max();

// Against std::sort, of keys and places.
void ExpectSorted(KeySorter* sorter, const std::vector<Key>& keys) {
  std::vector<NumberedKey> sorted;
  std::vector<std::pair<Key, uint32_t>> expected;
  for (uint32_t i = 0; i < keys.size(); ++i) {
    sorted.push_back({keys[i], i});
    expected.emplace_back(keys[i], i);
  }
  std::sort(expected.begin(), expected.end());
  sorter->Sort(&sorted);
  ASSERT_EQ(sorted.size(), keys.size());
  std::vector<std::pair<Key, uint32_t>> found;
  for (const NumberedKey& one : sorted) found.emplace_back(one.key, one.number);
  for (size_t i = 1; i < found.size(); ++i) {
    ASSERT_LE(found[i - 1].first, found[i].first) << i;
  }
  std::sort(found.begin(), found.end());  // Equal keys: in any order.
  EXPECT_TRUE(found == expected);
}

TEST(KeySorterTest, SortsKeysOfAnyDistribution) {
  constexpr uint64_t kSeed = 20;
  KeySorter sorter;
  for (const uint64_t n : {0, 1, 2, 63, 64, 65, 1000, 30000, 1000}) {
    const auto draw = [&](uint64_t kind, uint64_t i) {
      return Draw(kSeed, {kind, n, i});
    };
    std::vector<Key> spread, small, clustered, equal, ascending, descending;
    for (uint64_t i = 0; i < n; ++i) {
      spread.push_back(draw(0, i));
      small.push_back(ToBelow(draw(1, i), 100));
      // Nearly all in one bucket.
      clustered.push_back(i == 0 ? kLast : ToBelow(draw(2, i), 1 << 20));
      equal.push_back(7);
      ascending.push_back(i * i);
      descending.push_back(kLast - i);
    }
    for (const auto* keys :
         {&spread, &small, &clustered, &equal, &ascending, &descending}) {
      ExpectSorted(&sorter, *keys);
    }
  }
}

TEST(KeySorterTest, TheWholeRangeOfKeys) {
  KeySorter sorter;
  std::vector<Key> keys;
  for (Key i = 0; i < 200; ++i) {
    keys.push_back(i);
    keys.push_back(kLast - i);
    keys.push_back(kLast / 2 + i);
  }
  ExpectSorted(&sorter, keys);
}

}  // namespace
}  // namespace seraph
