// Whole clusters under everything at once, many times.
#include "tests/sim/cluster_sim.h"

#include <cstdio>

#include "gtest/gtest.h"
#include "tests/sim/sim_seeds.h"

namespace seraph::testing {
namespace {

constexpr uint64_t kSlices = 8;
constexpr uint64_t kSeedsPerSlice = 250;

class ClusterSimTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ClusterSimTest, EveryJobEndsWithTheRightModel) {
  const uint64_t first = GetParam() * kSeedsPerSlice + 1;
  std::map<std::string, int64_t> counts;
  EXPECT_EQ(RunSeeds(RunClusterSim, {first, first + kSeedsPerSlice - 1},
                     /*failures=*/1, &counts),
            0);
  std::printf("%s", CountsToString(counts).c_str());
  // A run in which nothing goes wrong says nothing.
  for (const char* name : {"faults.crashes",
                           "faults.stops",
                           "faults.cuts",
                           "faults.isolations",
                           "faults.splits",
                           "messages.lost",
                           "messages.repeated",
                           "messages.late",
                           "recoveries",
                           "called dead",
                           "checkpoints",
                           "scheduler dies before commit",
                           "scheduler dies after commit",
                           "server dies after forwarding",
                           "checkpoints on demand",
                           "pauses",
                           "drained",
                           "cancelled",
                           "power cuts",
                           "nodes that came late",
                           "waited for the window",
                           "refused for want of room",
                           "stray requests",
                           "elections",
                           "deposed",
                           "changes of the leader"}) {
    EXPECT_GT(counts[name], 0) << name;
  }
  EXPECT_GT(counts["acknowledged"], 5 * counts["runs"]);
}

INSTANTIATE_TEST_SUITE_P(Slices, ClusterSimTest,
                         ::testing::Range(uint64_t{0}, kSlices));

}  // namespace
}  // namespace seraph::testing

int main(int argc, char** argv) {
  if (const auto code = seraph::testing::RunFromCommandLine(
          seraph::testing::RunClusterSim, argc, argv)) {
    return *code;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
