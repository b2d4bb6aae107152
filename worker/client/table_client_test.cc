#include "worker/client/table_client.h"

#include "common/testing/status_matchers.h"
#include "common/wire/push_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/client/refusal.h"

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
    table_ = table;
    placements_ = placements;
    client_ = std::make_unique<TableClient>(
        TableClientOptions{.job = "j",
                           .generation = 4,
                           .rank = 1,
                           .attempt = 2,
                           .lease = absl::Seconds(5)},
        Router(1));
  }

  std::shared_ptr<const TableRouter> Router(uint64_t version) {
    return std::make_shared<const TableRouter>(
        *TableRouter::Make({table_}, placements_, version));
  }

  // Runs a call of the client: what came of it is in output_.
  template <typename Call>
  std::vector<TableClient::Outgoing> Do(Call call) {
    output_ = TableClient::Output();
    call();
    return output_.outgoing;
  }

  std::vector<TableClient::Outgoing> Start(const Step& step) {
    return Do(
        [&] { EXPECT_THAT(client_->Start(step, now_, &output_), IsOk()); });
  }

  // A pull of keys 1 and 99: one message to each server.
  std::vector<TableClient::Outgoing> StartPull() {
    static const std::vector<Key> kKeys = {1, 99};
    Step step;
    step.pull = ClockPull{.clock = {0, 5}, .keys = {kKeys}};
    const auto outgoing = Start(step);
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
    Do([&] { client_->OnReply(message, std::move(reply), now_, &output_); });
    if (output_.finished.empty()) return std::nullopt;
    EXPECT_EQ(output_.finished.size(), 1);
    return output_.finished[0];
  }

  // What is sent again once it is due.
  std::vector<TableClient::Outgoing> SentAgain() {
    now_ = std::max(now_, client_->NextTick());
    return Do([&] { client_->Tick(now_, &output_); });
  }

  std::vector<TableClient::Outgoing> Update(uint64_t version) {
    return Do([&] { client_->UpdateRouter(Router(version), now_, &output_); });
  }

  TableSpec table_;
  std::vector<PartitionPlacement> placements_;
  absl::Duration now_ = absl::Seconds(100);
  std::unique_ptr<TableClient> client_;
  TableClient::Output output_;
};

TEST_F(TableClientTest, FunctionCallsTravelWithTheEntryAndItsRepeats) {
  Step step;
  step.entry = EntryPush{.clock = {0, 5}, .examples = 1};
  step.entry->calls.resize(2);
  step.entry->calls[0].mutable_call()->set_function("scale");
  step.entry->calls[1].mutable_call()->set_function("fill");
  const auto expect_calls = [](const TableClient::Outgoing& one) {
    const v1::PushRequest& push = one.request->message.push();
    EXPECT_EQ(EmptyPartsOf(push), 1);
    ASSERT_EQ(push.calls_size(), 2);
    EXPECT_EQ(push.calls(0).call().function(), "scale");
    EXPECT_EQ(push.calls(1).call().function(), "fill");
  };
  const auto out = Start(step);
  ASSERT_EQ(out.size(), 2);
  for (const auto& one : out) expect_calls(one);
  EXPECT_FALSE(Reply(out[0].message, absl::UnavailableError("broken")));
  const auto again = SentAgain();
  ASSERT_EQ(again.size(), 1);
  expect_calls(again[0]);
  // Also when it is cut anew for another server.
  placements_[0].primary.name = "b";
  placements_[0].epoch = 4;
  const auto moved = Update(2);
  ASSERT_EQ(moved.size(), 1);
  expect_calls(moved[0]);
}

TEST_F(TableClientTest, AStepFinishesWithItsLastReplyInAnyOrder) {
  const auto out = StartPull();
  EXPECT_EQ(out[0].request->message.pull().header().job().generation(), 4);
  EXPECT_EQ(out[0].request->message.pull().header().rank().attempt(), 2);
  EXPECT_EQ(out[0].request->message.pull().parts(0).epoch(), 3);
  EXPECT_FALSE(Reply(out[1].message, PullReply(v1::PART_OK, 99.0f)));
  const auto finished = Reply(out[0].message, PullReply(v1::PART_OK, 1.0f));
  ASSERT_TRUE(finished.has_value());
  EXPECT_THAT(finished->status, IsOk());
  EXPECT_THAT(finished->rows[0], ElementsAre(1.0f, 99.0f));
}

TEST_F(TableClientTest, ALostMessageIsSentAgainAsItWas) {
  const auto out = StartPull();
  EXPECT_FALSE(Reply(out[0].message, absl::UnavailableError("broke")));
  EXPECT_TRUE(output_.outgoing.empty()) << "not at once";
  EXPECT_GT(client_->NextTick(), now_);
  const auto again = SentAgain();
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again[0].request, out[0].request);
  EXPECT_EQ(again[0].message, out[0].message);
}

TEST_F(TableClientTest, TheServersRetryDelayIsKept) {
  const auto out = StartPull();
  v1::ExchangeReply reply = PullReply(v1::PART_RETRY_AFTER, 0);
  reply.mutable_pull()->mutable_results(0)->set_retry_after_ms(7000);
  EXPECT_FALSE(Reply(out[0].message, reply));
  // The other message is out for as long as a lease.
  EXPECT_FALSE(Reply(out[1].message, PullReply(v1::PART_OK, 1)));
  EXPECT_GE(client_->NextTick(), now_ + absl::Seconds(7));
  EXPECT_EQ(SentAgain().size(), 1);
}

TEST_F(TableClientTest, ARefusalEndsTheStepAtOnceWithItsReason) {
  for (const auto& [code, expected] :
       {std::pair{v1::PART_INVALID, absl::StatusCode::kInvalidArgument},
        std::pair{v1::PART_STALE_ATTEMPT, absl::StatusCode::kAborted},
        std::pair{v1::PART_UNKNOWN_ATTEMPT,
                  absl::StatusCode::kFailedPrecondition},
        std::pair{v1::PART_FAILED, absl::StatusCode::kInternal}}) {
    const auto out = StartPull();
    const auto finished = Reply(out[0].message, PullReply(code, 0));
    ASSERT_TRUE(finished.has_value());
    EXPECT_THAT(finished->status, StatusIs(expected));
    EXPECT_EQ(IsSuperseded(finished->status), code == v1::PART_STALE_ATTEMPT);
    EXPECT_EQ(client_->NextTick(), absl::InfiniteDuration())
        << "the other message waits for nothing";
    EXPECT_FALSE(Reply(out[1].message, PullReply(v1::PART_OK, 1)));
  }
}

TEST_F(TableClientTest, AnAnswerOfTheWrongSizeIsAnError) {
  const auto out = StartPull();
  v1::ExchangeReply reply = PullReply(v1::PART_OK, 1);
  reply.mutable_pull()->mutable_values()->append("x");
  const auto finished = Reply(out[0].message, reply);
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
  const auto out = Start(step);
  ASSERT_EQ(out.size(), 2);
  v1::ExchangeReply gap;
  gap.mutable_push()->add_results()->set_code(v1::PART_EXPECTED_CLOCK);
  v1::ExchangeReply fine;
  fine.mutable_push()->add_results()->set_code(v1::PART_OK);
  EXPECT_FALSE(Reply(out[0].message, fine));
  EXPECT_FALSE(Reply(out[1].message, gap));
  EXPECT_EQ(SentAgain().size(), 1) << "an earlier entry may just have arrived";
  const auto finished = Reply(out[1].message, gap);
  ASSERT_TRUE(finished.has_value());
  EXPECT_THAT(finished->status,
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(TableClientTest, AStepOfNothingIsDoneAtOnce) {
  Step step;
  step.pull = ClockPull{.clock = {0, 5}, .keys = {{}}};
  EXPECT_TRUE(Start(step).empty());
  ASSERT_EQ(output_.finished.size(), 1);
  EXPECT_THAT(output_.finished[0].status, IsOk());
}

}  // namespace
}  // namespace seraph
