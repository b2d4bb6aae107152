#include "common/functions/partial_result.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Keys = std::vector<Key>;
using Floats = std::vector<float>;

TEST(CombinePartsTest, SumsGoInBlockOrderHoweverTheyAreCut) {
  // 1e16 + 1 - 1e16 depends on the order.
  const std::vector<BlockSum> blocks = {{0, 1e16}, {3, 1.0}, {4, -1e16}};
  const std::vector<PartialResult> one = {{.sums = blocks}};
  const std::vector<PartialResult> three = {
      {.sums = {blocks[0]}}, {}, {.sums = {blocks[1], blocks[2]}}};
  const double expected = (1e16 + 1.0) - 1e16;
  EXPECT_THAT(CombineParts(CombineRule::kSum, one),
              IsOkAndHolds(ElementsAre(FunctionValue(expected))));
  EXPECT_THAT(CombineParts(CombineRule::kSum, three),
              IsOkAndHolds(ElementsAre(FunctionValue(expected))));
}

TEST(CombinePartsTest, ARootIsTakenOnce) {
  const std::vector<PartialResult> parts = {{.sums = {{0, 9.0}}},
                                            {.sums = {{1, 16.0}}}};
  EXPECT_THAT(CombineParts(CombineRule::kRoot, parts),
              IsOkAndHolds(ElementsAre(FunctionValue(5.0))));
}

TEST(CombinePartsTest, CountsAdd) {
  const std::vector<PartialResult> parts = {{.count = 3}, {.count = 4}};
  EXPECT_THAT(CombineParts(CombineRule::kCount, parts),
              IsOkAndHolds(ElementsAre(FunctionValue(int64_t{7}))));
}

TEST(CombinePartsTest, RowsAreOrderedByValueThenKey) {
  const std::vector<PartialResult> parts = {
      {.count = 3, .rows = {{7, 2.0f}, {9, 0.0f}}},
      {.count = 3, .rows = {{3, 2.0f}, {8, -0.0f}}}};
  EXPECT_THAT(CombineParts(CombineRule::kLargest, parts),
              IsOkAndHolds(ElementsAre(FunctionValue(Keys{3, 7, 8}),
                                       FunctionValue(Floats{2, 2, -0.0f}))));
  EXPECT_THAT(CombineParts(CombineRule::kLeast, parts),
              IsOkAndHolds(ElementsAre(FunctionValue(Keys{8, 9, 3}),
                                       FunctionValue(Floats{0, 0, 2}))));
}

TEST(CombinePartsTest, ListsFollowEachOtherAndNothingIsNothing) {
  const std::vector<PartialResult> parts = {{.values = {"a", 1.0}},
                                            {.values = {"b"}}};
  EXPECT_THAT(CombineParts(CombineRule::kList, parts),
              IsOkAndHolds(ElementsAre(FunctionValue("a"), FunctionValue(1.0),
                                       FunctionValue("b"))));
  EXPECT_THAT(CombineParts(CombineRule::kNothing, parts),
              IsOkAndHolds(IsEmpty()));
}

TEST(CombinePartsTest, BlocksThatOverlapAreNoTable) {
  const std::vector<PartialResult> parts = {{.sums = {{1, 9.0}}},
                                            {.sums = {{1, 16.0}}}};
  EXPECT_THAT(CombineParts(CombineRule::kSum, parts),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace seraph
