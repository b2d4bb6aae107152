// A rank that begins where others left off, and one that has no scheduler.
#include "worker/train/rank_runner.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/concurrent/notification.h"
#include "common/metrics/metric_sums.h"
#include "common/status/errors.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "common/time/clock.h"
#include "common/wire/push_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/model.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records of one feature each, spread over the key space.
class FakeStream final : public BatchStream {
 public:
  explicit FakeStream(uint64_t records) : records_(records) {}

  absl::Status Open(uint32_t epoch, uint64_t record) override {
    next_ = std::min(record, records_);
    return absl::OkStatus();
  }
  absl::Status Next(size_t n, Batch* batch) override {
    batch->Clear();
    for (; batch->size() < n && next_ < records_; ++next_) {
      batch->labels.push_back(1);
      batch->keys.push_back(next_ << 60);
      batch->values.push_back(1.0f);
      batch->row_starts.push_back(batch->keys.size());
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t records_;
  uint64_t next_ = 0;
};

// Servers that take everything and hold zeros. What happened is read when the
// rank has been joined.
struct Seen {
  std::vector<Clock> entries;  // At server 0.
  std::vector<MetricSums> sums;
  std::vector<Clock> pulls;
  std::vector<uint32_t> shares;           // Epochs.
  std::vector<size_t> entries_at_shares;  // Entries sent before each.
  std::optional<absl::Status> ended;
};

class FakePeers final : public RankPeers {
 public:
  explicit FakePeers(Seen* seen) : seen_(*seen) {}

  void Send(
      const Node& server, std::shared_ptr<const RankRequest> request,
      absl::AnyInvocable<void(absl::StatusOr<WithBulk<v1::ExchangeReply>>)>
          done) override {
    v1::ExchangeReply reply;
    const bool both = request->message.has_push_pull();
    if (both && parks_) {
      parked_.push_back(std::move(done));
      if (parked_.size() == 2) all_parked_.Notify();
      return;
    }
    if (both || request->message.has_push()) {
      const v1::PushRequest& push =
          both ? request->message.push_pull().push() : request->message.push();
      v1::PushReply* out = both ? reply.mutable_push_pull()->mutable_push()
                                : reply.mutable_push();
      for (int i = 0; i < static_cast<int>(PartsOf(push)); ++i) {
        out->add_results()->set_code(v1::PART_OK);
      }
      if (server.name == "a") {
        seen_.entries.push_back({push.clock().epoch(), push.clock().step()});
        seen_.sums.push_back(*MetricSums::FromArray(push.ledger().sums()));
      }
    }
    if (both || request->message.has_pull()) {
      const v1::PullRequest& pull =
          both ? request->message.push_pull().pull() : request->message.pull();
      v1::PullReply* out = both ? reply.mutable_push_pull()->mutable_pull()
                                : reply.mutable_pull();
      for (const v1::PullPart& part : pull.parts()) {
        out->add_results()->set_code(v1::PART_OK);
        out->mutable_values()->append(part.key_count() * sizeof(float), '\0');
      }
      seen_.pulls.push_back({pull.clock().epoch(), pull.clock().step()});
    }
    done(std::move(reply));
  }

  absl::StatusOr<v1::BeginAttemptReply> BeginAttempt(
      const Node& server) override {
    if (unreachable_ > 0) {
      --unreachable_;
      return absl::UnavailableError("not yet");
    }
    if (!begin_refusal_.ok()) return begin_refusal_;
    return begin_[server.name == "a" ? 0 : 1];
  }

  absl::StatusOr<bool> FinishEpoch(const EpochShare& share) override {
    seen_.shares.push_back(share.epoch);
    seen_.entries_at_shares.push_back(seen_.entries.size());
    if (unreachable_ > 0) {
      --unreachable_;
      return absl::UnavailableError("no scheduler");
    }
    unreachable_ = unreachable_again_;
    return false;
  }

  absl::Status ReportRank(const absl::Status& ended) override {
    if (!refusals_.empty()) {
      const absl::Status refusal = refusals_.front();
      refusals_.pop_front();
      return refusal;
    }
    if (unreachable_ > 0) {
      --unreachable_;
      return absl::UnavailableError("no scheduler");
    }
    seen_.ended = ended;
    return absl::OkStatus();
  }

  void AskSchedulerAnew() override {}
  void Cancel() override {}

  // Entries that come with a pull are not answered: their pull waits for other
  // ranks.
  bool parks_ = false;
  Notification all_parked_;  // At both servers.

  v1::BeginAttemptReply begin_[2];
  absl::Status begin_refusal_;         // Of every BeginAttempt.
  std::deque<absl::Status> refusals_;  // Of the first ReportRanks.
  int unreachable_ = 0;                // Calls that fail from now on ...
  int unreachable_again_ = 0;          // ... and after each decision.

 private:
  Seen& seen_;
  std::vector<
      absl::AnyInvocable<void(absl::StatusOr<WithBulk<v1::ExchangeReply>>)>>
      parked_;
};

class RankRunnerTest : public ::testing::Test {
 protected:
  RankRunnerTest() {
    for (const ModelTable& wanted : ModelTables(model_)) {
      TableSpec table;
      table.name = wanted.name;
      table.kind = wanted.kind;
      table.keys = wanted.keys;
      table.width = wanted.width;
      table.partitions = wanted.kind == TableKind::kSparse ? 2 : 1;
      tables_.push_back(table);
    }
    std::vector<PartitionPlacement> placements;
    for (uint32_t t = 0; t < tables_.size(); ++t) {
      const Partitioning cut(tables_[t]);
      for (uint32_t p = 0; p < cut.partitions(); ++p) {
        PartitionPlacement place{.table = t,
                                 .partition = p,
                                 .range = cut.PartitionRange(p),
                                 .epoch = 1};
        place.primary.name = std::string(1, p == 0 ? 'a' : 'b');
        place.primary.incarnation = p + 1;
        placements.push_back(place);
      }
    }
    router_ = std::make_shared<const TableRouter>(
        *TableRouter::Make(tables_, placements));
  }

  std::unique_ptr<RankRunner> MakeRunner(RankOptions rank, uint64_t records,
                                         std::unique_ptr<FakePeers> peers) {
    EXPECT_EQ(router_->servers().size(), 2);
    for (const PartitionPlacement& place : router_->placements()) {
      v1::BegunPartition* begun =
          peers->begin_[place.primary.name == "a" ? 0 : 1].add_partitions();
      begun->set_table(place.table);
      begun->set_partition(place.partition);
    }
    return std::make_unique<RankRunner>(
        RankRunnerOptions{
            .rank = rank,
            .client = {.job = "job",
                       .retry_backoff = absl::Microseconds(1),
                       .retry_backoff_max = absl::Microseconds(1)}},
        MonotonicClock::Real(), router_, std::move(peers), MakeModel(model_),
        std::make_unique<FakeStream>(records), nullptr);
  }

  // Runs the rank to its end.
  void Run(RankOptions rank, uint64_t records,
           std::unique_ptr<FakePeers> peers) {
    const auto runner = MakeRunner(rank, records, std::move(peers));
    runner->Start();
    runner->Join();
    EXPECT_FALSE(runner->running());
  }

  void RunToTheEnd(RankOptions rank, uint64_t records,
                   std::unique_ptr<FakePeers> peers) {
    Run(rank, records, std::move(peers));
    ASSERT_TRUE(seen_.ended.has_value());
    EXPECT_THAT(*seen_.ended, IsOk());
  }

  const ModelSpec model_ = {.kind = ModelKind::kLogisticRegression};
  std::vector<TableSpec> tables_;
  std::shared_ptr<const TableRouter> router_;
  Seen seen_;
};

v1::BeginAttemptReply At(uint32_t step) {
  v1::BeginAttemptReply reply;
  reply.mutable_clock()->set_step(step);
  reply.mutable_furthest()->set_step(step);
  return reply;
}

// The rank's last worker died when one server had its entry of clock 1 and the
// other had not: it runs clock 1 again, with the sums from before it, although
// the ledger stands behind it.
TEST_F(RankRunnerTest, BeginsAtTheLeastClockOfAllServers) {
  auto peers = std::make_unique<FakePeers>(&seen_);
  peers->unreachable_ = 3;
  peers->begin_[0] = At(2);
  for (uint32_t step : {1, 0}) {  // Newest first.
    MetricSums sums;
    sums.examples = 4 * (step + 1);
    v1::LedgerRecord* record = peers->begin_[0].add_ledger();
    record->mutable_clock()->set_step(step);
    record->mutable_position()->set_record(4 * (step + 1));
    for (double sum : sums.ToArray()) record->add_sums(sum);
  }
  peers->begin_[1] = At(1);
  RunToTheEnd({.batch_size = 4}, /*records=*/10, std::move(peers));
  EXPECT_EQ(seen_.pulls.front(), (Clock{0, 1}));
  EXPECT_THAT(seen_.entries,
              ElementsAre(Clock{0, 1}, Clock{0, 2}, Clock{0, 3}));
  EXPECT_EQ(seen_.sums[0].examples, 8);
  EXPECT_EQ(seen_.sums[1].examples, 10);
  EXPECT_EQ(seen_.sums[2].examples, 10);
  EXPECT_THAT(seen_.shares, IsEmpty());
}

// Without a scheduler the rank waits where the epoch has ended, and asks again:
// nothing of the next epoch is sent before the decision.
TEST_F(RankRunnerTest, WaitsForTheSchedulerAtTheEndOfAnEpoch) {
  auto peers = std::make_unique<FakePeers>(&seen_);
  peers->unreachable_again_ = 3;
  RunToTheEnd({.epochs = 2, .batch_size = 4, .epoch_barrier = true},
              /*records=*/4, std::move(peers));
  EXPECT_THAT(seen_.entries,
              ElementsAre(Clock{0, 0}, Clock{0, 1}, Clock{1, 0}, Clock{1, 1}));
  EXPECT_THAT(seen_.shares, ElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(seen_.entries_at_shares, ElementsAre(2, 4, 4, 4, 4));
}

// A scheduler that has just started may not know the job yet.
TEST_F(RankRunnerTest, OnlyADefiniteAnswerEndsAReport) {
  auto peers = std::make_unique<FakePeers>(&seen_);
  peers->refusals_ = {absl::NotFoundError("no such job"),
                      absl::UnavailableError("not the leader"),
                      absl::FailedPreconditionError("does not train"),
                      absl::InternalError("a bug")};
  RunToTheEnd({.batch_size = 4}, /*records=*/4, std::move(peers));
}

// Its worker stops. What it has pushed is to be everywhere, whatever its pulls
// wait for; the scheduler hears from the worker.
TEST_F(RankRunnerTest, WindingDownItFinishesItsEntryAndNoMore) {
  auto owned = std::make_unique<FakePeers>(&seen_);
  FakePeers* const peers = owned.get();
  peers->parks_ = true;
  const auto runner =
      MakeRunner({.batch_size = 4}, /*records=*/40, std::move(owned));
  runner->Start();
  peers->all_parked_.Wait();
  runner->WindDown();
  runner->Join();
  EXPECT_THAT(seen_.entries, ElementsAre(Clock{0, 0}));
  EXPECT_FALSE(seen_.ended.has_value());
}

// At whatever moment it comes.
TEST_F(RankRunnerTest, WindingDownAtAnyMomentEndsIt) {
  for (int i = 0; i < 200; ++i) {
    auto peers = std::make_unique<FakePeers>(&seen_);
    peers->unreachable_ = i % 3 == 0 ? 1'000'000 : 0;
    const auto runner =
        MakeRunner({.epochs = 50, .batch_size = 4, .epoch_barrier = true},
                   /*records=*/40, std::move(peers));
    runner->Start();
    for (int spin = 0; spin < i * 100; ++spin) std::this_thread::yield();
    runner->WindDown();
    runner->Join();
  }
}

TEST_F(RankRunnerTest, AFencedRankEndsWithoutAWord) {
  for (const absl::Status& refusal :
       {absl::AbortedError("attempt 3 has begun"),
        WithReason(absl::FailedPreconditionError("generation 2 is here"),
                   "GENERATION_STALE")}) {
    auto peers = std::make_unique<FakePeers>(&seen_);
    peers->begin_refusal_ = refusal;
    Run({.batch_size = 4}, /*records=*/4, std::move(peers));
    EXPECT_FALSE(seen_.ended.has_value()) << refusal;
    EXPECT_THAT(seen_.entries, IsEmpty());
  }
}

TEST_F(RankRunnerTest, AnErrorAtTheBeginningIsReported) {
  auto peers = std::make_unique<FakePeers>(&seen_);
  peers->begin_refusal_ = absl::InvalidArgumentError("rank 9 of 4");
  Run({.batch_size = 4}, /*records=*/4, std::move(peers));
  ASSERT_TRUE(seen_.ended.has_value());
  EXPECT_EQ(seen_.ended->code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace seraph
