#include "worker/client/request_writer.h"

#include <string>
#include <vector>

#include "common/wire/push_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const RequestSender kSender = {.job = "a job with a name that is not short",
                               .generation = 2,
                               .rank = 3,
                               .attempt = 4,
                               .incarnation = 5};

void WriteEntry(v1::PushRequest* push) {
  push->mutable_clock()->set_step(7);
  push->set_examples(8);
  push->mutable_ledger()->add_sums(0.5);
}

RequestWriter Writer(RequestLimits limits = {}) {
  v1::Clock pull_clock;
  pull_clock.set_step(9);
  return RequestWriter(limits, kSender, WriteEntry, pull_clock);
}

void AddPart(uint32_t placement, const std::string& keys,
             RequestWriter* writer) {
  v1::PushRequest* push = writer->Push(placement, keys.size());
  push->add_parts()->set_partition(placement);
  push->mutable_keys()->append(keys);
  writer->AddValues(keys, nullptr);
}

void ExpectHead(const v1::PushRequest& push) {
  EXPECT_EQ(push.header().job().id(), kSender.job);
  EXPECT_EQ(push.header().job().generation(), 2);
  EXPECT_EQ(push.header().rank().rank(), 3);
  EXPECT_EQ(push.header().rank().attempt(), 4);
  EXPECT_EQ(push.header().incarnation(), 5);
  EXPECT_EQ(push.clock().step(), 7);
  EXPECT_EQ(push.examples(), 8);
  EXPECT_THAT(push.ledger().sums(), ElementsAre(0.5));
  EXPECT_TRUE(push.reads_taken());
}

TEST(RequestWriterTest, EmptyPartsComeLastInTheirRequest) {
  RequestWriter writer = Writer();
  writer.Expect(2, 2);
  AddPart(1, "a", &writer);
  AddPart(3, "b", &writer);
  writer.PushEmpty(0, {0, 0, 6});
  writer.PushEmpty(2, {0, 2, 6});
  // What comes nevertheless has a request of its own.
  AddPart(4, "c", &writer);
  const std::vector<CutRequest> cut = writer.Finish();
  ASSERT_THAT(cut, SizeIs(2));
  EXPECT_THAT(cut[0].pushed, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(cut[1].pushed, ElementsAre(4));
  const v1::PushRequest& push = cut[0].request.message.push();
  ExpectHead(push);
  ExpectHead(cut[1].request.message.push());
  EXPECT_EQ(push.parts_size(), 2);
  EXPECT_EQ(push.keys(), "ab");
  EXPECT_EQ(push.values(), "ab");
  EXPECT_EQ(EmptyPartAt(push, 1), (EmptyPart{0, 2, 6}));
  EXPECT_EQ(cut[1].request.message.push().keys(), "c");
}

TEST(RequestWriterTest, APushAndAPullGoTogetherUnlessThePushIsLarge) {
  for (const bool large : {false, true}) {
    RequestWriter writer = Writer({.fused_push_bytes = large ? 1u : 1000u});
    AddPart(1, "ab", &writer);
    const std::string keys(5000, 'k');
    *writer.Pull({.placement = 2, .count = 3}, 1)->mutable_keys() = keys;
    writer.Pull({.placement = 4}, 1)->add_parts()->set_partition(4);
    const std::vector<CutRequest> cut = writer.Finish();
    ASSERT_THAT(cut, SizeIs(large ? 2 : 1));
    const v1::PushRequest& push = *PushOf(cut.front().request.message);
    const v1::PullRequest& pull = *PullOf(cut.back().request.message);
    EXPECT_EQ(cut[0].request.message.has_push_pull(), !large);
    ExpectHead(push);
    EXPECT_EQ(push.keys(), "ab");
    EXPECT_EQ(pull.keys(), keys);
    EXPECT_EQ(pull.clock().step(), 9);
    EXPECT_EQ(pull.header().job().id(), kSender.job);
    EXPECT_EQ(pull.parts(0).partition(), 4);
    EXPECT_THAT(cut.front().pushed, ElementsAre(1));
    EXPECT_THAT(cut.back().pulled, SizeIs(2));
  }
}

TEST(RequestWriterTest, EveryRequestOfManyHasTheWholeHead) {
  RequestWriter writer = Writer({.message_bytes = 10});
  for (uint32_t i = 0; i < 20; ++i) AddPart(i, "four", &writer);
  const std::vector<CutRequest> cut = writer.Finish();
  ASSERT_THAT(cut, SizeIs(10));
  for (const CutRequest& one : cut) {
    ExpectHead(one.request.message.push());
    EXPECT_EQ(one.request.message.push().parts_size(), 2);
  }
}

}  // namespace
}  // namespace seraph
