#include "common/base/scramble.h"

#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(ScrambleTest, IsUndoneForEdgesAndRandomKeys) {
  for (Key key : {Key{0}, Key{1}, Key{2}, kMaxKey, kMaxKey - 1, Key{1} << 63}) {
    EXPECT_EQ(Unscramble(Scramble(key)), key);
    EXPECT_EQ(Scramble(Unscramble(key)), key);
  }
  for (uint64_t i = 0; i < 10000; ++i) {
    const Key key = Draw(1, {i});
    ASSERT_EQ(Unscramble(Scramble(key)), key) << key;
  }
}

TEST(ScrambleTest, SpreadsSmallKeysOverTheWholeRange) {
  // 4,096 consecutive keys over 16 equal ranges: 256 each on average.
  int counts[16] = {};
  for (Key key = 0; key < 4096; ++key) ++counts[Scramble(key) >> 60];
  for (int count : counts) {
    EXPECT_GT(count, 180);
    EXPECT_LT(count, 340);
  }
}

// The mapping decides where rows lie, on the wire and on disk.
TEST(ScrambleTest, NeverChanges) {
  EXPECT_EQ(Scramble(1), 0x5692161d100b05e5u);
}

}  // namespace
}  // namespace seraph
