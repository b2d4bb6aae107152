#include "tests/sim/sim_faults.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace seraph::testing {

std::string SimFaultCounts::ToString() const {
  return absl::StrCat(crashes, " crashes, ", stops, " stops, ", cuts, " cuts, ",
                      isolations, " isolations, ", splits, " splits, ",
                      slow_links, " slow links");
}

void SimFaults::At(absl::Duration when, SimLoop::Work work) {
  loop_.After(when - loop_.now(), SimLoop::kWorld, "fault", std::move(work));
}

void SimFaults::Plan(const SimFaultPlan& plan, std::vector<int> machines) {
  machines_ = std::move(machines);
  const auto one = [&] { return machines_[loop_.Below(machines_.size())]; };
  const auto each = [&](int count, auto work) {
    for (int i = 0; i < count; ++i) {
      const absl::Duration begin = loop_.Between(plan.from, plan.until);
      const absl::Duration end =
          begin + loop_.Between(absl::Milliseconds(1), plan.longest);
      work(begin, std::min(end, plan.until));
    }
  };
  each(plan.crashes, [&](absl::Duration begin, absl::Duration end) {
    At(begin, [this, machine = one(), end] { CrashOne(machine, end); });
  });
  each(plan.stops, [&](absl::Duration begin, absl::Duration end) {
    At(begin, [this, machine = one(), end] { StopOne(machine, end); });
  });
  each(plan.cuts, [&](absl::Duration begin, absl::Duration end) {
    const int a = one(), b = one();
    const bool both = loop_.Happens(0.5);
    if (a == b) return;
    At(begin, [this, a, b, both, end] { CutOne(a, b, both, end); });
  });
  each(plan.slow_links, [&](absl::Duration begin, absl::Duration end) {
    const int a = one(), b = one();
    const absl::Duration extra =
        loop_.Between(absl::ZeroDuration(), plan.slowest);
    if (a == b) return;
    At(begin, [this, a, b, extra, end] { SlowOne(a, b, extra, end); });
  });
  each(plan.splits, [&](absl::Duration begin, absl::Duration end) {
    At(begin, [this, end] { Split(end); });
  });
  each(plan.isolations, [&](absl::Duration begin, absl::Duration end) {
    const int direction = loop_.Below(4);
    At(begin, [this, machine = one(), direction, end] {
      Isolate(machine, direction, end);
    });
  });
}

void SimFaults::Split(absl::Duration back) {
  ++counts_.splits;
  std::map<int, bool> sides;
  for (int machine : machines_) sides[machine] = loop_.Happens(0.5);
  std::vector<std::pair<int, int>> cut;
  for (const auto& [a, side] : sides) {
    for (const auto& [b, other] : sides) {
      if (side == other) continue;
      network_.Cut(a, b);
      cut.emplace_back(a, b);
    }
  }
  At(back, [this, cut] {
    for (const auto& [a, b] : cut) network_.Mend(a, b);
  });
}

void SimFaults::SlowOne(int a, int b, absl::Duration extra,
                        absl::Duration back) {
  ++counts_.slow_links;
  network_.Slow(a, b, extra);
  At(back, [this, a, b] { network_.Slow(a, b, absl::ZeroDuration()); });
}

void SimFaults::CrashOne(int machine, absl::Duration back) {
  if (!loop_.IsUp(machine)) return;
  ++counts_.crashes;
  hooks_.crash(machine);
  At(back, [this, machine] {
    if (!loop_.IsUp(machine)) hooks_.restart(machine);
  });
}

void SimFaults::StopOne(int machine, absl::Duration back) {
  if (!loop_.IsUp(machine) || loop_.IsStopped(machine)) return;
  ++counts_.stops;
  loop_.Stop(machine);
  At(back, [this, machine] { loop_.GoOn(machine); });
}

void SimFaults::CutOne(int a, int b, bool both, absl::Duration back) {
  ++counts_.cuts;
  network_.Cut(a, b);
  if (both) network_.Cut(b, a);
  At(back, [this, a, b] {
    network_.Mend(a, b);
    network_.Mend(b, a);
  });
}

void SimFaults::Isolate(int machine, int direction, absl::Duration back) {
  ++counts_.isolations;
  for (int other : machines_) {
    if (other == machine) continue;
    if (direction != 1) network_.Cut(machine, other);
    if (direction != 0) network_.Cut(other, machine);
  }
  At(back, [this, machine] {
    for (int other : machines_) {
      network_.Mend(machine, other);
      network_.Mend(other, machine);
    }
  });
}

}  // namespace seraph::testing
