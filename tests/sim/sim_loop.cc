#include "tests/sim/sim_loop.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/draw.h"

namespace seraph::testing {

namespace {

// Of a recorded history; far more than anybody reads.
constexpr size_t kMaxLines = 2'000'000;

}  // namespace

class SimLoop::Clock final : public MonotonicClock {
 public:
  Clock(const SimLoop* loop, absl::Duration ahead)
      : loop_(*loop), ahead_(ahead) {}

  int64_t NowNanos() const override {
    return absl::ToInt64Nanoseconds(loop_.now_ + ahead_);
  }

 private:
  const SimLoop& loop_;
  const absl::Duration ahead_;
};

SimLoop::SimLoop(uint64_t seed, bool record) : seed_(seed), record_(record) {
  machines_.emplace_back().name = "world";
  StartClock(&machines_[kWorld]);
}

SimLoop::~SimLoop() = default;

uint64_t SimLoop::Below(uint64_t n) {
  return ToBelow(Draw(seed_, {++draws_}), n);
}

bool SimLoop::Happens(double share) {
  return ToUnit(Draw(seed_, {++draws_})) < share;
}

absl::Duration SimLoop::Between(absl::Duration least, absl::Duration most) {
  if (most <= least) return least;
  const uint64_t nanos = absl::ToInt64Nanoseconds(most - least);
  return least + absl::Nanoseconds(Below(nanos));
}

uint64_t SimLoop::Number() { return Draw(seed_, {++draws_}) | 1; }

int SimLoop::AddMachine(std::string name) {
  machines_.emplace_back().name = std::move(name);
  StartClock(&machines_.back());
  return machines() - 1;
}

const std::string& SimLoop::name(int machine) const {
  return machines_[machine].name;
}

void SimLoop::StartClock(Machine* machine) {
  // A machine that booted some time ago.
  const auto ahead = Between(absl::ZeroDuration(), absl::Hours(1000));
  machine->clocks.push_back(std::make_unique<Clock>(this, ahead));
}

void SimLoop::Crash(int machine) {
  Machine& it = machines_[machine];
  if (!it.up) return;
  it.up = false;
  it.stopped = false;
  it.waiting.clear();
  Tell(machine, [] { return "### crashes"; });
  Fold(machine);
}

void SimLoop::Restart(int machine) {
  Machine& it = machines_[machine];
  if (it.up) return;
  it.up = true;
  ++it.life;
  StartClock(&it);
  Tell(machine, [] { return "### starts"; });
  Fold(machine);
}

bool SimLoop::IsUp(int machine) const { return machines_[machine].up; }
uint64_t SimLoop::life(int machine) const { return machines_[machine].life; }

void SimLoop::Stop(int machine) {
  Machine& it = machines_[machine];
  if (!it.up || it.stopped) return;
  it.stopped = true;
  Tell(machine, [] { return "### is stopped"; });
}

void SimLoop::GoOn(int machine) {
  Machine& it = machines_[machine];
  if (!it.stopped) return;
  it.stopped = false;
  Tell(machine, [] { return "### goes on"; });
  for (Event& event : it.waiting) {
    queue_.emplace(std::pair(now_, ++last_number_), std::move(event));
  }
  it.waiting.clear();
}

bool SimLoop::IsStopped(int machine) const {
  return machines_[machine].stopped;
}

const MonotonicClock* SimLoop::ClockOf(int machine) const {
  return machines_[machine].clocks.back().get();
}

void SimLoop::After(absl::Duration delay, int machine, const char* what,
                    Work work) {
  AfterIn(delay, machine, machines_[machine].life, what, std::move(work));
}

void SimLoop::AfterIn(absl::Duration delay, int machine, uint64_t life,
                      const char* what, Work work) {
  const absl::Duration when = now_ + std::max(delay, absl::ZeroDuration());
  queue_.emplace(std::pair(when, ++last_number_),
                 Event{machine, life, what, std::move(work)});
}

bool SimLoop::RunOne(absl::Duration before) {
  while (!queue_.empty() && queue_.begin()->first.first <= before) {
    auto node = queue_.extract(queue_.begin());
    now_ = node.key().first;
    Event event = std::move(node.mapped());
    Machine& machine = machines_[event.machine];
    if (!machine.up || machine.life != event.life) continue;
    if (machine.stopped) {
      machine.waiting.push_back(std::move(event));
      continue;
    }
    ++events_;
    Fold(absl::ToInt64Nanoseconds(now_));
    Fold(event.machine * 1000 + event.what[0]);
    Tell(event.machine, [&] { return event.what; });
    event.work();
    return true;
  }
  return false;
}

void SimLoop::RunUntil(absl::Duration time) {
  while (!exhausted() && RunOne(time)) {
  }
  now_ = std::max(now_, time);
}

void SimLoop::Fold(uint64_t number) { hash_ = Draw(hash_, {number}); }

void SimLoop::Remember(int machine, std::string line) {
  history_.push_back(absl::StrFormat("%10.3f ms  %-10s %s",
                                     absl::ToDoubleMilliseconds(now_),
                                     machines_[machine].name, line));
  if (history_.size() > kMaxLines) history_.pop_front();
}

std::string SimLoop::History(size_t lines) const {
  std::string text;
  const size_t first = history_.size() > lines ? history_.size() - lines : 0;
  for (size_t i = first; i < history_.size(); ++i) {
    absl::StrAppend(&text, history_[i], "\n");
  }
  return text;
}

}  // namespace seraph::testing
