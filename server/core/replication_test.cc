// Replication under random faults: server/core/replication_model.h.
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "server/core/replication_model.h"

namespace seraph::testing {
namespace {

constexpr uint64_t kSeeds = 150;

void RunSeeds(ModelOptions options) {
  ModelResult all;
  uint64_t first = 1, last = kSeeds;
  // A failure's seed alone, with SERAPH_TEST_SEED.
  if (const char* one = std::getenv("SERAPH_TEST_SEED"); one != nullptr) {
    first = last = std::stoull(one);
  }
  for (options.seed = first; options.seed <= last; ++options.seed) {
    const ModelResult result = RunModel(options);
    ASSERT_EQ(result.violation, "") << "seed " << options.seed;
    all.crashes += result.crashes;
    all.suspicions += result.suspicions;
    all.moves += result.moves;
    all.pauses += result.pauses;
    all.promotions += result.promotions;
    all.recruits += result.recruits;
    all.attempts += result.attempts;
    all.lost += result.lost;
    all.repeated += result.repeated;
    all.pulls += result.pulls;
    all.compared += result.compared;
  }
  if (first == last) return;
  // It was a storm.
  EXPECT_GT(all.crashes, 50);
  EXPECT_GT(all.suspicions, 50);
  EXPECT_GT(all.moves, 50);
  EXPECT_GT(all.pauses, 50);
  EXPECT_GT(all.promotions, 200);
  EXPECT_GT(all.recruits, 200);
  EXPECT_GT(all.attempts, 50);
  EXPECT_GT(all.lost, 1000);
  EXPECT_GT(all.repeated, 1000);
  EXPECT_GT(all.pulls, 5000);
  EXPECT_GT(all.compared, 5000);
}

TEST(ReplicationTest, BspReadsExactlyItsClock) {
  RunSeeds({.mode = SyncMode::kBsp});
}
TEST(ReplicationTest, SspKeepsItsBound) { RunSeeds({.mode = SyncMode::kSsp}); }
TEST(ReplicationTest, AspSeesAllThatWasAcknowledged) {
  RunSeeds({.mode = SyncMode::kAsp});
}
// Replicas become divergent then. It costs copies and time, but nothing is lost
// as long as they keep their logs.
TEST(ReplicationTest, WithAHastyScheduler) {
  RunSeeds({.mode = SyncMode::kAsp, .collects = false});
}
TEST(ReplicationTest, WithTwoReplicas) {
  RunSeeds({.mode = SyncMode::kAsp, .servers = 3, .replicas = 2});
}

}  // namespace
}  // namespace seraph::testing
