#include "common/metrics/auc.h"

#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

using Scored = std::pair<double, bool>;  // Score, positive?

// The definition: every pair of a positive and a negative example.
double ByAllPairs(const std::vector<Scored>& examples) {
  double wins = 0, pairs = 0;
  for (const auto& [score, positive] : examples) {
    if (!positive) continue;
    for (const auto& [other, other_positive] : examples) {
      if (other_positive) continue;
      pairs += 1;
      if (score > other) wins += 1;
      if (score == other) wins += 0.5;
    }
  }
  return wins / pairs;
}

// `distinct` different scores, so that a small one gives many ties.
std::vector<Scored> RandomExamples(uint64_t seed, size_t n, uint64_t distinct) {
  std::vector<Scored> examples;
  for (uint64_t i = 0; i < n; ++i) {
    const double score =
        static_cast<double>(ToBelow(Draw(seed, {i, 0}), distinct)) / 7 - 3;
    examples.push_back({score, ToUnit(Draw(seed, {i, 1})) < 0.3});
  }
  return examples;
}

// Deals the examples to `ranks` builders of `max_scores`, merges all runs.
absl::StatusOr<AucResult> ByRuns(const std::vector<Scored>& examples,
                                 size_t ranks, size_t max_scores,
                                 size_t* runs = nullptr) {
  std::vector<AucRunSource> sources;
  for (size_t rank = 0; rank < ranks; ++rank) {
    AucRunBuilder builder(max_scores, [&sources](AucRun run) {
      EXPECT_FALSE(run.empty());
      sources.push_back(SourceOf(std::move(run)));
    });
    for (size_t i = rank; i < examples.size(); i += ranks) {
      builder.Add(examples[i].first, examples[i].second);
    }
    builder.Finish();
  }
  if (runs != nullptr) *runs = sources.size();
  return MergeAuc(std::move(sources));
}

TEST(AucTest, CountsATieAsHalf) {
  // Pairs: (1, 0.5) won, (1, 1) tied, (0.2, 0.5) lost, (0.2, 1) lost.
  const absl::StatusOr<AucResult> result =
      ByRuns({{1.0, true}, {0.2, true}, {0.5, false}, {1.0, false}}, 1, 100);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->positives, 2);
  EXPECT_EQ(result->negatives, 2);
  EXPECT_EQ(result->auc, 1.5 / 4);
}

TEST(AucTest, EqualsTheDefinitionOverAllPairs) {
  for (uint64_t distinct : {1, 2, 5, 50, 1000000}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const std::vector<Scored> examples = RandomExamples(seed, 300, distinct);
      const absl::StatusOr<AucResult> result = ByRuns(examples, 3, 16);
      ASSERT_THAT(result, IsOk());
      // The counts are exact in both; what differs is one rounded division.
      EXPECT_NEAR(result->auc.value(), ByAllPairs(examples), 1e-15)
          << "seed " << seed << ", " << distinct << " distinct scores";
    }
  }
}

TEST(AucTest, HasTheSameBitsForEverySplit) {
  const std::vector<Scored> examples = RandomExamples(7, 10000, 3000);
  const absl::StatusOr<AucResult> whole = ByRuns(examples, 1, 1000000);
  ASSERT_THAT(whole, IsOk());
  for (size_t ranks : {1, 2, 7, 64}) {
    for (size_t max_scores : {1, 3, 100, 4096}) {
      size_t runs = 0;
      const absl::StatusOr<AucResult> split =
          ByRuns(examples, ranks, max_scores, &runs);
      ASSERT_THAT(split, IsOk());
      EXPECT_GE(runs, ranks);
      EXPECT_EQ(split->auc, whole->auc) << ranks << " ranks, " << max_scores;
      EXPECT_EQ(split->positives, whole->positives);
      EXPECT_EQ(split->negatives, whole->negatives);
    }
  }
}

TEST(AucTest, ABuilderKeepsFewScoresHoweverOftenTheyCome) {
  size_t runs = 0;
  AucRunBuilder builder(100, [&runs](AucRun) { ++runs; });
  for (int i = 0; i < 100000; ++i) builder.Add(i % 99, i % 2 == 0);
  EXPECT_EQ(runs, 0) << "99 distinct scores fit";
  for (int i = 0; i < 1000; ++i) builder.Add(1000 + i, true);
  EXPECT_GE(runs, 5) << "1000 more do not";
  builder.Finish();
  const size_t before = runs;
  builder.Finish();
  EXPECT_EQ(runs, before) << "nothing is handed out twice";
}

TEST(AucTest, BothZerosAreOneScore) {
  const absl::StatusOr<AucResult> result =
      ByRuns({{0.0, true}, {-0.0, false}}, 1, 100);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->auc, 0.5);
  const absl::StatusOr<AucResult> apart =
      ByRuns({{0.0, true}, {-0.0, false}}, 2, 100);
  ASSERT_THAT(apart, IsOk());
  EXPECT_EQ(apart->auc, 0.5);
}

TEST(AucTest, IsUndefinedWithOneClassOnlyOrNothing) {
  absl::StatusOr<AucResult> result = ByRuns({{1, true}, {2, true}}, 1, 100);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->auc, std::nullopt);
  EXPECT_EQ(result->positives, 2);
  result = MergeAuc({});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->auc, std::nullopt);
}

TEST(AucTest, CountsBeyond64BitsOfPairs) {
  const uint64_t n = uint64_t{1} << 40;  // 2^80 pairs.
  const absl::StatusOr<AucResult> result =
      MergeAuc({SourceOf({{1, 0, n}, {2, n / 4, 0}, {3, n / 4, 0}}),
                SourceOf({{0, n / 2, 0}})});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->auc, 0.5);
}

TEST(AucTest, RefusesWhatIsNoRun) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(MergeAuc({SourceOf({{1, 1, 0}, {1, 0, 1}})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run 0 of scores does not increase")));
  EXPECT_THAT(MergeAuc({SourceOf({{1, 1, 0}}), SourceOf({{nan, 0, 1}})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("run 1")));
  EXPECT_THAT(MergeAuc({SourceOf({{1, uint64_t{1} << 63, 0}})}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(AucTest, PassesOnWhyASourceCannotBeRead) {
  const AucRunSource broken =
      []() -> absl::StatusOr<std::optional<ScoreCount>> {
    return absl::UnavailableError("rank 3 is gone");
  };
  EXPECT_THAT(MergeAuc({SourceOf({{1, 1, 0}}), broken}),
              StatusIs(absl::StatusCode::kUnavailable, "rank 3 is gone"));
}

}  // namespace
}  // namespace seraph
