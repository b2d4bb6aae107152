#include "worker/train/attempt_beginning.h"

#include "common/table/partitioning.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One table of three partitions; `primaries` are their servers, "" for none.
TableRouter Router(const std::vector<std::string>& primaries,
                   uint64_t version = 1) {
  TableSpec table{
      .name = "t", .kind = TableKind::kDense, .keys = 99, .partitions = 3};
  const Partitioning cut(table);
  std::vector<PartitionPlacement> placements;
  for (uint32_t p = 0; p < 3; ++p) {
    PartitionPlacement one{
        .partition = p, .range = cut.PartitionRange(p), .epoch = version};
    one.primary.name = primaries[p];
    placements.push_back(one);
  }
  return *TableRouter::Make({table}, placements, version);
}

v1::BeginAttemptReply Begun(std::vector<uint32_t> partitions, Clock least,
                            Clock furthest) {
  v1::BeginAttemptReply reply;
  for (uint32_t p : partitions) reply.add_partitions()->set_partition(p);
  reply.mutable_clock()->set_epoch(least.epoch);
  reply.mutable_clock()->set_step(least.step);
  reply.mutable_furthest()->set_epoch(furthest.epoch);
  reply.mutable_furthest()->set_step(furthest.step);
  return reply;
}

TEST(AttemptBeginningTest, IsCompleteWhenEveryPartitionHasAnswered) {
  const TableRouter router = Router({"a", "b", "a"});
  AttemptBeginning beginning(router);
  EXPECT_THAT(beginning.ServersToAsk(router), ElementsAre(0, 1));
  beginning.OnReply(router, Begun({0, 2}, {0, 6}, {0, 7}));
  EXPECT_FALSE(beginning.complete());
  EXPECT_THAT(beginning.ServersToAsk(router), ElementsAre(1));
  beginning.OnReply(router, Begun({1}, {0, 5}, {0, 5}));
  ASSERT_TRUE(beginning.complete());
  EXPECT_EQ(beginning.start().clock, (Clock{0, 5}));
  EXPECT_EQ(beginning.start().furthest, (Clock{0, 7}));
}

// The server that the old map names does not lead partition 1 any more, where
// an entry is missing: counted as begun, the rank would go on behind it.
TEST(AttemptBeginningTest, AServerThatLeadsLessThanTheMapSaysIsAskedElsewhere) {
  const TableRouter before = Router({"a", "a", "a"});
  AttemptBeginning beginning(before);
  beginning.OnReply(before, Begun({0, 2}, {0, 6}, {0, 6}));
  EXPECT_FALSE(beginning.complete());
  const TableRouter without = Router({"a", "", "a"}, 2);
  EXPECT_THAT(beginning.ServersToAsk(without), IsEmpty());
  const TableRouter after = Router({"a", "b", "a"}, 3);
  EXPECT_THAT(beginning.ServersToAsk(after), ElementsAre(1));
  beginning.OnReply(after, Begun({1}, {0, 5}, {0, 5}));
  ASSERT_TRUE(beginning.complete());
  EXPECT_EQ(beginning.start().clock, (Clock{0, 5}));
}

TEST(AttemptBeginningTest, StrangePartitionsAndRepeatsDoNotCount) {
  const TableRouter router = Router({"a", "b", "c"});
  AttemptBeginning beginning(router);
  beginning.OnReply(router, Begun({0, 3, 4}, {0, 6}, {0, 6}));
  beginning.OnReply(router, Begun({0}, {0, 6}, {0, 6}));
  EXPECT_THAT(beginning.ServersToAsk(router), ElementsAre(1, 2));
}

}  // namespace
}  // namespace seraph
