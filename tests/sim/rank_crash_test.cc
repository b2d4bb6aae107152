// Workers die between any two messages, also between the partitions of one
// entry, or are thought dead and go on; their ranks are handed out anew.
#include <string>

#include "gtest/gtest.h"
#include "tests/sim/sample_job.h"
#include "tests/sim/training_sim.h"

namespace seraph::testing {
namespace {

SimWeather Crashes(uint64_t seed, size_t max_message_bytes) {
  return {.seed = seed,
          .servers = 3,
          .lose = 0.05,
          .duplicate = 0.1,
          .slow = seed % 2 == 0 ? 0.95 : 0.0,
          .crashes = 4,
          .max_message_bytes = max_message_bytes};
}

// A clock that is run again reads the parameters that it read the first time,
// also where the partition has stepped on meanwhile: the same bytes come out.
class BspTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(BspTest, TheModelIsThatOfTheUndisturbedRun) {
  const uint32_t partitions = GetParam();
  for (TableKind kind : {TableKind::kDense, TableKind::kSparse}) {
    const SimJob job = MakeJob(OptimizerKind::kAdagrad, kind, partitions);
    const SimResult calm = RunSim(job, {.seed = 1});
    ASSERT_TRUE(calm.ended);
    int crashes = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      for (size_t bytes : {size_t{64}, size_t{16} << 20}) {
        const SimResult rough = RunSim(job, Crashes(seed, bytes));
        ASSERT_TRUE(rough.ended) << "hangs: seed " << seed;
        EXPECT_EQ(rough.digest, calm.digest)
            << "seed " << seed << ", messages of " << bytes << " bytes";
        EXPECT_EQ(rough.sums, calm.sums) << "seed " << seed;
        EXPECT_EQ(rough.differing_repeats, 0) << "seed " << seed;
        crashes += rough.crashes;
      }
    }
    EXPECT_GT(crashes, 200) << "too few to say anything";
  }
}

INSTANTIATE_TEST_SUITE_P(Partitions, BspTest, ::testing::Values(1, 7, 64));

// A run-again clock may push other bytes and other keys here; what must hold is
// that every partition takes it once. The ledger counts its examples.
TEST(SspAndAspTest, EveryEntryCountsOnce) {
  for (SyncMode mode : {SyncMode::kSsp, SyncMode::kAsp}) {
    for (uint32_t pipeline : {0, 2}) {
      for (uint64_t seed = 1; seed <= 30; ++seed) {
        SimJob job = MakeJob(OptimizerKind::kSgd, TableKind::kSparse, 7);
        job.sync.spec.mode = mode;
        job.sync.spec.staleness = mode == SyncMode::kSsp ? 1 : 0;
        job.sync.spec.pipeline = pipeline;
        const SimResult result = RunSim(job, Crashes(seed, 64));
        ASSERT_TRUE(result.ended) << "hangs: seed " << seed;
        for (size_t rank = 0; rank < job.data.size(); ++rank) {
          EXPECT_EQ(result.sums[rank].examples, job.data[rank].size())
              << SyncModeName(mode) << ", pipeline " << pipeline << ", seed "
              << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace seraph::testing
