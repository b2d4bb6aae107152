#include "scheduler/job/training_progress.h"

#include <limits>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

LedgerEntry Entry(Clock clock, double examples) { return {clock, {examples}}; }

RankReading Rank(Clock expected, std::optional<LedgerEntry> latest,
                 std::vector<LedgerEntry> ends = {}) {
  return {expected, std::move(latest), std::move(ends)};
}

LedgerReading Reading(std::vector<RankReading> ranks) {
  LedgerReading reading;
  reading.generation = 1;
  reading.ranks = std::move(ranks);
  return reading;
}

TEST(TrainingProgressTest, AnEpochIsFinishedWhenEveryRankHasEndedIt) {
  TrainingProgress progress(2);
  ASSERT_THAT(progress.Take(
                  Reading({Rank({1, 0}, Entry({0, 3}, 30), {Entry({0, 3}, 30)}),
                           Rank({0, 2}, Entry({0, 1}, 12))}),
                  absl::Seconds(1)),
              IsOk());
  EXPECT_EQ(progress.finished(), 0u);
  EXPECT_EQ(progress.Running().examples, 42);

  ASSERT_THAT(
      progress.Take(
          Reading({Rank({1, 1}, Entry({1, 0}, 5), {Entry({0, 3}, 30)}),
                   Rank({1, 0}, Entry({0, 2}, 20), {Entry({0, 2}, 20)})}),
          absl::Seconds(2)),
      IsOk());
  ASSERT_EQ(progress.finished(), 1u);
  EXPECT_EQ(progress.EpochSums(0).examples, 50);
  EXPECT_EQ(progress.Running().examples, 5)
      << "the second rank has done nothing of epoch 1 yet";
}

TEST(TrainingProgressTest, EndsMayComeInSeveralReadingsAndAgain) {
  TrainingProgress progress(2);
  ASSERT_THAT(progress.Take(Reading({Rank({2, 0}, std::nullopt,
                                          {Entry({0, 1}, 1), Entry({1, 1}, 2)}),
                                     Rank({0, 0}, std::nullopt)}),
                            absl::Seconds(1)),
              IsOk());
  EXPECT_EQ(progress.finished(), 0u);
  ASSERT_THAT(
      progress.Take(Reading({Rank({2, 0}, std::nullopt),
                             Rank({2, 0}, std::nullopt,
                                  {Entry({0, 1}, 10), Entry({1, 1}, 20)})}),
                    absl::Seconds(2)),
      IsOk());
  ASSERT_EQ(progress.finished(), 2u);
  EXPECT_EQ(progress.EpochSums(0).examples, 11);
  EXPECT_EQ(progress.EpochSums(1).examples, 22);
  // A ledger that tells more than it was asked for.
  ASSERT_THAT(
      progress.Take(Reading({Rank({2, 0}, std::nullopt, {Entry({0, 1}, 99)}),
                             Rank({2, 0}, std::nullopt, {Entry({1, 1}, 99)})}),
                    absl::Seconds(3)),
      IsOk());
  EXPECT_EQ(progress.finished(), 2u);
  EXPECT_EQ(progress.EpochSums(0).examples, 11);
}

TEST(TrainingProgressTest, RefusesWhatIsNoReading) {
  TrainingProgress progress(2);
  EXPECT_THAT(progress.Take(Reading({}), absl::Seconds(1)), StatusIs(kInvalid));
  const LedgerEntry bad = {{0, 1}, {std::numeric_limits<double>::infinity()}};
  EXPECT_THAT(
      progress.Take(Reading({Rank({1, 0}, std::nullopt, {Entry({0, 1}, 1)}),
                             Rank({1, 0}, std::nullopt, {bad})}),
                    absl::Seconds(1)),
      StatusIs(kInvalid));
  EXPECT_THAT(progress.Take(Reading({Rank({0, 2}, bad), Rank({0, 0}, {})}),
                            absl::Seconds(1)),
              StatusIs(kInvalid));
  EXPECT_EQ(progress.finished(), 0u);
}

TEST(TrainingProgressTest, TheRateIsThatOfTheLastSeconds) {
  TrainingProgress progress(1);
  const auto take = [&](double seconds, double examples) {
    return progress.Take(Reading({Rank({0, 1}, Entry({0, 0}, examples))}),
                         absl::Seconds(seconds));
  };
  EXPECT_EQ(progress.examples_per_second(), 0);
  ASSERT_THAT(take(100, 0), IsOk());
  EXPECT_EQ(progress.examples_per_second(), 0);
  ASSERT_THAT(take(101, 50), IsOk());
  EXPECT_DOUBLE_EQ(progress.examples_per_second(), 50);
  for (int second = 102; second <= 120; ++second) {
    ASSERT_THAT(take(second, 50 + 7 * (second - 101)), IsOk());
  }
  EXPECT_DOUBLE_EQ(progress.examples_per_second(), 7);
}

}  // namespace
}  // namespace seraph
