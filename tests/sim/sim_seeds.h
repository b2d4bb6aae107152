// Runs many seeds, and one again.
//
//   bazel run //tests/sim:X_test -- --seed=17            one, with its history
//   bazel run //tests/sim:X_test -- --seeds=1..5000      these
//   bazel run //tests/sim:X_test -- --lines=2000 --seed=17
#ifndef SERAPH_TESTS_SIM_SIM_SEEDS_H_
#define SERAPH_TESTS_SIM_SIM_SEEDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tests/sim/sim_outcome.h"

namespace seraph::testing {

// [first, last].
struct SeedRange {
  uint64_t first = 1;
  uint64_t last = 0;
};

// Runs the seeds until `failures` of them have failed; each of those is run
// again, twice, to see that it replays, and its history is printed. Returns how
// many failed. `counts` takes what happened.
int RunSeeds(const SimRun& run, SeedRange seeds, int failures,
             std::map<std::string, int64_t>* counts);

// The first of the seeds with a problem that has these words.
std::optional<uint64_t> FindFailure(const SimRun& run, SeedRange seeds,
                                    const std::string& words,
                                    std::string* problem);

std::string CountsToString(const std::map<std::string, int64_t>& counts);

// Whether the command line asks for seeds in place of the tests: runs them, and
// returns the exit code.
std::optional<int> RunFromCommandLine(const SimRun& run, int argc, char** argv);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_SEEDS_H_
