// One line that says how far something is.
#ifndef SERAPH_CLIENT_RENDER_PROGRESS_LINE_H_
#define SERAPH_CLIENT_RENDER_PROGRESS_LINE_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/render/terminal.h"
#include "common/time/clock.h"

namespace seraph {

// On a terminal a line at the bottom that is drawn over, at most ten times a
// second; elsewhere a line of its own every kPlainInterval. Lines that stay go
// above it.
//
// Threads: one at a time.
class ProgressLine {
 public:
  static constexpr absl::Duration kRedrawInterval = absl::Milliseconds(100);
  static constexpr absl::Duration kPlainInterval = absl::Seconds(10);

  // `stream` and `clock` must outlive this.
  ProgressLine(std::ostream* stream, const Terminal& terminal,
               const MonotonicClock* clock);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows `label`, a bar filled up to `fraction` (where there is one, 0 to 1)
  // and `details`, as far as the terminal is wide. Off a terminal the bar is a
  // percentage.
  void Show(absl::string_view label, std::optional<double> fraction,
            absl::string_view details);

  // A line that stays. Restarts the interval off a terminal: whoever was told
  // something needs no reminder.
  void Print(absl::string_view line);

  // Takes the moving line away.
  void Clear();

 private:
  void Draw(const std::string& text, const std::string& bar);

  std::ostream& stream_;
  const Terminal terminal_;
  const MonotonicClock& clock_;
  std::optional<absl::Duration> last_shown_;  // By the clock.
  bool drawn_ = false;  // The moving line is on the terminal.
};

// "[=====>    ]", `width` >= 3 characters in all.
std::string Bar(double fraction, int width);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_PROGRESS_LINE_H_
