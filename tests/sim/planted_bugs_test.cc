// Bugs that are built in on purpose are found: a simulation that finds nothing
// may just not be looking. Needs a build with --config=planted.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/base/planted_bug.h"
#include "gtest/gtest.h"
#include "tests/sim/cluster_sim.h"
#include "tests/sim/partition_sim.h"
#include "tests/sim/sim_seeds.h"

namespace seraph::testing {
namespace {

// As many as the tests run without a bug.
constexpr uint64_t kSeeds = 4000;

struct Planted {
  PlantedBug bug;
  const char* name;
  SimRun run;              // Of the simulation that finds it.
  std::string words = "";  // Of the problem that it makes; "": any.
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

const std::vector<Planted>& AllPlanted() {
  static const auto* all = new std::vector<Planted>{
#define SERAPH_PLANTED(name, ...) {PlantedBug::k##name, #name, __VA_ARGS__}
      SERAPH_PLANTED(ForgetAppliedAtPromotion, RunPartitionSim),
      SERAPH_PLANTED(AcknowledgeBeforeBackup, RunPartitionSim),
      SERAPH_PLANTED(SkipEpochCheck, RunPartitionSim),
      SERAPH_PLANTED(StalenessOffByOne, RunPartitionSim),
      SERAPH_PLANTED(MarkBeforePush, RunPartitionSim),
      SERAPH_PLANTED(AcknowledgeRepeatAtOnce, RunPartitionSim),
      SERAPH_PLANTED(PrimaryShrinksInSync, RunPartitionSim),
      SERAPH_PLANTED(SameIncarnationAfterRestart, RunPartitionSim),
      SERAPH_PLANTED(FenceAttemptInMemoryOnly, RunPartitionSim),
      SERAPH_PLANTED(ReadUnconfirmed, RunPartitionSim),
      SERAPH_PLANTED(SnapshotWhileWriting, RunPartitionSim),
      SERAPH_PLANTED(AllDeadAtSchedulerStart, RunPartitionSim),
      SERAPH_PLANTED(OrderFillsNewIncarnation, RunClusterSim),
      SERAPH_PLANTED(RepeatRestore, RunPartitionSim),
      SERAPH_PLANTED(DiscardDivergentAtOnce, RunPartitionSim, "holds nothing"),
      SERAPH_PLANTED(PromoteWithoutCollecting, RunPartitionSim),
      SERAPH_PLANTED(RecruitDeathBlocks, RunPartitionSim),
      SERAPH_PLANTED(TakeLateSnapshot, RunPartitionSim, "and held it up to"),
      SERAPH_PLANTED(DropOverwritten, RunClusterSim),
      SERAPH_PLANTED(StoreLazyDecayAtCheckpoint, RunClusterSim),
      SERAPH_PLANTED(RollbackWithoutGeneration, RunClusterSim),
      SERAPH_PLANTED(CutBetweenPartitions, RunClusterSim),
      SERAPH_PLANTED(CutWithoutStaging, RunClusterSim, "did not come about"),
      SERAPH_PLANTED(ParkedPullsFillWindow, RunClusterSim, "does not end"),
      SERAPH_PLANTED(TakeNewerGeneration, RunClusterSim,
                     "its generation is another"),
      SERAPH_PLANTED(NoQuietTime, RunPartitionSim, "before"),
      SERAPH_PLANTED(RepeatSessionPush, RunPartitionSim, "each once"),
      SERAPH_PLANTED(TakeOlderEpoch, RunClusterSim, "of an older epoch"),
#undef SERAPH_PLANTED
  };
  return *all;
}

class PlantedBugsTest : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBugsTest, IsFound) {
#ifndef SERAPH_PLANTED_BUGS
  GTEST_SKIP() << "SKIPPED: this build has no planted bugs; use bazel test "
                  "--config=planted //tests/sim:planted_bugs_test";
#else
  planted_bug = GetParam().bug;
  std::string problem;
  const auto seed =
      FindFailure(GetParam().run, {1, kSeeds}, GetParam().words, &problem);
  planted_bug = PlantedBug::kNone;
  ASSERT_TRUE(seed.has_value())
      << GetParam().name << " was not found by " << kSeeds << " seeds";
  std::printf("%s: seed %llu: %s\n", GetParam().name,
              static_cast<unsigned long long>(*seed), problem.c_str());
#endif
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugsTest,
                         ::testing::ValuesIn(AllPlanted()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace seraph::testing
