#include "server/store/key_index.h"

#include <set>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(KeyIndexTest, IsEmptyAtFirst) {
  const KeyIndex index;
  EXPECT_EQ(index.size(), 0);
  for (const Key key : {Key{0}, Key{1}, kMaxKey}) {
    EXPECT_EQ(index.Find(key), KeyIndex::kMissing);
  }
}

TEST(KeyIndexTest, HasTheKeysAtBothEnds) {
  KeyIndex index;
  index.Insert(0, 7);
  index.Insert(kMaxKey, 0);
  EXPECT_EQ(index.Find(0), 7);
  EXPECT_EQ(index.Find(kMaxKey), 0);
  EXPECT_EQ(index.Find(1), KeyIndex::kMissing);
}

TEST(KeyIndexTest, GrowsWithItsKeys) {
  // Next to each other, far from each other, and in steps of powers of two.
  for (const int kind : {0, 1, 2}) {
    SCOPED_TRACE(kind);
    KeyIndex index;
    std::vector<Key> keys;
    std::set<Key> seen;
    for (uint64_t i = 0; i < 50000; ++i) {
      const Key key = kind == 0   ? 1000000 + i
                      : kind == 1 ? Draw(5, {i})
                                  : i << 40;
      if (!seen.insert(key).second) continue;
      EXPECT_EQ(index.Find(key), KeyIndex::kMissing);
      index.Insert(key, static_cast<uint32_t>(keys.size()));
      keys.push_back(key);
      EXPECT_LE(4 * index.size() * 12, 3 * index.bytes());
    }
    EXPECT_EQ(index.size(), keys.size());
    for (size_t row = 0; row < keys.size(); ++row) {
      index.Prefetch(keys[row]);
      ASSERT_EQ(index.Find(keys[row]), row) << keys[row];
    }
    for (uint64_t i = 0; i < 1000; ++i) {
      const Key key = Draw(6, {i});
      if (!seen.contains(key)) {
        EXPECT_EQ(index.Find(key), KeyIndex::kMissing);
      }
    }
  }
}

}  // namespace
}  // namespace seraph
