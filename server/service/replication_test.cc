// Three servers over real connections: what they keep when one of them dies,
// and who they listen to.
#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "common/cluster/node_identity.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "common/wire/table_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TestServer;

constexpr uint32_t kRanks = 2;
constexpr uint64_t kTerm = 5;

class ReplicationTest : public ::testing::Test {
 protected:
  // Servers 1, 2, 3 have incarnations from first_ + 1 on. They talk over local
  // sockets, whose names no other test may have.
  ReplicationTest() {
    for (int i = 1; i <= 3; ++i) Start(i);
  }

  void Start(int number) {
    servers_[number] = std::make_unique<TestServer>(testing::TestServerOptions{
        .incarnation = first_ + number, .local = true});
    nodes_[number] = servers_[number]->node();
  }
  void Kill(int number) { servers_.erase(number); }

  static v1::JobTables Tables(const std::string& mode) {
    v1::JobTables tables;
    tables.set_ranks(kRanks);
    tables.mutable_sync()->set_mode(mode);
    tables.mutable_sync()->set_combine("sum");
    tables.mutable_sync()->set_staleness(100'000);
    tables.set_steps_per_epoch(10);
    tables.set_epochs(1);
    tables.set_lease_ms(2000);
    TableSpec table{.name = "t", .partitions = 1};
    table.optimizer.kind = OptimizerKind::kSum;
    ToProto(table, tables.add_tables());
    return tables;
  }

  static void FillJob(v1::JobRef* job) {
    job->set_id("job");
    job->set_generation(1);
  }

  ReplicaOrder Order(uint64_t epoch, ReplicaDuty duty, int primary,
                     const std::vector<int>& members) const {
    ReplicaOrder order;
    order.epoch = epoch;
    order.duty = duty;
    if (primary != 0) order.primary = nodes_.at(primary);
    for (int member : members) order.members.push_back(nodes_.at(member));
    return order;
  }

  absl::Status Assign(int server, const std::string& mode, ReplicaDuty duty,
                      int primary, const std::vector<int>& members) {
    v1::AssignPartitionsRequest request;
    FillJob(request.mutable_job());
    request.set_incarnation(first_ + server);
    request.set_term(kTerm);
    *request.mutable_tables() = Tables(mode);
    ToProto(Order(1, duty, primary, members), request.add_replicas());
    return TestServer::Do(&servers_[server]->parameters(),
                          &v1::Parameters::Stub::AssignPartitions, request)
        .status();
  }

  v1::ConfigureRequest ConfigureRequest(int server, const ReplicaOrder& order,
                                        const std::string& mode) {
    v1::ConfigureRequest request;
    FillJob(request.mutable_job());
    request.set_incarnation(first_ + server);
    request.set_term(kTerm);
    *request.mutable_tables() = Tables(mode);
    ToProto(order, request.add_replicas());
    return request;
  }

  absl::StatusOr<ReplicaState> Send(int server,
                                    const v1::ConfigureRequest& request) {
    const auto reply = TestServer::Do(&servers_[server]->replicas(),
                                      &v1::Replicas::Stub::Configure, request);
    if (!reply.ok()) return reply.status();
    return FromProto(reply->replicas(0));
  }

  absl::StatusOr<ReplicaState> Configure(int server, const ReplicaOrder& order,
                                         const std::string& mode = "ssp") {
    return Send(server, ConfigureRequest(server, order, mode));
  }

  static void FillHeader(v1::RequestHeader* header, uint32_t rank) {
    FillJob(header->mutable_job());
    header->mutable_rank()->set_rank(rank);
    header->mutable_rank()->set_attempt(1);
  }

  absl::Status Begin(int server, uint32_t rank) {
    v1::BeginAttemptRequest request;
    FillHeader(request.mutable_header(), rank);
    return TestServer::Do(&servers_[server]->parameters(),
                          &v1::Parameters::Stub::BeginAttempt, request)
        .status();
  }

  static v1::PushRequest PushRequest(uint32_t rank, uint32_t step,
                                     uint64_t epoch) {
    v1::PushRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    request.set_examples(1);
    v1::PushPart* part = request.add_parts();
    part->set_epoch(epoch);
    part->set_key_count(1);
    const Key key = 5;
    const float one = 1;
    request.mutable_keys()->assign(reinterpret_cast<const char*>(&key), 8);
    request.mutable_values()->assign(reinterpret_cast<const char*>(&one), 4);
    return request;
  }

  absl::StatusOr<v1::PartResult> Push(int server, uint32_t rank, uint32_t step,
                                      uint64_t epoch) {
    const auto reply = TestServer::Do(&servers_[server]->parameters(),
                                      &v1::Parameters::Stub::Push,
                                      PushRequest(rank, step, epoch));
    if (!reply.ok()) return reply.status();
    return reply->results(0);
  }

  // The value of the one key, as the server has it now.
  float Value(int server, uint64_t epoch) {
    v1::PullRequest request;
    FillJob(request.mutable_header()->mutable_job());
    v1::PullPart* part = request.add_parts();
    part->set_epoch(epoch);
    part->set_key_count(1);
    const Key key = 5;
    request.mutable_keys()->assign(reinterpret_cast<const char*>(&key), 8);
    const auto reply = TestServer::Do(&servers_[server]->parameters(),
                                      &v1::Parameters::Stub::Pull, request);
    EXPECT_THAT(reply, IsOk());
    EXPECT_EQ(reply->results(0).code(), v1::PART_OK)
        << reply->results(0).message();
    float value = -1;
    if (reply->values().size() == 4) {
      std::memcpy(&value, reply->values().data(), 4);
    }
    return value;
  }

  const uint64_t first_ = NewIncarnation() / 2;
  std::map<int, std::unique_ptr<TestServer>> servers_;
  std::map<int, Node> nodes_;
};

// A leader that is none any more, and does not know it, says so soon: the other
// partitions of its server must not wait for it.
TEST_F(ReplicationTest, AnAttemptThatCannotBeginHereIsAnsweredWithoutIt) {
  ASSERT_THAT(Assign(1, "ssp", ReplicaDuty::kLead, 1, {1, 2}), IsOk());
  v1::BeginAttemptRequest request;
  FillHeader(request.mutable_header(), 0);
  const auto none = TestServer::Do(
      &servers_[1]->parameters(), &v1::Parameters::Stub::BeginAttempt, request);
  ASSERT_THAT(none, IsOk());
  EXPECT_EQ(none->partitions_size(), 0) << "server 2 confirms nothing";
  ASSERT_THAT(Assign(2, "ssp", ReplicaDuty::kFollow, 1, {1, 2}), IsOk());
  int begun = 0;
  while (begun == 0) {
    const auto reply =
        TestServer::Do(&servers_[1]->parameters(),
                       &v1::Parameters::Stub::BeginAttempt, request);
    ASSERT_THAT(reply, IsOk());
    begun = reply->partitions_size();
  }
}

// A rank pushes on and on, to whom it is told to, while the primary is killed
// and another one takes over by the scheduler's two epochs: each push is in
// the result once.
TEST_F(ReplicationTest, APrimaryDiesAndNothingAcknowledgedIsLost) {
  constexpr uint32_t kSteps = 200;
  ASSERT_THAT(Assign(1, "ssp", ReplicaDuty::kLead, 1, {1, 2, 3}), IsOk());
  ASSERT_THAT(Assign(2, "ssp", ReplicaDuty::kFollow, 1, {1, 2, 3}), IsOk());
  ASSERT_THAT(Assign(3, "ssp", ReplicaDuty::kFollow, 1, {1, 2, 3}), IsOk());
  ASSERT_THAT(Begin(1, 0), IsOk());

  // A client of its own, since the one of a server dies with that.
  std::map<int, std::unique_ptr<v1::Parameters::Stub>> stubs;
  for (const auto& [number, node] : nodes_) {
    stubs[number] = v1::Parameters::NewStub(MakeChannel(node.address, {}));
  }
  Mutex mu;
  int primary = 1;
  uint64_t epoch = 1;
  std::atomic<uint32_t> acknowledged = 0;
  std::thread rank([&] {
    while (acknowledged < kSteps) {
      v1::Parameters::Stub* stub;
      uint64_t routed;
      {
        MutexLock lock(&mu);
        stub = stubs[primary].get();
        routed = epoch;
      }
      const auto reply = TestServer::Do(stub, &v1::Parameters::Stub::Push,
                                        PushRequest(0, acknowledged, routed),
                                        absl::Seconds(1));
      if (reply.ok() && reply->results(0).code() == v1::PART_OK) {
        ++acknowledged;
      }
    }
  });
  while (acknowledged < kSteps / 2) std::this_thread::yield();

  Kill(1);
  const uint32_t promised = acknowledged;
  std::map<int, ReplicaState> states;
  for (int server : {2, 3}) {
    const auto state =
        Configure(server, Order(2, ReplicaDuty::kCollect, 0, {2, 3}));
    EXPECT_THAT(state, IsOk());
    if (!state.ok()) continue;
    EXPECT_EQ(state->duty, ReplicaDuty::kCollect);
    // The attempt's record is in front of the entries.
    EXPECT_GE(state->last.number, promised + 1);
    states[server] = *state;
  }
  const int chosen = states[3].last > states[2].last ? 3 : 2;
  // While nobody leads nothing is taken, and clients learn which epoch it is.
  const auto refused = Push(chosen, 0, promised, 1);
  EXPECT_THAT(refused, IsOk());
  EXPECT_NE(refused->code(), v1::PART_OK);
  EXPECT_EQ(refused->epoch(), 2);
  const int other = chosen == 2 ? 3 : 2;
  EXPECT_THAT(Configure(other, Order(3, ReplicaDuty::kFollow, chosen, {2, 3})),
              IsOk());
  const auto lead =
      Configure(chosen, Order(3, ReplicaDuty::kLead, chosen, {2, 3}));
  EXPECT_THAT(lead, IsOk());
  EXPECT_EQ(lead->duty, ReplicaDuty::kLead);
  {
    MutexLock lock(&mu);
    primary = chosen;
    epoch = 3;
  }
  rank.join();
  EXPECT_EQ(Value(chosen, 3), kSteps) << "each push once";
}

size_t SegmentsMapped() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += absl::StrContains(line, "memfd:seraph");
  }
  return count;
}

// Large entries lie in memory that the servers share, and what the backup has
// of them is what was pushed.
TEST_F(ReplicationTest, LargeEntriesGoThroughSharedMemory) {
  constexpr size_t kKeys = 20'000;
  constexpr uint32_t kSteps = 20;
  ASSERT_THAT(Assign(1, "ssp", ReplicaDuty::kLead, 1, {1, 2}), IsOk());
  ASSERT_THAT(Assign(2, "ssp", ReplicaDuty::kFollow, 1, {1, 2}), IsOk());
  ASSERT_THAT(Begin(1, 0), IsOk());
  std::vector<Key> keys(kKeys);
  for (Key i = 0; i < kKeys; ++i) keys[i] = 5 + i * i;
  for (uint32_t step = 0; step < kSteps; ++step) {
    const std::vector<float> values(kKeys, static_cast<float>(step));
    v1::PushRequest request = PushRequest(0, step, 1);
    request.mutable_parts(0)->set_key_count(kKeys);
    request.mutable_keys()->assign(reinterpret_cast<const char*>(keys.data()),
                                   kKeys * sizeof(Key));
    request.mutable_values()->assign(
        reinterpret_cast<const char*>(values.data()), kKeys * sizeof(float));
    const auto reply = TestServer::Do(&servers_[1]->parameters(),
                                      &v1::Parameters::Stub::Push, request);
    ASSERT_THAT(reply, IsOk());
    ASSERT_EQ(reply->results(0).code(), v1::PART_OK);
  }
  // Both ends of both directions are in this process.
  EXPECT_GE(SegmentsMapped(), 4);

  Kill(1);
  ASSERT_THAT(Configure(2, Order(2, ReplicaDuty::kCollect, 0, {2})), IsOk());
  ASSERT_THAT(Configure(2, Order(3, ReplicaDuty::kLead, 2, {2})), IsOk());
  v1::PullRequest pull;
  FillJob(pull.mutable_header()->mutable_job());
  pull.add_parts()->set_epoch(3);
  pull.mutable_parts(0)->set_key_count(kKeys);
  pull.mutable_keys()->assign(reinterpret_cast<const char*>(keys.data()),
                              kKeys * sizeof(Key));
  const auto pulled = TestServer::Do(&servers_[2]->parameters(),
                                     &v1::Parameters::Stub::Pull, pull);
  ASSERT_THAT(pulled, IsOk());
  std::vector<float> values(kKeys);
  ASSERT_EQ(pulled->values().size(), kKeys * sizeof(float));
  std::memcpy(values.data(), pulled->values().data(), kKeys * sizeof(float));
  for (const float value : values) {
    ASSERT_EQ(value, kSteps * (kSteps - 1) / 2);
  }
}

// With another member dead a push waits, repeats of it too, until the
// scheduler leaves that one out.
TEST_F(ReplicationTest, NothingIsAcknowledgedThatAMemberLacks) {
  ASSERT_THAT(Assign(1, "ssp", ReplicaDuty::kLead, 1, {1, 2}), IsOk());
  ASSERT_THAT(Assign(2, "ssp", ReplicaDuty::kFollow, 1, {1, 2}), IsOk());
  ASSERT_THAT(Begin(1, 0), IsOk());
  ASSERT_EQ(Push(1, 0, 0, 1)->code(), v1::PART_OK);
  Kill(2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        TestServer::Do(&servers_[1]->parameters(), &v1::Parameters::Stub::Push,
                       PushRequest(0, 1, 1), absl::Milliseconds(300)),
        StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  ASSERT_THAT(Configure(1, Order(2, ReplicaDuty::kLead, 1, {1})), IsOk());
  const auto pushed = Push(1, 0, 1, 2);
  ASSERT_THAT(pushed, IsOk());
  EXPECT_EQ(pushed->code(), v1::PART_OK) << pushed->message();
  EXPECT_EQ(Value(1, 2), 2);
}

TEST_F(ReplicationTest, ARecruitTakesOverFromAServerThatLeaves) {
  constexpr uint32_t kSteps = 20;
  ASSERT_THAT(Assign(1, "bsp", ReplicaDuty::kLead, 1, {1}), IsOk());
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_THAT(Begin(1, rank), IsOk());
  }
  for (uint32_t step = 0; step < kSteps; ++step) {
    ASSERT_EQ(Push(1, 0, step, 1)->code(), v1::PART_OK);
    ASSERT_EQ(Push(1, 1, step, 1)->code(), v1::PART_OK);
  }
  // Server 2 knew nothing of the job.
  ASSERT_THAT(Configure(1, Order(2, ReplicaDuty::kLead, 1, {1}), "bsp"),
              IsOk());
  const auto joined = Configure(2, Order(2, ReplicaDuty::kJoin, 1, {1}), "bsp");
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(joined->duty, ReplicaDuty::kJoin);
  v1::RecruitRequest recruit;
  FillJob(recruit.mutable_job());
  recruit.set_incarnation(first_ + 1);
  recruit.set_term(kTerm);
  recruit.set_epoch(2);
  ToProto(nodes_[2], recruit.mutable_recruit());
  const auto recruited = TestServer::Do(&servers_[1]->replicas(),
                                        &v1::Replicas::Stub::Recruit, recruit);
  ASSERT_THAT(recruited, IsOk());
  EXPECT_EQ(recruited->recruit(), first_ + 2);
  EXPECT_EQ(recruited->epoch(), 2);

  // A member, then the primary of a planned move.
  ASSERT_THAT(Configure(1, Order(3, ReplicaDuty::kLead, 1, {1, 2}), "bsp"),
              IsOk());
  ASSERT_THAT(Configure(2, Order(3, ReplicaDuty::kFollow, 1, {1, 2}), "bsp"),
              IsOk());
  v1::HandOverRequest hand_over;
  FillJob(hand_over.mutable_job());
  hand_over.set_incarnation(first_ + 1);
  hand_over.set_term(kTerm);
  hand_over.set_epoch(3);
  const auto handed = TestServer::Do(&servers_[1]->replicas(),
                                     &v1::Replicas::Stub::HandOver, hand_over);
  ASSERT_THAT(handed, IsOk());
  const auto one = Configure(1, Order(4, ReplicaDuty::kCollect, 0, {1, 2}));
  const auto two = Configure(2, Order(4, ReplicaDuty::kCollect, 0, {1, 2}));
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(two, IsOk());
  EXPECT_EQ(one->last, FromProto(handed->last()));
  EXPECT_EQ(two->last, FromProto(handed->last()));
  ASSERT_THAT(Configure(2, Order(5, ReplicaDuty::kLead, 2, {2}), "bsp"),
              IsOk());
  const auto dropped =
      Configure(1, Order(5, ReplicaDuty::kDrop, 2, {2}), "bsp");
  ASSERT_THAT(dropped, IsOk());
  EXPECT_EQ(dropped->duty, ReplicaDuty::kDrop);
  EXPECT_TRUE(servers_[1]->jobs().Held().empty());

  ASSERT_EQ(Push(2, 0, kSteps, 5)->code(), v1::PART_OK);
  ASSERT_EQ(Push(2, 1, kSteps, 5)->code(), v1::PART_OK);
  EXPECT_EQ(Value(2, 5), 2 * (kSteps + 1));
  // The server that left says where it is not, and since when.
  const auto late = Push(1, 0, kSteps, 3);
  ASSERT_THAT(late, IsOk());
  EXPECT_EQ(late->code(), v1::PART_NOT_HERE);
  EXPECT_EQ(late->epoch(), 5);
}

TEST_F(ReplicationTest, OrdersOfOtherTimesAreRefused) {
  ASSERT_THAT(Assign(1, "ssp", ReplicaDuty::kLead, 1, {1}), IsOk());
  v1::ConfigureRequest request =
      ConfigureRequest(1, Order(2, ReplicaDuty::kCollect, 0, {1}), "ssp");
  request.set_term(kTerm - 1);
  EXPECT_EQ(ReasonOf(Send(1, request).status()), "OLD_TERM");
  request.set_term(kTerm + 1);
  request.set_incarnation(first_ + 0);
  EXPECT_EQ(ReasonOf(Send(1, request).status()), "OTHER_INCARNATION");
  request.set_incarnation(first_ + 1);
  request.set_term(kTerm);
  request.mutable_job()->set_generation(0);
  EXPECT_EQ(ReasonOf(Send(1, request).status()), "GENERATION_STALE");

  v1::DropJobRequest drop;
  FillJob(drop.mutable_job());
  drop.set_incarnation(first_ + 0);
  drop.set_term(kTerm);
  const auto drop_it = [&] {
    return TestServer::Do(&servers_[1]->parameters(),
                          &v1::Parameters::Stub::DropJob, drop)
        .status();
  };
  EXPECT_EQ(ReasonOf(drop_it()), "OTHER_INCARNATION");
  drop.set_incarnation(first_ + 1);
  drop.set_term(kTerm - 1);
  EXPECT_EQ(ReasonOf(drop_it()), "OLD_TERM");
  EXPECT_EQ(servers_[1]->jobs().Held().size(), 1) << "nothing was done";
  drop.set_term(kTerm);
  EXPECT_THAT(drop_it(), IsOk());
  EXPECT_TRUE(servers_[1]->jobs().Held().empty());

  // An order of an epoch that is over is answered with how it stands.
  ASSERT_THAT(Assign(2, "ssp", ReplicaDuty::kLead, 2, {2}), IsOk());
  ASSERT_THAT(Configure(2, Order(7, ReplicaDuty::kLead, 2, {2})), IsOk());
  const auto late = Configure(2, Order(6, ReplicaDuty::kDrop, 1, {1}));
  ASSERT_THAT(late, IsOk());
  EXPECT_EQ(late->epoch, 7);
  EXPECT_EQ(late->duty, ReplicaDuty::kLead);
}

TEST_F(ReplicationTest, OnlyAPrimaryExportsAndReadsTheLedger) {
  ASSERT_THAT(Assign(1, "ssp", ReplicaDuty::kLead, 1, {1, 2}), IsOk());
  ASSERT_THAT(Assign(2, "ssp", ReplicaDuty::kFollow, 1, {1, 2}), IsOk());
  v1::ReadLedgerRequest ledger;
  FillJob(ledger.mutable_job());
  const auto read = [&](int server) {
    return TestServer::Do(&servers_[server]->parameters(),
                          &v1::Parameters::Stub::ReadLedger, ledger)
        .status();
  };
  EXPECT_THAT(read(1), IsOk());
  EXPECT_THAT(read(2), StatusIs(absl::StatusCode::kNotFound));
  ledger.set_incarnation(first_ + 0);
  EXPECT_EQ(ReasonOf(read(1)), "OTHER_INCARNATION");

  v1::ExportPartitionRequest request;
  FillJob(request.mutable_job());
  request.set_incarnation(first_ + 2);
  grpc::ClientContext context;
  SetDeadline(&context, absl::Seconds(20));
  const auto reader =
      servers_[2]->parameters().ExportPartition(&context, request);
  v1::RowChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::NOT_FOUND);

  v1::DescribeServerReply described = *TestServer::Do(
      &servers_[2]->parameters(), &v1::Parameters::Stub::DescribeServer,
      v1::DescribeServerRequest());
  ASSERT_EQ(described.partitions_size(), 1);
  EXPECT_EQ(described.partitions(0).duty(), v1::REPLICA_DUTY_FOLLOW);
}

}  // namespace
}  // namespace seraph
