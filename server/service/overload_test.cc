// Ten times the load that a server may hold, from many clients at once.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/concurrent/notification.h"
#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "common/wire/table_codec.h"
#include "gtest/gtest.h"
#include "server/service/request_admission.h"
#include "server/service/request_codec.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TestServer;

constexpr uint32_t kRanks = 20;
constexpr uint32_t kSteps = 12;
constexpr uint32_t kKeys = 5000;
constexpr uint64_t kPushBytes = kKeys * (sizeof(Key) + sizeof(float));
constexpr uint64_t kLimit = kRanks * kPushBytes / 10;

class OverloadTest : public ::testing::Test {
 protected:
  OverloadTest() {
    for (uint64_t incarnation : {1, 2}) {
      servers_.push_back(
          std::make_unique<TestServer>(testing::TestServerOptions{
              .incarnation = incarnation, .inflight_limit_bytes = kLimit}));
    }
    for (auto& server : servers_) {
      v1::AssignPartitionsRequest request;
      request.mutable_job()->set_id("job");
      request.mutable_job()->set_generation(1);
      request.set_incarnation(server->node().incarnation);
      v1::JobTables* tables = request.mutable_tables();
      tables->set_ranks(kRanks + 1);
      tables->mutable_sync()->set_mode("ssp");
      tables->mutable_sync()->set_staleness(1000);
      tables->mutable_sync()->set_combine("sum");
      tables->set_steps_per_epoch(10);
      tables->set_epochs(1);
      TableSpec table{.name = "t", .partitions = 1};
      table.optimizer.kind = OptimizerKind::kSum;
      ToProto(table, tables->add_tables());
      ReplicaOrder order;
      order.epoch = 1;
      order.duty =
          server == servers_[0] ? ReplicaDuty::kLead : ReplicaDuty::kFollow;
      order.primary = servers_[0]->node();
      order.members = {servers_[0]->node(), servers_[1]->node()};
      ToProto(order, request.add_replicas());
      EXPECT_THAT(
          TestServer::Do(&server->parameters(),
                         &v1::Parameters::Stub::AssignPartitions, request),
          IsOk());
    }
  }

  static void FillHeader(v1::RequestHeader* header, uint32_t rank) {
    header->mutable_job()->set_id("job");
    header->mutable_job()->set_generation(1);
    header->mutable_rank()->set_rank(rank);
    header->mutable_rank()->set_attempt(1);
  }

  void Begin(uint32_t rank) {
    v1::BeginAttemptRequest request;
    FillHeader(request.mutable_header(), rank);
    EXPECT_THAT(TestServer::Do(&servers_[0]->parameters(),
                               &v1::Parameters::Stub::BeginAttempt, request),
                IsOk());
  }

  // Repeats one push as it is told to; the number of refusals.
  int Push(uint32_t rank, uint32_t step) {
    v1::PushRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    request.set_examples(1);
    v1::PushPart* part = request.add_parts();
    part->set_epoch(1);
    part->set_key_count(kKeys);
    std::vector<Key> keys(kKeys);
    for (uint32_t i = 0; i < kKeys; ++i) keys[i] = i;
    const std::vector<float> ones(kKeys, 1);
    request.mutable_keys()->assign(reinterpret_cast<const char*>(keys.data()),
                                   kKeys * sizeof(Key));
    request.mutable_values()->assign(reinterpret_cast<const char*>(ones.data()),
                                     kKeys * sizeof(float));
    for (int refusals = 0;; ++refusals) {
      const auto reply = TestServer::Do(&servers_[0]->parameters(),
                                        &v1::Parameters::Stub::Push, request);
      EXPECT_THAT(reply, IsOk());
      if (!reply.ok()) return refusals;
      const v1::PartResult& result = reply->results(0);
      if (result.code() == v1::PART_OK) return refusals;
      EXPECT_EQ(result.code(), v1::PART_RETRY_AFTER) << result.message();
      EXPECT_GT(result.retry_after_ms(), 0);
      if (result.code() != v1::PART_RETRY_AFTER) return refusals;
      Notification never;
      never.WaitFor(absl::Milliseconds(result.retry_after_ms()));
    }
  }

  std::vector<std::unique_ptr<TestServer>> servers_;  // The first one leads.
};

TEST_F(OverloadTest, MemoryStaysWithinItsLimitAndNothingIsLost) {
  for (uint32_t rank = 0; rank <= kRanks; ++rank) Begin(rank);
  const Admission& admission = servers_[0]->jobs().admission();
  std::atomic<bool> over = false;
  uint64_t most = 0;
  uint64_t most_exempt = 0;
  std::thread watcher([&] {
    while (!over) {
      most = std::max(most, admission.held_bytes());
      most_exempt = std::max(most_exempt, admission.exempt_bytes());
      std::this_thread::yield();
    }
  });
  // The last rank stays at the first clock, so that the others' later entries
  // are none of the oldest clock.
  std::atomic<int> refusals = 0;
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      for (uint32_t step = 0; step < kSteps; ++step) {
        refusals += Push(rank, step);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  // What all wait for is never refused, whatever there is to do.
  EXPECT_EQ(Push(kRanks, 0), 0);
  over = true;
  watcher.join();

  EXPECT_GT(refusals, 0) << "the load was no load";
  EXPECT_GT(most, 0);
  EXPECT_LE(most, kLimit);
  EXPECT_LE(most_exempt, (kRanks + 1) * kPushBytes);
  EXPECT_EQ(admission.held_bytes(), 0);
  EXPECT_EQ(admission.exempt_bytes(), 0);

  v1::PullRequest request;
  FillHeader(request.mutable_header(), 0);
  request.mutable_header()->clear_rank();
  v1::PullPart* part = request.add_parts();
  part->set_epoch(1);
  part->set_encoding(v1::KEY_ENCODING_RANGE);
  part->set_key_count(kKeys);
  const auto reply = TestServer::Do(&servers_[0]->parameters(),
                                    &v1::Parameters::Stub::Pull, request);
  ASSERT_THAT(reply, IsOk());
  std::vector<float> values(kKeys);
  ASSERT_EQ(reply->values().size(), kKeys * sizeof(float));
  std::memcpy(values.data(), reply->values().data(), reply->values().size());
  for (const float value : values) ASSERT_EQ(value, kRanks * kSteps + 1);
}

// Without that bound a client that asks for the same again and again, or a job
// whose clocks stand still, would take all of the server's memory.
TEST_F(OverloadTest, APullThatAllWaitForIsTakenOnceForItsRank) {
  for (uint32_t rank = 0; rank <= kRanks; ++rank) Begin(rank);
  const auto job = servers_[0]->jobs().Find({"job", 1});
  ASSERT_THAT(job, IsOk());
  // Nullopt: it was refused.
  const auto pull = [&](uint32_t rank, uint32_t keys,
                        uint32_t step) -> std::optional<RequestHold> {
    v1::PullRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    v1::PullPart* part = request.add_parts();
    part->set_epoch(1);
    part->set_encoding(v1::KEY_ENCODING_RANGE);
    part->set_key_count(keys);
    auto parts = DecodePull(request, ByteSlices(), **job);
    EXPECT_THAT(parts, IsOk());
    RequestHold hold = AdmitPull(**job, &*parts);
    if ((*parts)[0].actor != nullptr) return hold;
    EXPECT_EQ((*parts)[0].refusal.outcome.code, PartCode::kRetryAfter);
    return std::nullopt;
  };
  const uint32_t large = kLimit / sizeof(float) - 100;
  auto within = pull(0, large, 0);
  ASSERT_TRUE(within.has_value());
  auto beyond = pull(0, large, 0);
  ASSERT_TRUE(beyond.has_value()) << "all wait for this rank";
  EXPECT_FALSE(pull(0, large, 0).has_value());
  EXPECT_FALSE(pull(1, large, 1).has_value()) << "nobody waits for that";
  EXPECT_TRUE(pull(1, large, 0).has_value());

  EXPECT_FALSE(pull(1, 1000, 1).has_value()) << "enough is beside the budget";
  beyond.reset();
  EXPECT_TRUE(pull(1, 1000, 1).has_value());
  EXPECT_TRUE(pull(0, large, 0).has_value());
  within.reset();
  EXPECT_TRUE(pull(1, large, 1).has_value());
}

}  // namespace
}  // namespace seraph
