// Messages between simulated machines.
#ifndef SERAPH_TESTS_SIM_SIM_NETWORK_H_
#define SERAPH_TESTS_SIM_SIM_NETWORK_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/sim/sim_loop.h"

namespace seraph::testing {

// What the network does to a message between two machines.
struct SimWeatherOnTheWire {
  absl::Duration least_delay = absl::Microseconds(50);
  absl::Duration most_delay = absl::Milliseconds(2);
  double lose = 0;
  double duplicate = 0;
  double late = 0;  // Takes up to `most_late`; others overtake it.
  absl::Duration most_late = absl::Milliseconds(300);
  // A caller learns at once, in half of the cases, that a call is lost; else
  // at its timeout.
};

// Delays, loses, repeats and reorders messages, and cuts links, in one
// direction or in both. A message is taken by whoever lives at the machine when
// it arrives, perhaps another life than the sender had in mind.
class SimNetwork {
 public:
  struct Counts {
    int sent = 0, lost = 0, repeated = 0, late = 0, cut = 0;
  };

  explicit SimNetwork(SimLoop* loop) : loop_(*loop) {}

  void SetWeather(const SimWeatherOnTheWire& weather) { weather_ = weather; }
  const Counts& counts() const { return counts_; }

  // One direction.
  void Cut(int from, int to);
  void Mend(int from, int to);
  // Everything from one to the other takes so much longer; zero: no more.
  void Slow(int from, int to, absl::Duration extra);
  bool IsCut(int from, int to) const { return cuts_.count({from, to}) > 0; }

  // `arrive` runs at `to`, once, several times or never. Nothing leaves a
  // machine that is down. `in_order`: after all that was sent so before.
  void Send(int from, int to, const char* what, std::function<void()> arrive,
            bool in_order = false);

  // A call. `serve` runs at `to`, once, twice or never, and answers now or
  // later, each time it runs at most once. `done` runs at `from`, in the life
  // that called, exactly once: with the first answer, Unavailable or, after
  // `timeout`, DeadlineExceeded.
  template <typename Reply>
  using Answer = std::function<void(absl::StatusOr<Reply>)>;
  template <typename Reply>
  void Call(int from, int to, const char* what, absl::Duration timeout,
            std::function<void(Answer<Reply>)> serve, Answer<Reply> done) {
    CallOn(/*stream=*/false, from, to, what, timeout, std::move(serve),
           std::move(done));
  }
  // One whose loss is noticed, a while later: it is one of many on a stream.
  template <typename Reply>
  void CallOnStream(int from, int to, const char* what, absl::Duration timeout,
                    std::function<void(Answer<Reply>)> serve,
                    Answer<Reply> done) {
    CallOn(/*stream=*/true, from, to, what, timeout, std::move(serve),
           std::move(done));
  }

 private:
  template <typename Reply>
  void CallOn(bool stream, int from, int to, const char* what,
              absl::Duration timeout, std::function<void(Answer<Reply>)> serve,
              Answer<Reply> done) {
    struct Open {
      Answer<Reply> done;
    };
    const auto open = std::make_shared<Open>(Open{std::move(done)});
    const uint64_t life = loop_.life(from);
    const auto finish = [open](absl::StatusOr<Reply> reply) {
      if (open->done == nullptr) return;
      Answer<Reply> done = std::move(open->done);
      open->done = nullptr;
      done(std::move(reply));
    };
    loop_.After(timeout, from, "timeout", [finish] {
      finish(absl::DeadlineExceededError("no answer in time"));
    });
    const auto fail = [this, from, life, finish](absl::Duration after) {
      loop_.AfterIn(after, from, life, "unavailable", [finish] {
        finish(absl::UnavailableError("connection lost"));
      });
    };
    if (!IsCut(from, to) && !loop_.IsUp(to)) {
      return fail(absl::Milliseconds(1));  // Connection refused.
    }
    // Of two counts that were, whether to tell the caller of a loss.
    const auto notice = [this, stream, fail](int lost, int cut) {
      if (stream && (counts_.lost > lost || counts_.cut > cut)) {
        fail(loop_.Between(weather_.most_delay, absl::Milliseconds(300)));
      } else if (!stream && counts_.lost > lost && loop_.Happens(0.5)) {
        fail(weather_.most_delay);
      }
    };
    const int lost = counts_.lost, cut = counts_.cut;
    Send(from, to, what, [this, from, to, what, life, serve, finish, notice] {
      const uint64_t serving = loop_.life(to);
      serve([this, from, to, what, life, serving, finish,
             notice](absl::StatusOr<Reply> reply) {
        if (!loop_.IsUp(to) || loop_.life(to) != serving) return;
        const int lost = counts_.lost, cut = counts_.cut;
        Send(to, from, what, [this, from, life, finish, reply] {
          if (loop_.life(from) == life) finish(reply);
        });
        notice(lost, cut);
      });
    });
    notice(lost, cut);
  }

  void Deliver(int from, int to, const char* what, absl::Duration delay,
               std::function<void()> arrive);

  SimLoop& loop_;
  SimWeatherOnTheWire weather_;
  Counts counts_;
  std::set<std::pair<int, int>> cuts_;
  std::map<std::pair<int, int>, absl::Duration> slow_;
  // When the last of the messages in order arrives.
  std::map<std::pair<int, int>, absl::Duration> last_arrival_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_NETWORK_H_
