// Pushes whose parts without keys are numbers do what spelled ones do.
#include <memory>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/function_codec.h"
#include "common/wire/push_parts.h"
#include "common/wire/spelled_parts.h"
#include "common/wire/table_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::Spelled;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TestServer;

constexpr uint64_t kIncarnation = 77;
constexpr uint32_t kPartitions = 8;
constexpr uint64_t kEpoch = uint64_t{1} << 40;

class EmptyPartsTest : public ::testing::Test {
 protected:
  // A job of two ranks, one of which pushes: `mode` says what that waits for.
  void Start(const std::string& mode) {
    for (auto& server : servers_) {
      server.reset();
      server = std::make_unique<TestServer>(
          testing::TestServerOptions{.incarnation = kIncarnation});
      v1::AssignPartitionsRequest order;
      order.mutable_job()->set_id("job");
      order.mutable_job()->set_generation(3);
      order.set_incarnation(kIncarnation);
      v1::JobTables* tables = order.mutable_tables();
      tables->set_ranks(2);
      tables->mutable_sync()->set_mode(mode);
      tables->mutable_sync()->set_combine("sum");
      tables->set_steps_per_epoch(10);
      tables->set_epochs(2);
      TableSpec table{.name = "t", .partitions = kPartitions};
      table.optimizer.kind = OptimizerKind::kSum;
      ToProto(table, tables->add_tables());
      for (uint32_t p = 0; p < kPartitions; ++p) {
        v1::ReplicaOrder* place = order.add_replicas();
        place->set_duty(v1::REPLICA_DUTY_LEAD);
        const Node self{.name = "self",
                        .address = "127.0.0.1:1",
                        .incarnation = kIncarnation};
        ToProto(self, place->mutable_primary());
        ToProto(self, place->add_members());
        place->set_partition(p);
        place->set_epoch(kEpoch + p);
      }
      ASSERT_THAT(
          TestServer::Do(&server->parameters(),
                         &v1::Parameters::Stub::AssignPartitions, order),
          IsOk());
      for (uint32_t rank = 0; rank < 2; ++rank) {
        v1::BeginAttemptRequest begin;
        FillHeader(begin.mutable_header(), rank);
        ASSERT_THAT(TestServer::Do(&server->parameters(),
                                   &v1::Parameters::Stub::BeginAttempt, begin),
                    IsOk());
      }
    }
  }

  static void FillHeader(v1::RequestHeader* header, uint32_t rank) {
    header->mutable_job()->set_id("job");
    header->mutable_job()->set_generation(3);
    header->set_incarnation(kIncarnation);
    header->mutable_rank()->set_rank(rank);
    header->mutable_rank()->set_attempt(1);
  }

  // A key in each of the partitions that `with_keys` has a bit for; the others
  // get empty parts.
  static v1::PushRequest Push(uint32_t rank, uint32_t step,
                              uint32_t with_keys) {
    TableSpec table{.name = "t", .partitions = kPartitions};
    const Partitioning cut(table);
    v1::PushRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    request.mutable_ledger()->mutable_clock()->set_step(step);
    request.mutable_ledger()->add_sums(step + 0.5);
    request.set_examples(1);
    request.set_reads_taken(true);
    for (uint32_t p = 0; p < kPartitions; ++p) {
      if ((with_keys >> p & 1) == 0) {
        AddEmptyPart({0, p, kEpoch + p}, &request);
        continue;
      }
      v1::PushPart* part = request.add_parts();
      part->set_partition(p);
      part->set_epoch(kEpoch + p);
      part->set_key_count(1);
      const Key key = cut.PartitionRange(p).first + step % 3;
      const float value = step + p;
      request.mutable_keys()->append(reinterpret_cast<const char*>(&key), 8);
      request.mutable_values()->append(reinterpret_cast<const char*>(&value),
                                       4);
    }
    return request;
  }

  absl::StatusOr<v1::PushReply> Do(int server, const v1::PushRequest& push) {
    return TestServer::Do(&servers_[server]->parameters(),
                          &v1::Parameters::Stub::Push, push);
  }

  // To one server as it is, to the other spelled: both answer alike.
  v1::PushReply DoBoth(const v1::PushRequest& push) {
    const auto compact = Do(0, push);
    const auto spelled = Do(1, Spelled(push));
    EXPECT_THAT(compact, IsOk());
    EXPECT_THAT(spelled, IsOk());
    if (!compact.ok() || !spelled.ok()) return {};
    EXPECT_EQ(spelled->taken_size(), 0) << "it was not asked for";
    EXPECT_EQ(Spelled(*compact).SerializeAsString(),
              spelled->SerializeAsString());
    return *compact;
  }

  // All that logs have made of the partitions.
  std::string StateOf(int server) {
    v1::Parameters::Stub& stub = servers_[server]->parameters();
    std::string state;
    auto described =
        TestServer::Do(&stub, &v1::Parameters::Stub::DescribeServer,
                       v1::DescribeServerRequest());
    EXPECT_THAT(described, IsOk());
    EXPECT_EQ(described->partitions_size(), kPartitions);
    for (v1::PartitionDescription& one : *described->mutable_partitions()) {
      one.clear_memory_bytes();
      state += one.DebugString();
    }
    v1::ReadLedgerRequest ledger;
    ledger.mutable_job()->set_id("job");
    ledger.mutable_job()->set_generation(3);
    const auto read =
        TestServer::Do(&stub, &v1::Parameters::Stub::ReadLedger, ledger);
    EXPECT_THAT(read, IsOk());
    state += read->DebugString();
    for (uint32_t p = 0; p < kPartitions; ++p) {
      v1::ExportPartitionRequest request;
      request.mutable_job()->set_id("job");
      request.mutable_job()->set_generation(3);
      request.set_incarnation(kIncarnation);
      request.set_partition(p);
      grpc::ClientContext context;
      const auto reader = stub.ExportPartition(&context, request);
      v1::RowChunk chunk;
      while (reader->Read(&chunk)) state += chunk.DebugString();
      EXPECT_TRUE(reader->Finish().ok());
    }
    return state;
  }

  std::unique_ptr<TestServer> servers_[2];
};

TEST_F(EmptyPartsTest, BothFormsMakeTheSameLog) {
  for (const std::string mode : {"asp", "bsp"}) {
    Start(mode);
    const uint64_t seed = 5;
    SCOPED_TRACE(::testing::Message() << mode << ", seed " << seed);
    for (uint32_t step = 0; step < 20; ++step) {
      for (uint32_t rank = 0; rank < 2; ++rank) {
        const uint32_t with_keys = Draw(seed, {step, rank}) % 4 == 0
                                       ? 0
                                       : Draw(seed, {rank, step, 1}) % 256;
        v1::PushRequest push = Push(rank, step, with_keys);
        if (step % 5 == 2) {
          // In partitions of empty parts, too.
          v1::TableCall* call = push.add_calls();
          ToProto(FunctionCall{.function = "scale", .arguments = {0.5}},
                  call->mutable_call());
        }
        const v1::PushReply reply = DoBoth(push);
        EXPECT_EQ(reply.results_size(), 0);
        EXPECT_EQ(ResultsOf(reply), kPartitions);
      }
    }
    for (uint32_t rank = 0; rank < 2; ++rank) {
      v1::PushRequest last = Push(rank, 20, 0);
      last.set_ends_epoch(true);
      EXPECT_EQ(ResultsOf(DoBoth(last)), kPartitions);
    }
    const std::string state = StateOf(0);
    EXPECT_EQ(state, StateOf(1));
    EXPECT_NE(state.find("keys: "), state.npos) << "there are rows";
  }
}

TEST_F(EmptyPartsTest, ARepeatInTheOtherFormIsTheSameEntry) {
  Start("asp");
  const v1::PushRequest push = Push(0, 0, 0b00100100);
  DoBoth(push);
  const std::string before = StateOf(0);
  const auto spelled = Do(0, Spelled(push));
  const auto compact = Do(1, push);
  ASSERT_THAT(spelled, IsOk());
  ASSERT_THAT(compact, IsOk());
  EXPECT_EQ(Spelled(*compact).SerializeAsString(),
            spelled->SerializeAsString());
  EXPECT_EQ(StateOf(0), before);
  EXPECT_EQ(StateOf(1), before);
}

TEST_F(EmptyPartsTest, MixedOutcomesAreSpelled) {
  Start("asp");
  v1::PushRequest push = Push(0, 0, 0b1);
  push.set_empty_parts(1, kEpoch - 1);  // Partition 1.
  AddEmptyPart({0, kPartitions, 1}, &push);
  AddEmptyPart({1, 0, 1}, &push);
  AddEmptyPart({~0u, ~0u, ~0ull}, &push);
  const v1::PushReply reply = DoBoth(push);
  EXPECT_EQ(reply.taken_size(), 0);
  ASSERT_EQ(reply.results_size(), kPartitions + 3);
  for (uint32_t p = 0; p < kPartitions + 3; ++p) {
    const v1::PartCode expected = p == 1            ? v1::PART_STALE_EPOCH
                                  : p < kPartitions ? v1::PART_OK
                                                    : v1::PART_NOT_HERE;
    EXPECT_EQ(reply.results(p).code(), expected) << p;
  }
  // Out of turn: each says which entry it needs.
  const v1::PushReply ahead = DoBoth(Push(0, 5, 0));
  ASSERT_EQ(ahead.results_size(), kPartitions);
  for (uint32_t p = 0; p < kPartitions; ++p) {
    EXPECT_EQ(ahead.results(p).code(), v1::PART_EXPECTED_CLOCK);
    EXPECT_EQ(ahead.results(p).expected().step(), p == 1 ? 0 : 1) << p;
  }
}

TEST_F(EmptyPartsTest, APartitionThatComesTwiceHasOneEntry) {
  Start("asp");
  v1::PushRequest push = Push(0, 0, 0b1);
  AddEmptyPart({0, 0, kEpoch}, &push);
  AddEmptyPart({0, 3, kEpoch + 3}, &push);
  EXPECT_EQ(ResultsOf(DoBoth(push)), kPartitions + 2);
  EXPECT_EQ(StateOf(0), StateOf(1));
}

TEST_F(EmptyPartsTest, ResultsAreNumbersForThoseAloneWhoReadThem) {
  Start("asp");
  v1::PushRequest push = Push(0, 0, 0b1);
  push.clear_reads_taken();
  const auto reply = Do(0, push);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->taken_size(), 0);
  EXPECT_EQ(reply->results_size(), kPartitions);
}

TEST_F(EmptyPartsTest, NumbersThatAreNoPartsAreRefusedAndChangeNothing) {
  Start("asp");
  v1::PushRequest push = Push(0, 0, 0b1);
  const std::string before = StateOf(0);
  push.add_empty_parts(0);
  EXPECT_THAT(Do(0, push), StatusIs(absl::StatusCode::kInvalidArgument));
  v1::PushPullRequest both;
  *both.mutable_push() = push;
  FillHeader(both.mutable_pull()->mutable_header(), 0);
  EXPECT_THAT(TestServer::Do(&servers_[0]->parameters(),
                             &v1::Parameters::Stub::PushPull, both),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(StateOf(0), before);
}

}  // namespace
}  // namespace seraph
