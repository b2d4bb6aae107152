#include "common/table/lazy_terms.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

// The loop that the closed form stands for, in double.
double EagerStep(double w, double eta, double decay, double shrink) {
  const double decayed = w - eta * decay * w;
  const double magnitude = std::max(0.0, std::abs(decayed) - eta * shrink);
  return decayed < 0 ? -magnitude : magnitude;
}

struct IdleRun {
  std::string name;
  double decay = 0;
  double shrink = 0;
  int steps = 1000;
  double eta = 0.1;
  double weight = 1;
  int start = 0;  // Steps of the partition before the row was written.
};

class LazyTermsTest : public ::testing::TestWithParam<IdleRun> {};

INSTANTIATE_TEST_SUITE_P(
    Runs, LazyTermsTest,
    ::testing::Values(
        IdleRun{.name = "Decay", .decay = 1e-2},
        IdleRun{.name = "Shrink", .shrink = 1e-3},
        IdleRun{.name = "Both", .decay = 1e-2, .shrink = 1e-3},
        IdleRun{.name = "BothAfterAMillionSteps",
                .decay = 1e-4,
                .shrink = 1e-6,
                .steps = 20000,
                .start = 1000000},
        IdleRun{.name = "ShrinkAfterAMillionSteps",
                .shrink = 1e-7,
                .start = 1000000},
        // The product of all steps so far would be exp(-60,000): a double ends
        // at exp(-745).
        IdleRun{.name = "BothWhereTheProductUnderflows",
                .decay = 3,
                .shrink = 0.01,
                .steps = 10,
                .start = 200000},
        IdleRun{.name = "DecayToNothing", .decay = 9, .steps = 1000},
        IdleRun{.name = "ShrinkToNothing", .shrink = 1, .steps = 1000},
        IdleRun{.name = "NearlyNoDecay",
                .decay = 1e-13,
                .shrink = 1e-6,
                .start = 100000},
        IdleRun{.name = "AlmostAllInOneStep", .decay = 9.999, .steps = 3},
        IdleRun{.name = "Huge", .decay = 1e-2, .shrink = 1, .weight = 3e38},
        IdleRun{.name = "Tiny", .decay = 1e-2, .weight = 1e-44},
        IdleRun{.name = "Zero", .decay = 1e-2, .shrink = 1e-3, .weight = 0}),
    [](const auto& info) { return info.param.name; });

TEST_P(LazyTermsTest, TheClosedFormIsTheLoop) {
  const IdleRun& run = GetParam();
  const LazyTerms terms(run.decay, run.shrink);
  // Learning rates go up and down, as schedules make them.
  const auto eta = [&run](uint64_t step) {
    return run.eta * (0.5 + 0.5 * ToUnit(Draw(7, {step})));
  };
  LazySums sums;
  for (int step = 0; step < run.start; ++step) {
    sums = terms.Advance(sums, eta(step));
  }
  std::vector<float> record(terms.record_cells() + 1);
  terms.Record(sums, record.data() + 1);  // At an odd place.
  double want = run.weight;
  double decayed = run.weight;
  for (int step = run.start; step < run.start + run.steps; ++step) {
    sums = terms.Advance(sums, eta(step));
    want = EagerStep(want, eta(step), run.decay, run.shrink);
    decayed = EagerStep(decayed, eta(step), run.decay, 0);
    const LazyShift shift = terms.Between(record.data() + 1, sums);
    // 1e-6 of what the decay alone leaves: near the threshold the result is a
    // small difference of large numbers. Below any float, nothing is asked.
    ASSERT_NEAR(shift(run.weight), want, 1e-6 * decayed + 1e-60)
        << "step " << step;
    ASSERT_EQ(shift(-run.weight), -shift(run.weight));
  }
  EXPECT_TRUE(run.weight == 0 || want != run.weight);
}

// Rows that were just written are read as they are.
TEST(LazyTermsEdgeTest, NoStepSinceTheRecordIsTheIdentity) {
  for (const LazyTerms& terms :
       {LazyTerms(), LazyTerms(0.1, 0), LazyTerms(0, 0.1), LazyTerms(1, 1)}) {
    LazySums sums;
    for (int step = 0; step < 100; ++step) sums = terms.Advance(sums, 0.03);
    float record[4] = {};
    terms.Record(sums, record);
    EXPECT_TRUE(terms.Between(record, sums).IsIdentity());
    // A step with rate 0, as the first of a long warm-up may be.
    EXPECT_TRUE(terms.Between(record, terms.Advance(sums, 0.0)).IsIdentity());
  }
}

TEST(LazyTermsEdgeTest, WithoutRatesNothingIsKeptAndNothingMoves) {
  const LazyTerms none;
  EXPECT_EQ(none.record_cells(), 0);
  EXPECT_EQ(none.Advance({}, 0.5), LazySums{});
  EXPECT_EQ(LazyTerms(0.1, 0).record_cells(), 2);
  EXPECT_EQ(LazyTerms(0, 0.1).record_cells(), 2);
  EXPECT_EQ(LazyTerms(0.1, 0.1).record_cells(), 4);
}

TEST(LazyTermsEdgeTest, SoftThresholdTakesBothSignsAndLeavesPlusZero) {
  EXPECT_TRUE(std::isnan(SoftThreshold(std::nan(""), 1)));
  EXPECT_EQ(SoftThreshold(3, 1), 2);
  EXPECT_EQ(SoftThreshold(-3, 1), -2);
  for (double w : {0.0, -0.0, 1.0, -1.0, 0.5, -0.5}) {
    EXPECT_EQ(SoftThreshold(w, 1), 0);
    EXPECT_FALSE(std::signbit(SoftThreshold(w, 1))) << w;
  }
}

// Rows of one partition come to another whose sums are others: what is pending
// for them then, and whenever both have gone on alike, is what it was.
TEST(LazyTermsRebaseTest, KeepsWhatIsPending) {
  for (const auto& [decay, shrink] :
       {std::pair{0.02, 0.0}, {0.0, 1e-3}, {0.02, 1e-3}, {3.0, 0.01}}) {
    const LazyTerms terms(decay, shrink);
    LazySums from;
    LazySums to;
    for (int i = 0; i < 50; ++i) to = terms.Advance(to, 0.07);
    float other[4];  // Of a row that came from elsewhere.
    float stayed[4];
    for (int age = 0; age < 40; ++age) {
      terms.Record(from, other);
      LazySums now = from;
      for (int i = 0; i < age; ++i) now = terms.Advance(now, 0.1);
      std::copy(other, other + 4, stayed);
      terms.Rebase(now, to, other);
      LazySums there = to;
      for (int later = 0; later < 100; ++later) {
        const LazyShift expected = terms.Between(stayed, now);
        const LazyShift moved = terms.Between(other, there);
        if (later == 0) {
          EXPECT_EQ(moved.IsIdentity(), age == 0);
        }
        for (const double w : {1.0, -0.3, 1e-3, 0.0}) {
          EXPECT_NEAR(moved(w), expected(w), 1e-11 * std::abs(w) + 1e-13)
              << decay << " " << shrink << " " << age << " " << later;
        }
        now = terms.Advance(now, 0.1);
        there = terms.Advance(there, 0.1);
      }
      from = terms.Advance(from, 0.03);
    }
  }
}

TEST(LazyTermsRebaseTest, EqualSumsMoveNoBit) {
  const LazyTerms terms(0.02, 1e-3);
  float cells[4];
  terms.Record({-0.1, 0.7}, cells);
  std::vector<float> before(cells, cells + 4);
  terms.Rebase({-3.3, 0.9}, {-3.3, 0.9}, cells);
  EXPECT_EQ(std::memcmp(before.data(), cells, sizeof(cells)), 0);
}

TEST(LazyTermsRebaseTest, ARowThatDecayedToNothingStaysNothing) {
  const LazyTerms terms(0.5, 1e-3);
  const LazySums now{-5000.0, 2e-3};
  const LazySums to{-10.0, 1e-3};
  float cells[4];
  terms.Record(LazySums{}, cells);
  ASSERT_EQ(terms.Between(cells, now)(1e30), 0.0);
  terms.Rebase(now, to, cells);
  EXPECT_EQ(terms.Between(cells, to)(1e30), 0.0);
  EXPECT_EQ(terms.Between(cells, terms.Advance(to, 0.1))(1e30), 0.0);
}

}  // namespace
}  // namespace seraph
