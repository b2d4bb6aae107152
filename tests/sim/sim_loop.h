// Time, machines and what happens on them, in one thread and from one seed.
#ifndef SERAPH_TESTS_SIM_SIM_LOOP_H_
#define SERAPH_TESTS_SIM_SIM_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/time/clock.h"

namespace seraph::testing {

// A queue of events by time. Each belongs to a machine, in one of its lives:
// a machine that crashes takes its events with it; one that is stopped (as by
// SIGSTOP) keeps them until it goes on, while the others' time passes.
//
// Everything is a function of the seed. What happened is folded into a hash,
// and the last of it is kept in words if `record` is set.
//
// Threads: one.
class SimLoop {
 public:
  using Work = absl::AnyInvocable<void()>;
  // Not a machine: the network, the checker, whoever breaks things. It never
  // crashes and is never stopped.
  static constexpr int kWorld = 0;

  explicit SimLoop(uint64_t seed, bool record = false);
  ~SimLoop();

  // Randomness ---------------------------------------------------------------
  uint64_t Below(uint64_t n);  // [0, n), n > 0.
  bool Happens(double share);
  absl::Duration Between(absl::Duration least, absl::Duration most);
  uint64_t Number();  // Any, but not 0.

  // Machines -----------------------------------------------------------------
  // It runs; clocks of machines have nothing to do with each other, nor do
  // those of two lives of one.
  int AddMachine(std::string name);
  const std::string& name(int machine) const;
  int machines() const { return static_cast<int>(machines_.size()); }

  // Its events are gone, and so are those that come for this life.
  void Crash(int machine);
  void Restart(int machine);
  bool IsUp(int machine) const;
  // Counts its starts; 0: it never ran.
  uint64_t life(int machine) const;

  void Stop(int machine);
  void GoOn(int machine);
  bool IsStopped(int machine) const;

  // Of the machine's present life, and valid as long as this is: a clock that
  // outlives a crash goes on.
  const MonotonicClock* ClockOf(int machine) const;

  // Events -------------------------------------------------------------------
  absl::Duration now() const { return now_; }
  // `what` must outlive this (a literal).
  void After(absl::Duration delay, int machine, const char* what, Work work);
  // For the life that it had when `life` was its number; dropped if it has
  // another one by then.
  void AfterIn(absl::Duration delay, int machine, uint64_t life,
               const char* what, Work work);

  // Runs the next event. False: there is none until `before`.
  bool RunOne(absl::Duration before = absl::InfiniteDuration());
  // Until there is none before `time`; then it is that time.
  void RunUntil(absl::Duration time);

  // History ------------------------------------------------------------------
  bool records() const { return record_; }
  // A line of the history, `line()` being called only when it is recorded.
  template <typename Line>
  void Tell(int machine, Line line) {
    if (record_) Remember(machine, line());
  }
  // Folds a number into the hash: what was decided.
  void Fold(uint64_t number);
  uint64_t hash() const { return hash_; }
  uint64_t events() const { return events_; }
  // Far more has happened than in any run that ends: it goes round in circles,
  // and RunUntil does nothing more.
  bool exhausted() const { return events_ > 400'000; }
  // The last `lines` lines.
  std::string History(size_t lines = 400) const;

 private:
  struct Event {
    int machine = kWorld;
    uint64_t life = 0;
    const char* what = "";
    Work work;
  };
  class Clock;
  struct Machine {
    std::string name;
    bool up = true;
    bool stopped = false;
    uint64_t life = 1;
    std::vector<Event> waiting;                  // While it is stopped.
    std::vector<std::unique_ptr<Clock>> clocks;  // By life.
  };

  void StartClock(Machine* machine);
  void Remember(int machine, std::string line);

  const uint64_t seed_;
  const bool record_;
  uint64_t draws_ = 0;
  absl::Duration now_ = absl::Seconds(1);
  uint64_t last_number_ = 0;
  std::map<std::pair<absl::Duration, uint64_t>, Event> queue_;
  std::vector<Machine> machines_;
  uint64_t hash_ = 0;
  uint64_t events_ = 0;
  std::deque<std::string> history_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_LOOP_H_
