// The life of a job through the scheduler's core, without mishaps.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

ResolvedFile FileOf(const std::string& path, uint64_t size) {
  return {.file = {.data = {path, size, 1}, .labels = {}}, .splittable = true};
}

JobSpec WithValidation(JobSpec spec) {
  spec.data.validation = {"validation"};
  return spec;
}

TEST(JobLifeTest, GoesThroughItsPhasesAndFreesEverything) {
  FakeCluster cluster;
  cluster.AddServers(2);
  cluster.AddWorkers(2);
  JobSpec spec = SmallJob();
  spec.ranks = 3;
  const std::string job = cluster.Submit(spec);

  ASSERT_EQ(cluster.PhaseOf(job), JobPhase::kTraining);
  EXPECT_EQ(cluster.View(job).records_read, 100u);
  EXPECT_THAT(cluster.tables["s1"], ElementsAre(job));
  EXPECT_THAT(cluster.tables["s2"], ElementsAre(job));
  EXPECT_THAT(cluster.activity["w1"], ElementsAre(job));
  EXPECT_THAT(cluster.activity["w2"], ElementsAre(job));

  cluster.TrainEpoch(job, 0);
  EXPECT_THAT(cluster.View(job).epochs, SizeIs(1));
  cluster.TrainEpoch(job, 1);
  cluster.EndRanks(job);

  const JobView view = cluster.View(job);
  EXPECT_EQ(view.state, JobState::kSucceeded) << view.error;
  EXPECT_EQ(view.phase, JobPhase::kEnded);
  EXPECT_EQ(view.model_path, "/jobs/out/model");
  EXPECT_EQ(view.model_digest, "sha256:abc");
  EXPECT_THAT(view.epochs, SizeIs(2));
  EXPECT_THAT(cluster.models, ElementsAre(job));
  EXPECT_TRUE(cluster.HoldsNothing(job));
  EXPECT_THAT(cluster.logs[job], Contains(HasSubstr("succeeded")));
}

TEST(JobLifeTest, WhatIsOddAboutItsFilesIsAWarningOnce) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  cluster.files.warnings = {"init.model: g2 is damaged"};
  cluster.FailNext<ScanPiece>(absl::UnavailableError("busy"));
  const std::string job = cluster.Submit(SmallJob());
  cluster.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kTraining)
      << cluster.View(job).error << cluster.View(job).waiting_for;
  EXPECT_THAT(cluster.View(job).warnings,
              ::testing::ElementsAre("init.model: g2 is damaged"));
}

TEST(JobLifeTest, EveryOrderToANodeNamesItsIncarnation) {
  FakeCluster cluster;
  cluster.AddServers(2);
  cluster.AddWorkers(2);
  const std::string job = cluster.Submit(SmallJob());
  cluster.TrainEpoch(job, 0);
  cluster.TrainEpoch(job, 1);
  cluster.EndRanks(job);
  int to_nodes = 0;
  for (const Order& order : cluster.carried_out) {
    if (!order.to.has_value()) continue;
    ++to_nodes;
    EXPECT_EQ(order.to->incarnation, cluster.node(order.to->name).incarnation);
    EXPECT_EQ(order.job, (JobRef{job, 1}));
  }
  EXPECT_GT(to_nodes, 5);
}

TEST(JobLifeTest, TheTrainMetricsAreTheLedgersSumsOverAllRanks) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  JobSpec spec = SmallJob();
  spec.ranks = 3;
  const std::string job = cluster.Submit(spec);
  cluster.EndEpochInLedger(job, 0, 0, 0.1);
  cluster.EndEpochInLedger(job, 1, 0, 0.2);
  cluster.EndEpochInLedger(job, 2, 0, 0.4);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_THAT(cluster.ShareEpoch(job, rank, 0), IsOk());
  }
  const JobView view = cluster.View(job);
  ASSERT_THAT(view.epochs, SizeIs(1));
  EXPECT_EQ(view.epochs[0].epoch, 1u);
  EXPECT_EQ(view.epochs[0].examples, 60u);
  // (10 * 0.1 + 20 * 0.2 + 30 * 0.4) / 60: no average of averages.
  EXPECT_THAT(view.epochs[0].train,
              Contains(Pair("log_loss", DoubleNear(17.0 / 60, 1e-12))));
}

TEST(JobLifeTest, ShowsHowFarTheEpochIs) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  JobSpec spec = SmallJob();
  spec.ranks = 2;
  const std::string job = cluster.Submit(spec);
  cluster.EndEpochInLedger(job, 0, 0, 0.3);
  // Rank 1 is in the middle of the epoch.
  LedgerReading& ledger = cluster.ledgers[job];
  ledger.ranks.resize(2);
  ledger.ranks[1].latest = LedgerEntry{{0, 1}, {4, 0, 0, 4 * 0.6, 4 * 0.6}};
  cluster.Pass(absl::Seconds(1));
  JobView view = cluster.View(job);
  EXPECT_EQ(view.epoch_examples, 14u);
  EXPECT_EQ(view.epoch_examples_total, 100u);
  EXPECT_THAT(view.epochs, IsEmpty());
  EXPECT_THAT(view.running,
              Contains(Pair("log_loss", DoubleNear(5.4 / 14, 1e-12))));

  ledger.ranks[1].latest = LedgerEntry{{0, 2}, {9, 0, 0, 9 * 0.6, 9 * 0.6}};
  cluster.Pass(absl::Seconds(1));
  view = cluster.View(job);
  EXPECT_EQ(view.epoch_examples, 19u);
  EXPECT_GT(view.examples_per_second, 0);
}

TEST(JobLifeTest, MergesTheValidationOverAllRanksAndDecidesOnce) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(2);
  cluster.files.validation = {FileOf("/data/validation", 500)};
  JobSpec spec = WithValidation(SmallJob());
  spec.ranks = 2;
  const std::string job = cluster.Submit(spec);
  cluster.EndEpochInLedger(job, 0, 0, 0.5);
  cluster.EndEpochInLedger(job, 1, 0, 0.5);
  ASSERT_THAT(cluster.ShareEpoch(job, 0, 0, 0.2), IsOk());
  EXPECT_THAT(cluster.epoch_answers, IsEmpty()) << "rank 1 is not there yet";
  ASSERT_THAT(cluster.ShareEpoch(job, 1, 0, 0.4), IsOk());
  ASSERT_THAT(cluster.epoch_answers, SizeIs(2));
  for (const auto& [waiter, answer] : cluster.epoch_answers) {
    EXPECT_THAT(answer.status, IsOk());
    EXPECT_FALSE(answer.stop);
  }
  const JobView view = cluster.View(job);
  ASSERT_THAT(view.epochs, SizeIs(1));
  EXPECT_THAT(view.epochs[0].validation,
              Contains(Pair("log_loss", DoubleNear(0.3, 1e-12))));
  EXPECT_THAT(view.epochs[0].validation, Contains(Pair("auc", 0.75)));
  EXPECT_THAT(cluster.spool_files, IsEmpty());
}

TEST(JobLifeTest, TheLastEpochStops) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  const std::string job = cluster.Submit(SmallJob());
  cluster.TrainEpoch(job, 0);
  cluster.TrainEpoch(job, 1);
  EXPECT_FALSE(cluster.epoch_answers[1].stop);
  EXPECT_TRUE(cluster.epoch_answers[2].stop);
}

// Without a barrier a rank may end several epochs between two looks.
TEST(JobLifeTest, WithoutABarrierNoEpochIsMissed) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  JobSpec spec = SmallJob();
  spec.ranks = 2;
  spec.train.epochs = 4;
  spec.sync.mode = SyncMode::kAsp;
  const std::string job = cluster.Submit(spec);
  ASSERT_EQ(cluster.PhaseOf(job), JobPhase::kTraining);
  EXPECT_FALSE(cluster.ShareEpoch(job, 0, 0).ok());

  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    cluster.EndEpochInLedger(job, 0, epoch, 0.1 * epoch);
  }
  cluster.EndEpochInLedger(job, 1, 0, 0.5);
  cluster.Pass(absl::Seconds(1));
  EXPECT_THAT(cluster.View(job).epochs, SizeIs(1));
  cluster.Pass(absl::Seconds(0.5));
  cluster.EndEpochInLedger(job, 0, 3, 0.3);
  for (uint32_t epoch = 1; epoch < 4; ++epoch) {
    cluster.EndEpochInLedger(job, 1, epoch, 0.5);
  }
  cluster.EndRanks(job);
  const JobView view = cluster.View(job);
  EXPECT_EQ(view.state, JobState::kSucceeded) << view.error;
  ASSERT_THAT(view.epochs, SizeIs(4));
  for (int epoch = 0; epoch < 4; ++epoch) {
    EXPECT_EQ(view.epochs[epoch].examples, 30u);
    EXPECT_GT(view.epochs[epoch].seconds, absl::ZeroDuration());
    EXPECT_THAT(
        view.epochs[epoch].train,
        Contains(Pair("log_loss", DoubleNear((epoch + 10) / 30.0, 1e-12))));
  }
}

TEST(JobLifeTest, LargeFilesAreReadInPiecesByAllWorkersAFewAtATime) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(2);
  const uint64_t size = 10 * (uint64_t{64} << 20) + 5;
  cluster.files.train = {FileOf("/data/large", size)};
  cluster.Hold<ScanPiece>();
  JobSpec spec = SmallJob();
  spec.ranks = 2;
  const std::string job = cluster.Submit(spec);
  std::map<std::string, int> per_worker;
  for (const Order& order : cluster.held()) ++per_worker[order.to->name];
  EXPECT_THAT(per_worker, ElementsAre(Pair("w1", 2), Pair("w2", 2)));
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kScanning);

  cluster.LetGo<ScanPiece>();
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kTraining);
  // 11 pieces with 100 records each, whatever the order in which they came.
  EXPECT_EQ(cluster.View(job).records_read, 1100u);
}

TEST(JobLifeTest, AStartFromAModelLoadsItBeforeTraining) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  cluster.Hold<LoadInitModel>();
  JobSpec spec = SmallJob();
  spec.init_model = "before/model";
  const std::string job = cluster.Submit(spec);
  ASSERT_EQ(cluster.PhaseOf(job), JobPhase::kLoading);
  ASSERT_EQ(cluster.HeldOf<LoadInitModel>(), 1);
  EXPECT_EQ(std::get<LoadInitModel>(cluster.held()[0].body).path,
            "/jobs/before/model");
  cluster.Handle(OrderProgressed{cluster.held()[0].id, 0.5});
  EXPECT_EQ(cluster.View(job).phase_fraction, 0.5);
  EXPECT_THAT(cluster.activity["w1"], ElementsAre(job));
  for (const Order& order : cluster.carried_out) {
    EXPECT_FALSE(std::holds_alternative<RunRanks>(order.body));
  }
  cluster.LetGo<LoadInitModel>();
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kTraining);
}

TEST(JobLifeTest, ManyJobsRunSideBySideInTheirOwnNamespaces) {
  FakeCluster cluster;
  cluster.AddServers(2);
  cluster.AddWorkers(2);
  JobSpec spec = SmallJob();
  spec.ranks = 2;
  const std::string a = cluster.Submit(spec);
  const std::string b = cluster.Submit(spec);
  EXPECT_EQ(cluster.PhaseOf(a), JobPhase::kTraining);
  EXPECT_EQ(cluster.PhaseOf(b), JobPhase::kTraining);
  EXPECT_THAT(cluster.tables["s1"], ElementsAre(a, b));
  cluster.TrainEpoch(b, 0);
  cluster.TrainEpoch(b, 1);
  cluster.EndRanks(b);
  EXPECT_EQ(cluster.StateOf(b), JobState::kSucceeded);
  EXPECT_TRUE(cluster.HoldsNothing(b));
  EXPECT_EQ(cluster.PhaseOf(a), JobPhase::kTraining);
  EXPECT_THAT(cluster.tables["s1"], ElementsAre(a));
}

TEST(JobLifeTest, OneKeyTablesOfManyJobsGoToAllServers) {
  FakeCluster cluster;
  cluster.AddServers(3);
  cluster.AddWorkers(1);
  JobSpec spec = SmallJob();
  spec.tables.partitions = 1;
  std::set<std::string> ledgers;
  for (int i = 0; i < 3; ++i) {
    const std::string job = cluster.Submit(spec);
    for (const Order& order : cluster.carried_out) {
      const auto* assign = std::get_if<AssignPartitions>(&order.body);
      if (assign != nullptr && order.job.id == job) {
        ledgers.insert(assign->plan->partitions[0].primary.name);
      }
    }
  }
  EXPECT_THAT(ledgers, SizeIs(3));
}

}  // namespace
}  // namespace seraph
