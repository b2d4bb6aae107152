// That the random faults of replication_model.h find the bugs that are there:
// each planted one of this code. Needs a build with --config=planted.
#include <cstdio>
#include <ostream>

#include "common/base/planted_bug.h"
#include "gtest/gtest.h"
#include "server/core/replication_model.h"

namespace seraph::testing {
namespace {

struct Planted {
  PlantedBug bug;
  const char* name;
  SyncMode mode;
};

// For test output.
[[maybe_unused]] void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

class PlantedTest : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedTest, IsFound) {
#ifndef SERAPH_PLANTED_BUGS
  GTEST_SKIP() << "SKIPPED: this build has no planted bugs; use bazel test "
                  "--config=planted";
#else
  ModelOptions options{.mode = GetParam().mode};
  // A replica is divergent only after a promotion that asked nobody.
  if (GetParam().bug == PlantedBug::kDiscardDivergentAtOnce) {
    options.collects = false;
  }
  if (GetParam().bug == PlantedBug::kTakeLateSnapshot) {
    options.servers = 3;
    options.replicas = 2;
    options.repeat = 0.3;
  }
  for (options.seed = 1; options.seed <= 1000; ++options.seed) {
    planted_bug = GetParam().bug;
    const ModelResult result = RunModel(options);
    planted_bug = PlantedBug::kNone;
    if (result.violation.empty()) continue;
    RecordProperty("seed", static_cast<int>(options.seed));
    printf("seed %d: %s\n", static_cast<int>(options.seed),
           result.violation.c_str());
    return;
  }
  FAIL() << "1000 seeds found nothing";
#endif
}

#define SERAPH_PLANTED(name, mode) \
  Planted { PlantedBug::k##name, #name, SyncMode::mode }

INSTANTIATE_TEST_SUITE_P(
    Bugs, PlantedTest,
    ::testing::Values(SERAPH_PLANTED(ForgetAppliedAtPromotion, kAsp),
                      SERAPH_PLANTED(AcknowledgeBeforeBackup, kAsp),
                      SERAPH_PLANTED(SkipEpochCheck, kAsp),
                      SERAPH_PLANTED(StalenessOffByOne, kSsp),
                      SERAPH_PLANTED(DropOverwritten, kBsp),
                      SERAPH_PLANTED(MarkBeforePush, kSsp),
                      SERAPH_PLANTED(AcknowledgeRepeatAtOnce, kAsp),
                      SERAPH_PLANTED(PrimaryShrinksInSync, kAsp),
                      SERAPH_PLANTED(FenceAttemptInMemoryOnly, kAsp),
                      SERAPH_PLANTED(ReadUnconfirmed, kAsp),
                      SERAPH_PLANTED(SnapshotWhileWriting, kAsp),
                      SERAPH_PLANTED(DiscardDivergentAtOnce, kAsp),
                      SERAPH_PLANTED(TakeLateSnapshot, kAsp),
                      SERAPH_PLANTED(RecruitDeathBlocks, kAsp)),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph::testing
