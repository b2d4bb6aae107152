#include "server/store/segment_directory.h"

#include <algorithm>
#include <map>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

TEST(SegmentDirectoryTest, TheFirstSegmentHasAllKeysBelowTheSecond) {
  SegmentDirectory directory;
  directory.Add(0, 0, 0);
  EXPECT_EQ(directory.Find(0), 0);
  EXPECT_EQ(directory.Find(kMaxKey), 0);
  directory.Add(1, 100, 1);
  directory.Add(1, 50, 2);
  EXPECT_EQ(directory.Find(49), 0);
  EXPECT_EQ(directory.Find(50), 1);
  EXPECT_EQ(directory.Find(99), 1);
  EXPECT_EQ(directory.Find(kMaxKey), 2);
  std::vector<uint32_t> segments(4);
  size_t near = 0;
  directory.Find({kMaxKey, 50, 0, 99}, &near, segments.data());
  EXPECT_THAT(segments, ElementsAre(1, 2, 0, 2));
  EXPECT_EQ(near, 2);
}

// Of any number of segments, for keys in order and in none, wherever the search
// begins.
TEST(SegmentDirectoryTest, IsWhatAMapIs) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(seed);
  SegmentDirectory directory;
  std::map<Key, uint32_t> map;
  for (uint32_t segment = 0; segment < 300; ++segment) {
    // Some lie close to each other.
    const Key bound =
        segment == 0 ? 0 : Draw(seed, {segment}) >> (segment % 3 * 20);
    const auto [place, added] = map.emplace(bound, segment);
    if (!added) continue;
    directory.Add(std::distance(map.begin(), place), bound, segment);

    for (bool in_order : {false, true}) {
      std::vector<Key> keys;
      for (uint64_t i = 0; i < 64; ++i) {
        keys.push_back(Draw(seed, {segment, i}) >> (i % 3 * 20));
      }
      keys.push_back(bound);
      if (bound > 0) keys.push_back(bound - 1);
      if (in_order) std::sort(keys.begin(), keys.end());
      std::vector<uint32_t> segments(keys.size());
      // Behind the last one, too: it may have gone.
      size_t near = ToBelow(Draw(seed, {segment, 1000}), 2 * segment + 1);
      directory.Find(keys, &near, segments.data());
      EXPECT_EQ(near,
                directory.Find(*std::max_element(keys.begin(), keys.end())));
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(segments[i], std::prev(map.upper_bound(keys[i]))->second);
        ASSERT_EQ(directory.segment(directory.Find(keys[i])), segments[i]);
      }
    }
  }
}

}  // namespace
}  // namespace seraph
