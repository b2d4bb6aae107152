#include "worker/train/rank_machine.h"

#include <cmath>
#include <limits>

#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeClock;
using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

// `records` records of one feature each, all of label 1.
class FakeStream final : public BatchStream {
 public:
  explicit FakeStream(uint64_t records) : records_(records) {}

  absl::Status Open(uint32_t epoch, uint64_t record) override {
    opened_.push_back({epoch, record});
    next_ = record;
    return absl::OkStatus();
  }
  absl::Status Next(size_t n, Batch* batch) override {
    batch->Clear();
    for (; batch->size() < n && next_ < records_; ++next_) {
      batch->labels.push_back(1);
      batch->keys.push_back(next_ % 7);
      batch->values.push_back(1.0f);
      batch->row_starts.push_back(batch->keys.size());
    }
    return absl::OkStatus();
  }

  std::vector<std::pair<uint32_t, uint64_t>> opened_;

 private:
  const uint64_t records_;
  uint64_t next_ = 0;
};

class RankMachineTest : public ::testing::Test {
 protected:
  RankMachineTest() {
    ModelSpec spec;
    spec.kind = ModelKind::kLogisticRegression;
    model_ = MakeModel(spec);
  }

  void Make(RankOptions options, uint64_t records = 10,
            std::optional<uint64_t> validation = std::nullopt) {
    train_ = std::make_unique<FakeStream>(records);
    if (validation.has_value()) {
      validation_ = std::make_unique<FakeStream>(*validation);
    }
    machine_ = std::make_unique<RankMachine>(options, model_.get(),
                                             train_.get(), validation_.get());
  }

  void Begin(Clock clock = {}, std::vector<v1::LedgerRecord> ledger = {}) {
    actions_ = RankActions();
    machine_->Begin({.clock = clock,
                     .furthest = std::max(clock, furthest_),
                     .ledger = std::move(ledger)},
                    &actions_);
    Remember();
  }

  // Answers a step: its rows, if it pulls, are `value`.
  void Finish(uint64_t id, float value = 0.0f,
              absl::Status status = absl::OkStatus()) {
    FinishedStep finished{.status = status};
    for (size_t keys : pulled_.at(id)) {
      finished.rows.emplace_back(keys, value);
    }
    pulled_.erase(id);
    actions_ = RankActions();
    machine_->OnStep(id, std::move(finished), &actions_);
    Remember();
  }

  void Decide(bool stop) {
    actions_ = RankActions();
    machine_->OnDecision(stop, &actions_);
    Remember();
  }

  // Answers every step, the oldest first, until the machine asks for more than
  // steps. Returns the entries that were sent.
  std::vector<EntryPush> RunOn(float value = 0.0f) {
    std::vector<EntryPush> entries;
    while (!pulled_.empty() && !actions_.ended && !actions_.share) {
      Finish(pulled_.begin()->first, value);
      for (const auto& start : actions_.steps) {
        if (start.step.entry) entries.push_back(*start.step.entry);
      }
    }
    return entries;
  }

  void Remember() {
    for (const auto& start : actions_.steps) {
      auto& sizes = pulled_[start.id];
      if (!start.step.pull) continue;
      for (const auto& keys : start.step.pull->keys) {
        sizes.push_back(keys.size());
      }
    }
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<FakeStream> train_, validation_;
  std::unique_ptr<RankMachine> machine_;
  RankActions actions_;
  Clock furthest_;  // Of the next Begin.
  // Steps that are out: the numbers of keys, by table, of their pulls.
  std::map<uint64_t, std::vector<size_t>> pulled_;
};

TEST_F(RankMachineTest, SendsAnEntryForEveryBatchThenTheEpochsEnd) {
  Make({.epochs = 2, .batch_size = 4}, /*records=*/10);
  Begin();
  const std::vector<EntryPush> entries = RunOn();
  ASSERT_TRUE(actions_.ended.has_value());
  EXPECT_THAT(*actions_.ended, IsOk());
  ASSERT_EQ(entries.size(), 8);
  const std::vector<uint64_t> examples = {4, 4, 2, 0};
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(entries[i].clock, (Clock{i / 4, i % 4}));
    EXPECT_EQ(entries[i].examples, examples[i % 4]);
    EXPECT_EQ(entries[i].ends_epoch, i % 4 == 3);
    EXPECT_EQ(entries[i].ledger.position().record(),
              std::min<uint32_t>(10, (i % 4 + 1) * 4));
  }
}

TEST_F(RankMachineTest, KeysOfTheNextBatchTravelWithTheEntry) {
  Make({.epochs = 1, .batch_size = 4}, 10);
  Begin();
  ASSERT_EQ(actions_.steps.size(), 1);
  EXPECT_FALSE(actions_.steps[0].step.entry.has_value());
  Finish(actions_.steps[0].id);
  ASSERT_EQ(actions_.steps.size(), 1);
  EXPECT_EQ(actions_.steps[0].step.entry->clock, (Clock{0, 0}));
  EXPECT_EQ(actions_.steps[0].step.pull->clock, (Clock{0, 1}));
}

// If the last batch's entry also ended the epoch, a partition could be two
// clocks ahead of another, and the one kept version would not be enough.
TEST_F(RankMachineTest, TheEpochsEndWaitsForAllAcknowledgements) {
  Make({.epochs = 1, .batch_size = 1, .pipeline = 2}, 2);
  Begin();
  ASSERT_EQ(pulled_.size(), 2) << "two batches, both pulled ahead";
  const uint64_t first = pulled_.begin()->first;
  const uint64_t second = pulled_.rbegin()->first;
  Finish(first);
  const uint64_t entry0 = actions_.steps.at(0).id;
  Finish(second);
  const uint64_t entry1 = actions_.steps.at(0).id;
  Finish(entry1);
  EXPECT_TRUE(actions_.steps.empty()) << "entry 0 is not acknowledged";
  Finish(entry0);
  ASSERT_EQ(actions_.steps.size(), 1);
  EXPECT_TRUE(actions_.steps[0].step.entry->ends_epoch);
}

TEST_F(RankMachineTest, WithoutAPipelineNoEntryIsComputedBeforeTheLastIsIn) {
  Make({.epochs = 1, .batch_size = 1}, 3);
  Begin();
  Finish(1);
  // Step 2 carries entry 0 and pull 1: one answer for both.
  EXPECT_EQ(pulled_.size(), 1);
}

TEST_F(RankMachineTest, ValidatesAtTheClockAfterTheEpochAndWaits) {
  Make({.epochs = 3, .batch_size = 5, .epoch_barrier = true, .needs_auc = true},
       10, /*validation=*/3);
  Begin();
  RunOn();
  ASSERT_TRUE(actions_.share.has_value());
  EXPECT_EQ(actions_.share->epoch, 0);
  EXPECT_EQ(actions_.share->validation->examples, 3);
  ASSERT_EQ(actions_.share->runs.size(), 1);
  EXPECT_EQ(actions_.share->runs[0].at(0).positives, 3);
  EXPECT_TRUE(pulled_.empty()) << "nothing of the next epoch is sent";

  Decide(false);
  EXPECT_EQ(train_->opened_.back(), (std::pair<uint32_t, uint64_t>{1, 0}));
  RunOn();
  ASSERT_TRUE(actions_.share.has_value());
  EXPECT_EQ(actions_.share->epoch, 1);
  EXPECT_EQ(actions_.share->validation->examples, 3) << "not added up";
  Decide(true);
  ASSERT_TRUE(actions_.ended.has_value());
  EXPECT_THAT(*actions_.ended, IsOk());
}

TEST_F(RankMachineTest, ValidationPullsAtTheNextEpochsFirstClock) {
  Make({.epochs = 1, .batch_size = 100, .epoch_barrier = true}, 1, 3);
  Begin();
  std::vector<Clock> pulls;
  while (!actions_.share) {
    Finish(pulled_.begin()->first);
    for (const auto& start : actions_.steps) {
      if (start.step.pull) pulls.push_back(start.step.pull->clock);
    }
  }
  ASSERT_EQ(pulls.size(), 1);
  EXPECT_EQ(pulls[0], (Clock{1, 0}));
}

// What a second attempt gets from the ledger.
TEST_F(RankMachineTest, GoesOnWhereThePartitionsStandWithTheSumsOfTheLedger) {
  Make({.epochs = 1, .batch_size = 4}, 10);
  MetricSums before;
  before.examples = 8;
  before.loss = 3.5;
  v1::LedgerRecord record;
  record.mutable_clock()->set_step(1);
  record.mutable_position()->set_record(8);
  for (double sum : before.ToArray()) record.add_sums(sum);
  Begin({0, 2}, {record});
  EXPECT_EQ(train_->opened_.back(), (std::pair<uint32_t, uint64_t>{0, 8}));
  const std::vector<EntryPush> entries = RunOn();
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].clock, (Clock{0, 2}));
  EXPECT_EQ(entries[0].examples, 2);
  const auto sums = MetricSums::FromArray(entries[1].ledger.sums());
  ASSERT_THAT(sums, IsOk());
  EXPECT_EQ(sums->examples, 10);
  EXPECT_GT(sums->loss, 3.5);
}

TEST_F(RankMachineTest, AnAttemptAtAnEpochsStartSendsItsShareAgain) {
  Make({.epochs = 2, .batch_size = 5, .epoch_barrier = true}, 10, 3);
  Begin({1, 0});
  RunOn();
  ASSERT_TRUE(actions_.share.has_value());
  EXPECT_EQ(actions_.share->epoch, 0);
  Decide(false);
  EXPECT_EQ(train_->opened_.back(), (std::pair<uint32_t, uint64_t>{1, 0}));
}

// One partition has the entry that ends epoch 1 already, another has not: the
// decision about epoch 0 was made, and others may have trained on since then.
TEST_F(RankMachineTest, AnAttemptIsPastTheDecisionWhereOnePartitionIs) {
  Make({.epochs = 2, .batch_size = 5, .epoch_barrier = true}, /*records=*/0, 3);
  furthest_ = {2, 0};
  Begin({1, 0});
  EXPECT_FALSE(actions_.share.has_value());
  ASSERT_EQ(actions_.steps.size(), 1);
  ASSERT_TRUE(actions_.steps[0].step.entry.has_value());
  EXPECT_TRUE(actions_.steps[0].step.entry->ends_epoch);
  EXPECT_EQ(actions_.steps[0].step.entry->clock, (Clock{1, 0}));
}

// The last batch's entry is in one partition only and was of fewer records than
// others: the mark of the epoch's end is the one that the first attempt sent.
TEST_F(RankMachineTest, TheMarkOfAnEpochsEndIsTheSameTheSecondTime) {
  Make({.epochs = 1, .batch_size = 4}, 10);
  Begin();
  const std::vector<EntryPush> first = RunOn();
  ASSERT_EQ(first.size(), 4);
  Make({.epochs = 1, .batch_size = 4}, 10);
  furthest_ = {1, 0};
  Begin({0, 3}, {first[3].ledger, first[2].ledger});
  ASSERT_EQ(actions_.steps.size(), 1);
  const EntryPush& again = *actions_.steps[0].step.entry;
  EXPECT_TRUE(again.ends_epoch);
  EXPECT_EQ(again.clock, first[3].clock);
  EXPECT_EQ(again.ledger.SerializeAsString(),
            first[3].ledger.SerializeAsString());
}

TEST_F(RankMachineTest, SumsThatTheLedgerLacksAreNoZeroes) {
  Make({.epochs = 1, .batch_size = 4}, 10);
  Begin({0, 2}, {});
  ASSERT_TRUE(actions_.ended.has_value());
  EXPECT_THAT(*actions_.ended, StatusIs(absl::StatusCode::kInternal));
}

TEST_F(RankMachineTest,
       TrainingTimeIsFromTheFirstPullToTheLastAcknowledgement) {
  FakeClock clock;
  Make({.epochs = 2, .batch_size = 5, .epoch_barrier = true}, 10, 3);
  machine_ = std::make_unique<RankMachine>(
      RankOptions{.epochs = 2, .batch_size = 5, .epoch_barrier = true},
      model_.get(), train_.get(), validation_.get(), &clock);
  Begin();
  clock.Advance(absl::Seconds(7));
  bool ended_epoch = false;
  while (!actions_.share.has_value()) {
    // The validation counts no more.
    if (ended_epoch) clock.Advance(absl::Seconds(100));
    Finish(pulled_.begin()->first);
    for (const auto& start : actions_.steps) {
      if (start.step.pull && start.step.pull->clock.epoch == 1) {
        ended_epoch = true;
      }
    }
  }
  EXPECT_EQ(actions_.share->train_seconds, 7);
}

TEST_F(RankMachineTest, AnAttemptBehindTheLastEpochIsDone) {
  Make({.epochs = 2, .batch_size = 5}, 10);
  Begin({2, 0});
  ASSERT_TRUE(actions_.ended.has_value());
  EXPECT_THAT(*actions_.ended, IsOk());
}

TEST_F(RankMachineTest, ANonFiniteLossEndsTheRankAndSaysWhere) {
  Make({.rank = 3, .epochs = 1, .batch_size = 4}, 10);
  Begin();
  Finish(1, std::numeric_limits<float>::infinity());
  ASSERT_TRUE(actions_.ended.has_value());
  EXPECT_THAT(*actions_.ended, StatusIs(absl::StatusCode::kOutOfRange,
                                        HasSubstr("rank 3, clock (0, 0)")));
  EXPECT_TRUE(actions_.steps.empty());
}

TEST_F(RankMachineTest, ASkippedBatchHasAnEmptyEntryAndIsCounted) {
  Make({.epochs = 1, .batch_size = 4, .skip_non_finite = true}, 10);
  Begin();
  Finish(1, std::numeric_limits<float>::infinity());
  ASSERT_EQ(actions_.steps.size(), 1);
  const EntryPush& entry = *actions_.steps[0].step.entry;
  EXPECT_EQ(entry.clock, (Clock{0, 0}));
  EXPECT_EQ(entry.examples, 0);
  EXPECT_TRUE(entry.tables.empty());
  const auto sums = MetricSums::FromArray(entry.ledger.sums());
  ASSERT_THAT(sums, IsOk());
  EXPECT_EQ(sums->skipped, 4);
  EXPECT_EQ(sums->examples, 0);
}

TEST_F(RankMachineTest, AnErrorOfTheServersEndsTheRank) {
  Make({.epochs = 1, .batch_size = 4}, 10);
  Begin();
  Finish(1, 0, absl::InternalError("the partition failed"));
  ASSERT_TRUE(actions_.ended.has_value());
  EXPECT_THAT(*actions_.ended, StatusIs(absl::StatusCode::kInternal,
                                        HasSubstr("the partition failed")));
}

TEST_F(RankMachineTest, ARankWithoutRecordsOnlyEndsItsEpochs) {
  Make({.epochs = 2, .batch_size = 4}, /*records=*/0);
  Begin();
  std::vector<EntryPush> entries;
  for (const auto& start : actions_.steps) {
    entries.push_back(*start.step.entry);
  }
  for (EntryPush& entry : RunOn()) entries.push_back(std::move(entry));
  ASSERT_EQ(entries.size(), 2);
  EXPECT_TRUE(entries[0].ends_epoch);
  EXPECT_EQ(entries[0].clock, (Clock{0, 0}));
  EXPECT_EQ(entries[1].clock, (Clock{1, 0}));
  EXPECT_THAT(*actions_.ended, IsOk());
}

TEST_F(RankMachineTest, ClipsItsOwnGradientOverAllTables) {
  Make({.epochs = 1, .batch_size = 4, .clip_norm = 0.25}, 4);
  Begin();
  Finish(1);
  double squares = 0;
  for (const TablePush& table : actions_.steps.at(0).step.entry->tables) {
    for (float value : table.values) squares += double{value} * value;
  }
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-6);
}

}  // namespace
}  // namespace seraph
