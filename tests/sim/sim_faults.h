// Breaks machines and links, and mends them.
#ifndef SERAPH_TESTS_SIM_SIM_FAULTS_H_
#define SERAPH_TESTS_SIM_SIM_FAULTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_network.h"

namespace seraph::testing {

// How much is broken, at times that the seed draws in [from, until). After
// `until` everything is whole again, and whatever waits must come to an end.
struct SimFaultPlan {
  absl::Duration from = absl::Milliseconds(1050);
  absl::Duration until = absl::Seconds(4);
  absl::Duration longest = absl::Milliseconds(1500);  // A fault's duration.
  int crashes = 0;
  int stops = 0;       // As by SIGSTOP; SIGCONT follows.
  int cuts = 0;        // Of a link, half of them in one direction.
  int isolations = 0;  // Of a machine, from all others; half in one direction.
  int splits = 0;      // Of the network, into two sides.
  int slow_links = 0;  // In one direction.
  absl::Duration slowest = absl::Milliseconds(150);
};

struct SimFaultCounts {
  int crashes = 0, stops = 0, cuts = 0, isolations = 0, splits = 0,
      slow_links = 0;

  std::string ToString() const;
};

class SimFaults {
 public:
  // Called in place of SimLoop's Crash and Restart: what lives on the machine
  // goes, and comes, with it.
  struct Hooks {
    std::function<void(int machine)> crash;
    std::function<void(int machine)> restart;
  };

  SimFaults(SimLoop* loop, SimNetwork* network, Hooks hooks)
      : loop_(*loop), network_(*network), hooks_(std::move(hooks)) {}

  // Of these machines. Once.
  void Plan(const SimFaultPlan& plan, std::vector<int> machines);

  const SimFaultCounts& counts() const { return counts_; }

 private:
  void At(absl::Duration when, SimLoop::Work work);
  void CrashOne(int machine, absl::Duration back);
  void StopOne(int machine, absl::Duration back);
  void CutOne(int a, int b, bool both, absl::Duration back);
  void SlowOne(int a, int b, absl::Duration extra, absl::Duration back);
  void Isolate(int machine, int direction, absl::Duration back);
  void Split(absl::Duration back);

  SimLoop& loop_;
  SimNetwork& network_;
  const Hooks hooks_;
  std::vector<int> machines_;
  SimFaultCounts counts_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_FAULTS_H_
