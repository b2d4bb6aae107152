// What a simulated run tells.
#ifndef SERAPH_TESTS_SIM_SIM_OUTCOME_H_
#define SERAPH_TESTS_SIM_SIM_OUTCOME_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace seraph::testing {

struct SimOutcome {
  std::vector<std::string> problems;  // Empty: all checks held.
  uint64_t hash = 0;                  // Of everything that happened.
  std::string shape;                  // Of the job and its cluster, in words.
  std::string history;                // If it was asked for.
  // What happened how often. Those of many runs are added up: a run in which
  // nothing happens proves nothing.
  std::map<std::string, int64_t> counts;
};

// Runs a seed. With `record` the history is kept.
using SimRun = std::function<SimOutcome(uint64_t seed, bool record)>;

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_OUTCOME_H_
