// One partition, its replicas and its ranks, under everything at once.
#include "tests/sim/partition_sim.h"

#include <cstdio>

#include "gtest/gtest.h"
#include "tests/sim/sim_seeds.h"

namespace seraph::testing {
namespace {

constexpr uint64_t kSlices = 8;
constexpr uint64_t kSeedsPerSlice = 500;

class PartitionSimTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(PartitionSimTest, NothingIsLostTwiceThereOrTorn) {
  const uint64_t first = GetParam() * kSeedsPerSlice + 1;
  std::map<std::string, int64_t> counts;
  EXPECT_EQ(RunSeeds(RunPartitionSim, {first, first + kSeedsPerSlice - 1},
                     /*failures=*/1, &counts),
            0);
  std::printf("%s", CountsToString(counts).c_str());
  // A run in which nothing goes wrong says nothing.
  for (const char* name :
       {"faults.crashes", "faults.stops", "faults.cuts", "faults.isolations",
        "faults.splits", "messages.lost", "messages.repeated", "messages.late",
        "recruited", "handed over", "generations", "called dead",
        "scheduler dies after commit", "handed out beside a living one",
        "pushes of sessions", "repeats of sessions", "primary cut off",
        "looks at who was deposed"}) {
    EXPECT_GT(counts[name], 0) << name;
  }
  EXPECT_GT(counts["acknowledged"], 10 * counts["runs"]);
  EXPECT_GT(counts["epochs"], 2 * counts["runs"]);
}

INSTANTIATE_TEST_SUITE_P(Slices, PartitionSimTest,
                         ::testing::Range(uint64_t{0}, kSlices));

}  // namespace
}  // namespace seraph::testing

int main(int argc, char** argv) {
  if (const auto code = seraph::testing::RunFromCommandLine(
          seraph::testing::RunPartitionSim, argc, argv)) {
    return *code;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
