#include "worker/client/table_client.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;

// Two servers, one dense table of 100 keys in two partitions.
class TableClientTest : public ::testing::Test {
 protected:
  TableClientTest() {
    TableSpec table{
        .name = "t", .kind = TableKind::kDense, .keys = 100, .partitions = 2};
    const Partitioning cut(table);
    std::vector<PartitionPlacement> placements;
    for (uint32_t p = 0; p < 2; ++p) {
      PartitionPlacement one{
          .partition = p, .range = cut.PartitionRange(p), .epoch = 3};
      one.primary.name = p == 0 ? "a" : "b";
      placements.push_back(one);
    }
    router_ = *TableRouter::Make({table}, placements);
    client_ = std::make_unique<TableClient>(
        TableClientOptions{
            .job = "j", .generation = 4, .rank = 1, .attempt = 2},
        &*router_);
  }

  // A pull of keys 1 and 99: one message to each server.
  std::vector<TableClient::Outgoing> StartPull() {
    static const std::vector<Key> kKeys = {1, 99};
    Step step;
    step.pull = ClockPull{.clock = {0, 5}, .keys = {kKeys}};
    std::vector<TableClient::Outgoing> outgoing;
    EXPECT_THAT(client_->Start(step, &outgoing), IsOk());
    EXPECT_EQ(outgoing.size(), 2);
    return outgoing;
  }

  static v1::ExchangeReply PullReply(v1::PartCode code, float value) {
    v1::ExchangeReply reply;
    reply.mutable_pull()->add_results()->set_code(code);
    if (code == v1::PART_OK) {
      reply.mutable_pull()->set_values(&value, sizeof(value));
    }
    return reply;
  }

  std::optional<FinishedStep> Reply(uint64_t message,
                                    absl::StatusOr<v1::ExchangeReply> reply) {
    again_.clear();
    return client_->OnReply(message, std::move(reply), &again_);
  }

  std::optional<TableRouter> router_;
  std::unique_ptr<TableClient> client_;
  std::vector<TableClient::Outgoing> again_;
};

TEST_F(TableClientTest, AStepFinishesWithItsLastReplyInAnyOrder) {
  const auto out = StartPull();
  EXPECT_EQ(out[0].request->pull().header().job().generation(), 4);
  EXPECT_EQ(out[0].request->pull().header().rank().attempt(), 2);
  EXPECT_EQ(out[0].request->pull().parts(0).epoch(), 3);
  EXPECT_FALSE(Reply(out[1].message, PullReply(v1::PART_OK, 99.0f)));
  const auto finished = Reply(out[0].message, PullReply(v1::PART_OK, 1.0f));
  ASSERT_TRUE(finished.has_value());
  EXPECT_THAT(finished->status, IsOk());
  EXPECT_THAT(finished->rows[0], ElementsAre(1.0f, 99.0f));
}

TEST_F(TableClientTest, ALostMessageIsSentAgainAsItWas) {
  const auto out = StartPull();
  EXPECT_FALSE(Reply(out[0].message, absl::UnavailableError("broke")));
  ASSERT_EQ(again_.size(), 1);
  EXPECT_EQ(again_[0].request, out[0].request);
  EXPECT_EQ(again_[0].message, out[0].message);
  EXPECT_GT(again_[0].delay, absl::ZeroDuration());
}

TEST_F(TableClientTest, TheServersRetryDelayIsKept) {
  const auto out = StartPull();
  v1::ExchangeReply reply = PullReply(v1::PART_RETRY_AFTER, 0);
  reply.mutable_pull()->mutable_results(0)->set_retry_after_ms(7000);
  EXPECT_FALSE(Reply(out[0].message, reply));
  ASSERT_EQ(again_.size(), 1);
  EXPECT_GE(again_[0].delay, absl::Seconds(7));
}

TEST_F(TableClientTest, ARefusalEndsTheStepWithItsReason) {
  for (const auto& [code, expected] :
       {std::pair{v1::PART_INVALID, absl::StatusCode::kInvalidArgument},
        std::pair{v1::PART_STALE_ATTEMPT, absl::StatusCode::kAborted},
        std::pair{v1::PART_FAILED, absl::StatusCode::kInternal},
        std::pair{v1::PART_NOT_HERE, absl::StatusCode::kFailedPrecondition}}) {
    const auto out = StartPull();
    EXPECT_FALSE(Reply(out[0].message, PullReply(code, 0)));
    EXPECT_TRUE(again_.empty());
    const auto finished = Reply(out[1].message, PullReply(v1::PART_OK, 1));
    ASSERT_TRUE(finished.has_value());
    EXPECT_THAT(finished->status, StatusIs(expected));
  }
}

TEST_F(TableClientTest, AnAnswerOfTheWrongSizeIsAnError) {
  const auto out = StartPull();
  v1::ExchangeReply reply = PullReply(v1::PART_OK, 1);
  reply.mutable_pull()->mutable_values()->append("x");
  Reply(out[0].message, reply);
  const auto finished = Reply(out[1].message, PullReply(v1::PART_OK, 1));
  ASSERT_TRUE(finished.has_value());
  EXPECT_THAT(finished->status, StatusIs(absl::StatusCode::kInternal));
}

TEST_F(TableClientTest, ALateReplyToAnAnsweredMessageIsIgnored) {
  const auto out = StartPull();
  Reply(out[0].message, PullReply(v1::PART_OK, 1));
  EXPECT_FALSE(Reply(out[0].message, PullReply(v1::PART_OK, 2)));
  const auto finished = Reply(out[1].message, PullReply(v1::PART_OK, 99));
  ASSERT_TRUE(finished.has_value());
  EXPECT_THAT(finished->rows[0], ElementsAre(1.0f, 99.0f));
}

TEST_F(TableClientTest, AGapThatNothingExplainsIsAnErrorNotALoop) {
  Step step;
  step.entry = EntryPush{.clock = {0, 5}};
  std::vector<TableClient::Outgoing> out;
  ASSERT_THAT(client_->Start(step, &out), IsOk());
  ASSERT_EQ(out.size(), 2);
  v1::ExchangeReply gap;
  gap.mutable_push()->add_results()->set_code(v1::PART_EXPECTED_CLOCK);
  v1::ExchangeReply fine;
  fine.mutable_push()->add_results()->set_code(v1::PART_OK);
  EXPECT_FALSE(Reply(out[0].message, fine));
  EXPECT_FALSE(Reply(out[1].message, gap));
  EXPECT_EQ(again_.size(), 1) << "an earlier entry may just have arrived";
  const auto finished = Reply(out[1].message, gap);
  ASSERT_TRUE(finished.has_value());
  EXPECT_THAT(finished->status,
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace seraph
