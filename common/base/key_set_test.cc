#include "common/base/key_set.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

std::vector<Key> Written(Key first, size_t n) {
  std::vector<Key> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

// What a view says of itself is what the list says.
void ExpectIs(KeySpan keys, const std::vector<Key>& list) {
  ASSERT_EQ(keys.size(), list.size());
  EXPECT_EQ(keys.empty(), list.empty());
  for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(keys[i], list[i]);
  EXPECT_EQ(keys.ToVector(), list);
  std::vector<Key> buffer(list.size());
  const auto written = keys.WriteOut(buffer.data());
  EXPECT_TRUE(
      std::equal(written.begin(), written.end(), list.begin(), list.end()));
  std::vector<Key> grown;
  EXPECT_EQ(keys.WriteOut(&grown), absl::MakeConstSpan(list));
  EXPECT_TRUE(keys == KeySpan(list));
  EXPECT_TRUE(KeySpan(list) == keys);
  if (list.empty()) return;
  EXPECT_EQ(keys.front(), list.front());
  EXPECT_EQ(keys.back(), list.back());
}

TEST(KeySetTest, ARangeIsTheListOfItsKeys) {
  for (const size_t n : {0, 1, 2, 63, 64, 65, 300}) {
    for (const Key first : {Key{0}, Key{77}, kMaxKey - 299}) {
      const std::vector<Key> list = Written(first, n);
      const KeySpan range = KeySpan::Range(first, n);
      EXPECT_TRUE(range.is_range());
      EXPECT_EQ(range.bytes(), 0u);
      EXPECT_EQ(KeySpan(list).bytes(), n * sizeof(Key));
      ExpectIs(range, list);
      ExpectIs(list, list);
      ExpectIs(KeySet::Range(first, n), list);
      ExpectIs(KeySet(list), list);
      EXPECT_EQ(range.FirstNotAbove(), n);
      EXPECT_TRUE(range.AreConsecutive());
      EXPECT_TRUE(range.AreConsecutiveIfIncreasing());
      for (const size_t begin : {size_t{0}, n / 3, n}) {
        ExpectIs(range.subspan(begin), Written(first + begin, n - begin));
        const size_t some = std::min<size_t>(5, n - begin);
        ExpectIs(range.subspan(begin, 5), Written(first + begin, some));
        ExpectIs(KeySpan(list).subspan(begin, 5), Written(first + begin, some));
      }
    }
  }
}

TEST(KeySetTest, OtherKeysAreNotTheSame) {
  const KeySpan range = KeySpan::Range(5, 100);
  EXPECT_FALSE(range == KeySpan::Range(5, 99));
  EXPECT_FALSE(range == KeySpan::Range(6, 100));
  EXPECT_TRUE(KeySpan::Range(5, 0) == KeySpan::Range(6, 0));
  for (size_t at = 0; at < 100; ++at) {
    std::vector<Key> list = Written(5, 100);
    std::swap(list[at], list[(at + 1) % 100]);
    EXPECT_FALSE(range == KeySpan(list)) << at;
    EXPECT_FALSE(KeySpan(list) == range) << at;
    EXPECT_EQ(KeySpan(list).AreConsecutive(), false) << at;
    EXPECT_LT(KeySpan(list).FirstNotAbove(), 100u) << at;
  }
}

TEST(KeySetTest, FindsKeysAsInTheListOfThem) {
  const uint64_t seed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const Key first : {Key{0}, Key{50}, kMaxKey - 99}) {
    const std::vector<Key> list = Written(first, 100);
    const KeySpan range = KeySpan::Range(first, 100);
    std::vector<Key> wanted = {0, 1, 49, 50, 51, 149, 150, 151, kMaxKey};
    for (uint64_t i = 0; i < 50; ++i) {
      wanted.push_back(first + ToBelow(Draw(seed, {first, i}), 100));
    }
    for (const Key key : wanted) {
      for (const size_t from : {0, 1, 50, 99, 100}) {
        const size_t at =
            std::lower_bound(list.begin() + from, list.end(), key) -
            list.begin();
        EXPECT_EQ(range.LowerBound(from, key), at) << key << " from " << from;
        EXPECT_EQ(KeySpan(list).LowerBound(from, key), at);
      }
    }
  }
}

TEST(KeySetTest, ItsKeysAreItsOwn) {
  std::vector<Key> list = {3, 5, 8};
  KeySet keys{KeySpan(list)};
  list.assign({0, 0, 0});
  ExpectIs(keys, {3, 5, 8});
  keys = KeySet(keys.span().subspan(1));  // A view of what it replaces.
  ExpectIs(keys, {5, 8});
  keys = KeySet::Range(7, 2);
  ExpectIs(keys, {7, 8});
  keys = {1, 9};
  ExpectIs(keys, {1, 9});
}

TEST(KeySetTest, RangesOneAfterTheOtherStayOne) {
  KeySet keys;
  keys.Append(KeySpan::Range(10, 5));
  keys.Append(KeySpan());
  keys.Append(KeySpan::Range(15, 3));
  EXPECT_TRUE(keys.is_range());
  ExpectIs(keys, Written(10, 8));
  keys.Append(KeySpan::Range(19, 1));
  EXPECT_FALSE(keys.is_range());
  std::vector<Key> list = Written(10, 8);
  list.push_back(19);
  ExpectIs(keys, list);
  keys.Append({30, 40});
  list.insert(list.end(), {30, 40});
  ExpectIs(keys, list);
  // Behind the greatest key there is none.
  KeySet last = KeySet::Range(kMaxKey, 1);
  last.Append(KeySpan::Range(0, 1));
  ExpectIs(last, {kMaxKey, 0});
}

}  // namespace
}  // namespace seraph
