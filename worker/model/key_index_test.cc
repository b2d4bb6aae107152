#include "worker/model/key_index.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void ExpectIndexOf(const std::vector<Key>& keys, KeyIndex* index) {
  std::vector<Key> distinct;
  std::vector<uint32_t> positions;
  index->Build(keys, &distinct, &positions);
  const std::set<Key> want(keys.begin(), keys.end());
  ASSERT_EQ(distinct, std::vector<Key>(want.begin(), want.end()));
  ASSERT_EQ(positions.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_LT(positions[i], distinct.size()) << i;
    ASSERT_EQ(distinct[positions[i]], keys[i]) << i;
  }
}

TEST(KeyIndexTest, FindsTheDistinctKeysAndThePlaceOfEach) {
  KeyIndex index;
  std::vector<Key> distinct;
  std::vector<uint32_t> positions;
  index.Build({1, 5, 70, 5, 6, 1, 70}, &distinct, &positions);
  EXPECT_THAT(distinct, ElementsAre(1, 5, 6, 70));
  EXPECT_THAT(positions, ElementsAre(0, 1, 3, 1, 2, 0, 3));
}

TEST(KeyIndexTest, AnEmptyBatchHasNoKeys) {
  KeyIndex index;
  std::vector<Key> distinct = {4};
  std::vector<uint32_t> positions = {2};
  index.Build({}, &distinct, &positions);
  EXPECT_THAT(distinct, IsEmpty());
  EXPECT_THAT(positions, IsEmpty());
}

struct Shape {
  std::string name;
  size_t entries;
  uint64_t below;  // Keys are drawn from [0, below) ...
  Key times;       // ... multiplied, modulo 2^64.
  bool sorted = false;
};

class KeyIndexOf : public ::testing::TestWithParam<Shape> {};

TEST_P(KeyIndexOf, EqualsASetWithMemoryFromEarlierBatches) {
  const Shape& shape = GetParam();
  KeyIndex index;
  // Larger and smaller batches by turns, so that what one leaves behind in the
  // reused memory would show in the next.
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::vector<Key> keys;
    for (uint64_t i = 0; i < shape.entries / (1 + seed % 3); ++i) {
      keys.push_back(ToBelow(Draw(seed, {i}), shape.below) * shape.times);
    }
    if (shape.sorted) {
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
    ExpectIndexOf(keys, &index);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, KeyIndexOf,
    ::testing::Values(
        Shape{"OneExample", 50, 1000, 1, true}, Shape{"Dense", 5000, 123, 1},
        Shape{"DenseAndWide", 5000, 1000000, 1},
        Shape{"FewOf64Bits", 500, 100, 0xd1342543de82ef95u},
        Shape{"ManyOf64Bits", 20000, 1u << 20, 0xd1342543de82ef95u},
        Shape{"StridesThatShareLowBits", 5000, 3000, uint64_t{1} << 50},
        Shape{"OneKey", 3000, 1, 1}),
    [](const auto& info) { return info.param.name; });

TEST(KeyIndexTest, TakesBothEndsOfTheKeySpace) {
  KeyIndex index;
  ExpectIndexOf({0, kMaxKey, 0, kMaxKey - 1, kMaxKey}, &index);
  ExpectIndexOf({kMaxKey, kMaxKey}, &index);
  ExpectIndexOf({0, 0}, &index);
}

}  // namespace
}  // namespace seraph
