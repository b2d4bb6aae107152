// The project's sharpest promise, on one thread: a bsp job gives the same
// bytes whatever the number of servers and partitions, whatever the order of
// messages, and whatever is lost or repeated on the way.
#include <algorithm>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/sim/sample_job.h"
#include "tests/sim/training_sim.h"

namespace seraph::testing {
namespace {

constexpr OptimizerKind kAllOptimizers[] = {
    OptimizerKind::kSgd,     OptimizerKind::kMomentum, OptimizerKind::kNesterov,
    OptimizerKind::kAdagrad, OptimizerKind::kRmsprop,  OptimizerKind::kAdadelta,
    OptimizerKind::kAdam,    OptimizerKind::kAdamw,    OptimizerKind::kFtrl,
    OptimizerKind::kSum,     OptimizerKind::kAssign};

class EveryOptimizer : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(EveryOptimizer, GivesTheSameBytesOnEveryShapeInEveryWeather) {
  for (TableKind kind : {TableKind::kDense, TableKind::kSparse}) {
    const SimResult calm =
        RunSim(MakeJob(GetParam(), kind, 1), {.seed = 1, .servers = 1});
    ASSERT_TRUE(calm.ended);
    uint64_t seed = 2;
    int lost = 0, duplicated = 0;
    for (uint32_t partitions : {1, 7, 64}) {
      for (int servers : {1, 3}) {
        for (bool scramble : {false, true}) {
          const SimResult rough =
              RunSim(MakeJob(GetParam(), kind, partitions, scramble),
                     {.seed = seed,
                      .servers = servers,
                      .lose = 0.1,
                      .duplicate = 0.1});
          EXPECT_TRUE(rough.ended) << "hangs: seed " << seed;
          EXPECT_EQ(rough.digest, calm.digest)
              << "seed " << seed << ", " << partitions << " partitions, "
              << servers << " servers";
          EXPECT_EQ(rough.sums, calm.sums) << "seed " << seed;
          lost += rough.lost;
          duplicated += rough.duplicated;
          ++seed;
        }
      }
    }
    EXPECT_GT(lost, 50) << "the weather was too good to say anything";
    EXPECT_GT(duplicated, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EveryOptimizer,
                         ::testing::ValuesIn(kAllOptimizers));

// Messages of a few rows: entries come in chunks, pulls in pieces.
TEST(ChunksTest, DoNotChangeTheBytes) {
  for (uint32_t partitions : {1, 7}) {
    const SimJob job =
        MakeJob(OptimizerKind::kAdagrad, TableKind::kSparse, partitions);
    const SimResult whole = RunSim(job, {.seed = 1});
    for (uint64_t seed = 2; seed < 12; ++seed) {
      const SimResult cut = RunSim(job, {.seed = seed,
                                         .servers = 2,
                                         .lose = 0.05,
                                         .duplicate = 0.1,
                                         .max_message_bytes = 64});
      EXPECT_TRUE(cut.ended) << "hangs: seed " << seed;
      EXPECT_EQ(cut.digest, whole.digest) << "seed " << seed;
    }
  }
}

// The digest of a job whose tables are as `change` makes them, after it was
// seen to be the same on every shape in rough weather, with messages of a few
// rows and of many.
std::string SameEverywhere(absl::FunctionRef<void(TableSpec*)> change,
                           const std::string& what) {
  const auto job = [&](uint32_t partitions, bool scramble) {
    SimJob made = MakeJob(OptimizerKind::kAdagrad, TableKind::kSparse,
                          partitions, scramble);
    for (TableSpec& table : made.tables) change(&table);
    return made;
  };
  const SimResult calm = RunSim(job(1, false), {.seed = 1});
  EXPECT_TRUE(calm.ended) << what;
  uint64_t seed = 2;
  for (const uint32_t partitions : {1, 7, 64}) {
    for (const bool scramble : {false, true}) {
      for (const size_t bytes : {size_t{64}, size_t{1} << 20}) {
        const SimResult rough =
            RunSim(job(partitions, scramble), {.seed = seed,
                                               .servers = 3,
                                               .lose = 0.1,
                                               .duplicate = 0.1,
                                               .crashes = 2,
                                               .max_message_bytes = bytes});
        EXPECT_TRUE(rough.ended) << "hangs: " << what << ", seed " << seed;
        EXPECT_EQ(rough.digest, calm.digest)
            << what << ", seed " << seed << ", " << partitions << " partitions";
        ++seed;
      }
    }
  }
  return calm.digest;
}

// Rounding is by names, not by neighbours, messages or attempts.
TEST(TransportTest, IsTheSameOnEveryShapeInEveryWeather) {
  std::set<std::string> digests;
  for (const ValueKind transport : {ValueKind::kFloat32, ValueKind::kFloat16,
                                    ValueKind::kBfloat16, ValueKind::kInt8}) {
    digests.insert(SameEverywhere(
        [&](TableSpec* table) { table->transport = transport; },
        absl::StrCat("transport ", static_cast<int>(transport))));
  }
  EXPECT_EQ(digests.size(), 4) << "nothing was rounded";
}

// When keys come into being is decided by what all ranks have pushed, not by
// partitions, arrival or repeats; in one epoch rare keys never do.
TEST(AdmissionTest, IsTheSameOnEveryShapeInEveryWeather) {
  std::set<std::string> digests;
  for (const uint32_t admit_after : {1, 3, 6}) {
    for (const uint32_t expire_after : {0, 1}) {
      digests.insert(SameEverywhere(
          [&](TableSpec* table) {
            if (table->kind != TableKind::kSparse) return;
            table->admit_after = admit_after;
            table->expire_after_epochs = expire_after;
          },
          absl::StrCat("admit_after ", admit_after)));
    }
  }
  // The same records in all epochs: nothing expires that was admitted.
  EXPECT_EQ(digests.size(), 3u);
}

// A digest that nothing can change would pass all of the above.
TEST(DigestTest, ChangesWithTheJob) {
  std::set<std::string> digests;
  for (OptimizerKind kind : kAllOptimizers) {
    digests.insert(
        RunSim(MakeJob(kind, TableKind::kSparse, 7), {.servers = 2}).digest);
  }
  EXPECT_EQ(digests.size(), std::size(kAllOptimizers));
}

// Under ssp and asp the bytes depend on the order; what must hold is that
// every entry is applied exactly once. With `sum` the table counts them.
TEST(ExactlyOnceTest, EveryEntryCountsOnceInRoughWeather) {
  for (SyncMode mode : {SyncMode::kSsp, SyncMode::kAsp}) {
    for (uint32_t pipeline : {0, 2}) {
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        SimJob job = MakeJob(OptimizerKind::kSgd, TableKind::kSparse, 7);
        job.sync.spec.mode = mode;
        job.sync.spec.staleness = mode == SyncMode::kSsp ? 1 : 0;
        job.sync.spec.pipeline = pipeline;
        const SimResult result = RunSim(
            job, {.seed = seed, .servers = 3, .lose = 0.1, .duplicate = 0.1});
        ASSERT_TRUE(result.ended) << "hangs: seed " << seed;
        ASSERT_GT(result.lost + result.duplicated, 0);
        for (size_t rank = 0; rank < job.data.size(); ++rank) {
          EXPECT_EQ(result.sums[rank].examples, job.data[rank].size())
              << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace seraph::testing
