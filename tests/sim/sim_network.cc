#include "tests/sim/sim_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace seraph::testing {

void SimNetwork::Cut(int from, int to) {
  if (cuts_.insert({from, to}).second) {
    loop_.Tell(from, [&] {
      return absl::StrCat("### is cut off from ", loop_.name(to));
    });
  }
}

void SimNetwork::Mend(int from, int to) {
  if (cuts_.erase({from, to}) > 0) {
    loop_.Tell(from,
               [&] { return absl::StrCat("### reaches ", loop_.name(to)); });
  }
}

void SimNetwork::Slow(int from, int to, absl::Duration extra) {
  loop_.Tell(from, [&] {
    return absl::StrCat("### is ", absl::FormatDuration(extra), " from ",
                        loop_.name(to));
  });
  slow_[{from, to}] = extra;
}

void SimNetwork::Send(int from, int to, const char* what,
                      std::function<void()> arrive, bool in_order) {
  if (!loop_.IsUp(from)) return;
  ++counts_.sent;
  if (IsCut(from, to)) {
    ++counts_.cut;
    return;
  }
  if (from != to && loop_.Happens(weather_.lose)) {
    ++counts_.lost;
    loop_.Tell(from, [&] {
      return absl::StrCat("lost: ", what, " to ", loop_.name(to));
    });
    return;
  }
  absl::Duration delay =
      loop_.Between(weather_.least_delay, weather_.most_delay);
  if (const auto slow = slow_.find({from, to}); slow != slow_.end()) {
    delay += slow->second;
  }
  if (loop_.Happens(weather_.late)) {
    ++counts_.late;
    delay += loop_.Between(absl::ZeroDuration(), weather_.most_late);
  }
  if (in_order) {
    absl::Duration& last = last_arrival_[{from, to}];
    last = std::max(last, loop_.now() + delay);
    delay = last - loop_.now();
  }
  if (loop_.Happens(weather_.duplicate)) {
    ++counts_.repeated;
    Deliver(from, to, what,
            delay + loop_.Between(absl::ZeroDuration(), weather_.most_late),
            arrive);
  }
  Deliver(from, to, what, delay, std::move(arrive));
}

void SimNetwork::Deliver(int from, int to, const char* what,
                         absl::Duration delay, std::function<void()> arrive) {
  // The network's event: whoever lives there then takes it; a machine that is
  // stopped takes it when it goes on.
  const uint64_t life = loop_.life(from);
  loop_.After(delay, SimLoop::kWorld, what,
              [this, from, to, what, life, arrive = std::move(arrive)] {
                // What a machine had not sent yet dies with it.
                const bool died = !loop_.IsUp(from) || loop_.life(from) != life;
                if (IsCut(from, to) || (died && loop_.Happens(0.5))) {
                  ++counts_.cut;
                  return;
                }
                loop_.After(absl::ZeroDuration(), to, what, arrive);
              });
}

}  // namespace seraph::testing
