// How far a job is, while somebody waits for it.
#ifndef SERAPH_CLIENT_RENDER_PROGRESS_RENDERER_H_
#define SERAPH_CLIENT_RENDER_PROGRESS_RENDERER_H_

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/render/progress_line.h"
#include "client/render/terminal.h"
#include "client/view/job_view.h"
#include "common/time/clock.h"

namespace seraph {

// Prints a line for each new phase, finished epoch and warning, and between
// them a ProgressLine: epoch, examples per second, loss, time left.
//
// Threads: one at a time.
class ProgressRenderer {
 public:
  // Of more epochs than this in one update only the last is printed: hundreds
  // of short epochs are for the result.
  static constexpr size_t kMaxEpochsAtOnce = 5;

  // `stream` and `clock` must outlive this.
  ProgressRenderer(std::ostream* stream, const Terminal& terminal,
                   const MonotonicClock* clock);

  // The job's status, as often as it comes.
  void Update(const JobView& job);

  // A line of the caller's, above the moving one.
  void Note(absl::string_view line) { line_.Print(line); }

  // Takes the moving line away: the job has ended, or nobody waits any more.
  void Finish() { line_.Clear(); }

 private:
  void PrintPhase(const JobView& job);
  void PrintEpochs(const JobView& job);

  ProgressLine line_;
  std::string phase_;
  size_t epochs_ = 0;
  size_t warnings_ = 0;
};

// "epoch 3/10: 32,561 examples in 0.21s (155,000/s), train log_loss 0.41,
// validation log_loss 0.34", in one line.
std::string EpochText(const EpochView& epoch, uint32_t epochs_total);

// Until all epochs are done at the current rate; nullopt where that is not
// known. An early stop may come before.
std::optional<absl::Duration> TimeLeft(const JobView& job);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_PROGRESS_RENDERER_H_
