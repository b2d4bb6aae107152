#include "worker/data/batch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Batch TwoRows() {
  Batch batch;
  batch.labels = {1, -1};
  batch.row_starts = {0, 2, 3};
  batch.keys = {4, 9, 2};
  batch.values = {0.5f, 1.5f, 2.5f};
  return batch;
}

TEST(BatchTest, AppendRowCopiesOneRecord) {
  const Batch from = TwoRows();
  Batch to;
  to.AppendRow(from, 1);
  to.AppendRow(from, 0);
  EXPECT_THAT(to.labels, ElementsAre(-1, 1));
  EXPECT_THAT(to.row_starts, ElementsAre(0, 1, 3));
  EXPECT_THAT(to.keys, ElementsAre(2, 4, 9));
  EXPECT_THAT(to.values, ElementsAre(2.5f, 0.5f, 1.5f));
  EXPECT_THAT(to.groups, IsEmpty());

  to.Clear();
  EXPECT_EQ(to.size(), 0);
  EXPECT_THAT(to.row_starts, ElementsAre(0));
  EXPECT_EQ(to.ByteSize(), sizeof(size_t));
}

TEST(BatchTest, RecordsWithAndWithoutGroupStandTogether) {
  Batch grouped = TwoRows();
  grouped.groups = {7, 8};
  Batch to;
  to.AppendRow(TwoRows(), 0);
  to.AppendRow(grouped, 1);
  to.AppendRow(TwoRows(), 1);
  EXPECT_THAT(to.groups, ElementsAre(0, 8, 0));
}

TEST(BatchTest, FieldsFollowTheirEntries) {
  Batch from = TwoRows();
  from.fields = {1, 2, 3};
  Batch to;
  to.AppendRow(from, 1);
  to.AppendRow(from, 0);
  EXPECT_THAT(to.fields, ElementsAre(3, 1, 2));
}

}  // namespace
}  // namespace seraph
