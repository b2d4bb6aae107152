#include "worker/train/local_training.h"

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "common/testing/status_matchers.h"
#include "common/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/model.h"
#include "worker/train/local_tables.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;

TableSpec Table(OptimizerKind kind) {
  TableSpec spec{.name = "t"};
  spec.optimizer.kind = kind;
  spec.optimizer.learning_rate = 0.5;
  return spec;
}

TEST(LocalTablesTest, AnEntryIsAppliedBeforeTheRowsAreRead) {
  const auto tables = LocalTables::Make({Table(OptimizerKind::kSgd)});
  ASSERT_THAT(tables, IsOk());
  const std::vector<Key> keys = {3, 5'000, kMaxKey};
  const std::vector<float> values = {1, 2, 3};
  Step step;
  step.entry.emplace().tables = {{.keys = keys, .values = values}};
  const std::vector<Key> read = {2, 3, kMaxKey};
  step.pull = ClockPull{.clock = {}, .keys = {read}};
  FinishedStep finished = (*tables)->Take(step);
  ASSERT_EQ(finished.rows.size(), 1u);
  EXPECT_THAT(finished.rows[0], ElementsAre(0, -0.5, -1.5));
}

TEST(LocalTablesTest, AdagradIsItsFormula) {
  const unsigned seed = 7;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto tables = LocalTables::Make({Table(OptimizerKind::kAdagrad)});
  ASSERT_THAT(tables, IsOk());
  const Key key = 12'345;
  float w = 0, n = 0;
  for (int i = 0; i < 100; ++i) {
    const float g = normal(random);
    const double sum = double(n) + double(g) * g;
    w = static_cast<float>(double(w) - 0.5 / (std::sqrt(sum) + 1e-8) * g);
    n = static_cast<float>(sum);
    Step step;
    step.entry.emplace().tables = {{.keys = {&key, 1}, .values = {&g, 1}}};
    step.pull = ClockPull{.clock = {}, .keys = {{&key, 1}}};
    EXPECT_FLOAT_EQ((*tables)->Take(step).rows[0][0], w) << "seed " << seed;
  }
}

TEST(LocalTablesTest, WhatItCannotDoIsRefused) {
  for (auto change :
       {+[](TableSpec* t) { t->width = 2; },
        +[](TableSpec* t) { t->optimizer.l2 = 0.1; },
        +[](TableSpec* t) { t->optimizer.l1 = 0.1; },
        +[](TableSpec* t) { t->optimizer.clip_value = 1; },
        +[](TableSpec* t) { t->optimizer.kind = OptimizerKind::kFtrl; },
        +[](TableSpec* t) { t->schedule.kind = ScheduleKind::kCosine; },
        +[](TableSpec* t) {
          t->initializer.kind = InitializerKind::kNormal;
        }}) {
    TableSpec table = Table(OptimizerKind::kSgd);
    change(&table);
    EXPECT_THAT(LocalTables::Make({table}),
                StatusIs(absl::StatusCode::kUnimplemented));
  }
}

// Records whose one feature decides the label.
class FakeStream final : public BatchStream {
 public:
  FakeStream(uint64_t records, absl::Status end)
      : records_(records), end_(end) {}

  absl::Status Open(uint32_t, uint64_t record) override {
    next_ = record;
    return absl::OkStatus();
  }
  absl::Status Next(size_t n, Batch* batch) override {
    batch->Clear();
    for (; batch->size() < n && next_ < records_; ++next_) {
      batch->labels.push_back(next_ % 2);
      batch->keys.push_back(next_ % 10);
      batch->values.push_back(1.0f);
      batch->row_starts.push_back(batch->keys.size());
    }
    return batch->empty() ? end_ : absl::OkStatus();
  }

 private:
  const uint64_t records_;
  const absl::Status end_;
  uint64_t next_ = 0;
};

class LocalTrainingTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<LocalEpoch>> Train(
      const std::vector<absl::Status>& ends) {
    ModelSpec spec;
    spec.kind = ModelKind::kLogisticRegression;
    spec.bias = BiasKind::kNone;
    const auto tables = LocalTables::Make({Table(OptimizerKind::kAdagrad)});
    std::vector<RankMachine*> ranks;
    for (uint32_t rank = 0; rank < ends.size(); ++rank) {
      models_.push_back(MakeModel(spec));
      streams_.push_back(std::make_unique<FakeStream>(200, ends[rank]));
      streams_.push_back(
          std::make_unique<FakeStream>(20 + rank, absl::OkStatus()));
      machines_.push_back(std::make_unique<RankMachine>(
          RankOptions{.rank = rank,
                      .epochs = 3,
                      .batch_size = 10,
                      .epoch_barrier = true},
          models_.back().get(), streams_.end()[-2].get(), streams_.back().get(),
          MonotonicClock::Real()));
      ranks.push_back(machines_.back().get());
    }
    return TrainOnLocalTables(ranks, tables->get());
  }

  std::vector<std::unique_ptr<Model>> models_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::vector<std::unique_ptr<RankMachine>> machines_;
};

TEST_F(LocalTrainingTest, LearnsAndTellsEachEpoch) {
  const auto epochs = Train({absl::OkStatus(), absl::OkStatus()});
  ASSERT_THAT(epochs, IsOk());
  ASSERT_EQ(epochs->size(), 3u);
  double before = std::log(2.0);  // Of a model that knows nothing.
  for (const LocalEpoch& epoch : *epochs) {
    EXPECT_EQ(epoch.validation.examples, 20 + 21);
    const double loss = epoch.validation.log_loss / epoch.validation.examples;
    EXPECT_LT(loss, before);
    before = loss;
    EXPECT_GT(epoch.train_seconds, 0);
  }
}

TEST_F(LocalTrainingTest, ARankThatFailsEndsTheOthers) {
  const auto epochs =
      Train({absl::OkStatus(), absl::DataLossError("unreadable")});
  EXPECT_THAT(epochs, StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace seraph
