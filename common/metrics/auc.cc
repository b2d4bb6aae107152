#include "common/metrics/auc.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr uint64_t kMostExamples = uint64_t{1} << 62;

bool ByScore(const ScoreCount& a, const ScoreCount& b) {
  return a.score < b.score;
}

// The runs' current elements, the least score on top.
struct Head {
  ScoreCount count;
  size_t source;

  friend bool operator<(const Head& a, const Head& b) {
    return a.count.score > b.count.score;  // std::priority_queue has the most.
  }
};

// Reads the next element of source `i` and checks that it goes on upwards.
absl::StatusOr<std::optional<ScoreCount>> Next(
    std::vector<AucRunSource>& sources, size_t i,
    std::optional<double> previous) {
  SERAPH_ASSIGN_OR_RETURN(const std::optional<ScoreCount> count, sources[i]());
  if (!count.has_value()) return count;
  if (std::isnan(count->score) ||
      (previous.has_value() && !(count->score > *previous))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "run ", i, " of scores does not increase: ", count->score, " after ",
        previous.has_value() ? absl::StrCat(*previous) : "its begin"));
  }
  return count;
}

}  // namespace

AucRunBuilder::AucRunBuilder(size_t max_scores,
                             std::function<void(AucRun)> emit)
    : max_scores_(std::max<size_t>(max_scores, 1)), emit_(std::move(emit)) {}

void AucRunBuilder::Add(double score, bool positive) {
  counts_.push_back({score, positive ? 1u : 0u, positive ? 0u : 1u});
  // The unsorted tail may be as long again as the sorted part, so that the
  // work of sorting stays O(log) for each score.
  if (counts_.size() < 2 * max_scores_) return;
  Compact();
  if (sorted_ < max_scores_) return;
  emit_(std::move(counts_));
  counts_.clear();
  sorted_ = 0;
}

void AucRunBuilder::Finish() {
  Compact();
  if (!counts_.empty()) emit_(std::move(counts_));
  counts_.clear();
  sorted_ = 0;
}

void AucRunBuilder::Compact() {
  const auto middle = counts_.begin() + sorted_;
  std::sort(middle, counts_.end(), ByScore);
  std::inplace_merge(counts_.begin(), middle, counts_.end(), ByScore);
  size_t kept = 0;
  for (const ScoreCount& count : counts_) {
    if (kept > 0 && counts_[kept - 1].score == count.score) {
      counts_[kept - 1].positives += count.positives;
      counts_[kept - 1].negatives += count.negatives;
    } else {
      counts_[kept++] = count;
    }
  }
  counts_.resize(kept);
  sorted_ = kept;
}

absl::StatusOr<AucResult> MergeAuc(std::vector<AucRunSource> sources) {
  std::priority_queue<Head> heads;
  for (size_t i = 0; i < sources.size(); ++i) {
    SERAPH_ASSIGN_OR_RETURN(const std::optional<ScoreCount> first,
                            Next(sources, i, std::nullopt));
    if (first.has_value()) heads.push({*first, i});
  }
  AucResult result;
  absl::uint128 twice_wins = 0;  // Over positives: 2 * below + equal.
  while (!heads.empty()) {
    ScoreCount here{heads.top().count.score, 0, 0};
    while (!heads.empty() && heads.top().count.score == here.score) {
      const Head head = heads.top();
      heads.pop();
      if (head.count.positives > kMostExamples ||
          head.count.negatives > kMostExamples ||
          result.positives + here.positives + head.count.positives >
              kMostExamples ||
          result.negatives + here.negatives + head.count.negatives >
              kMostExamples) {
        return absl::ResourceExhaustedError("more than 2^62 scores");
      }
      here.positives += head.count.positives;
      here.negatives += head.count.negatives;
      SERAPH_ASSIGN_OR_RETURN(const std::optional<ScoreCount> next,
                              Next(sources, head.source, head.count.score));
      if (next.has_value()) heads.push({*next, head.source});
    }
    twice_wins += absl::uint128(here.positives) *
                  (2 * absl::uint128(result.negatives) + here.negatives);
    result.positives += here.positives;
    result.negatives += here.negatives;
  }
  if (result.positives > 0 && result.negatives > 0) {
    result.auc = static_cast<double>(twice_wins) /
                 static_cast<double>(2 * absl::uint128(result.positives) *
                                     result.negatives);
  }
  return result;
}

AucRunSource SourceOf(AucRun run) {
  auto shared = std::make_shared<AucRun>(std::move(run));
  return
      [shared,
       i = size_t{0}]() mutable -> absl::StatusOr<std::optional<ScoreCount>> {
        if (i == shared->size()) return std::optional<ScoreCount>();
        return std::optional<ScoreCount>((*shared)[i++]);
      };
}

}  // namespace seraph
