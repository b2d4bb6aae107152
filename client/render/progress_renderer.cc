#include "client/render/progress_renderer.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/render/job_text.h"
#include "client/render/numbers.h"

namespace seraph {
namespace {

constexpr absl::string_view kTraining = "training";

// The loss of the last epoch: of the validation where there is one.
std::string LastLoss(const JobView& job) {
  if (job.epochs.empty()) return "";
  const EpochView& last = job.epochs.back();
  for (const NamedValues* values : {&last.validation, &last.train}) {
    for (const auto& [name, value] : *values) {
      if (name == "loss" || name == "log_loss") {
        return absl::StrCat(name, " ", ShortNumber(value));
      }
    }
  }
  return "";
}

double EpochFraction(const JobView& job) {
  if (job.epoch_examples_total == 0) return 0;
  return static_cast<double>(job.epoch_examples) / job.epoch_examples_total;
}

// The epoch that runs, from 1.
uint32_t CurrentEpoch(const JobView& job) {
  const uint32_t next = job.epochs.size() + 1;
  return job.epochs_total == 0 ? next : std::min(next, job.epochs_total);
}

std::string TrainingDetails(const JobView& job) {
  std::string text;
  if (job.examples_per_second > 0) {
    absl::StrAppend(&text,
                    WithCommas(static_cast<uint64_t>(job.examples_per_second)),
                    " examples/s");
  }
  if (const std::string loss = LastLoss(job); !loss.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "  ", loss);
  }
  if (const auto left = TimeLeft(job); left.has_value()) {
    absl::StrAppend(&text, text.empty() ? "" : "  ", "ETA ",
                    HumanDuration(*left));
  }
  return text;
}

}  // namespace

ProgressRenderer::ProgressRenderer(std::ostream* stream,
                                   const Terminal& terminal,
                                   const MonotonicClock* clock)
    : line_(stream, terminal, clock) {}

void ProgressRenderer::Update(const JobView& job) {
  for (; warnings_ < job.warnings.size(); ++warnings_) {
    line_.Print(absl::StrCat("warning: ", job.warnings[warnings_]));
  }
  // The first epochs are of the training, and an export comes after the last.
  const bool phase_first = job.phase == kTraining;
  if (phase_first) PrintPhase(job);
  PrintEpochs(job);
  if (HasEnded(job.state)) return line_.Clear();
  if (!phase_first) PrintPhase(job);
  if (phase_ == kTraining) {
    line_.Show(absl::StrCat(job.name, ": epoch ", CurrentEpoch(job), "/",
                            job.epochs_total),
               EpochFraction(job), TrainingDetails(job));
  } else {
    line_.Show(
        absl::StrCat(job.name, ": ", phase_.empty() ? "pending" : phase_),
        job.phase_fraction > 0 ? std::optional<double>(job.phase_fraction)
                               : std::nullopt,
        "");
  }
}

void ProgressRenderer::PrintPhase(const JobView& job) {
  if (job.phase == phase_) return;
  phase_ = job.phase;
  if (!phase_.empty()) line_.Print(absl::StrCat(job.name, ": ", phase_));
}

void ProgressRenderer::PrintEpochs(const JobView& job) {
  // A job that went back to a checkpoint repeats epochs.
  epochs_ = std::min(epochs_, job.epochs.size());
  const size_t fresh = job.epochs.size() - epochs_;
  if (fresh > kMaxEpochsAtOnce) epochs_ = job.epochs.size() - 1;
  for (; epochs_ < job.epochs.size(); ++epochs_) {
    line_.Print(absl::StrCat(job.name, ": ",
                             EpochText(job.epochs[epochs_], job.epochs_total)));
  }
}

std::string EpochText(const EpochView& epoch, uint32_t epochs_total) {
  std::string text = absl::StrCat("epoch ", epoch.epoch);
  if (epochs_total > 0) absl::StrAppend(&text, "/", epochs_total);
  absl::StrAppend(&text, ": ", WithCommas(epoch.examples), " examples in ",
                  HumanDuration(absl::Seconds(epoch.seconds)));
  if (epoch.seconds > 0) {
    absl::StrAppend(
        &text, " (",
        WithCommas(static_cast<uint64_t>(epoch.examples / epoch.seconds)),
        "/s)");
  }
  if (!epoch.train.empty()) {
    absl::StrAppend(&text, ", train ", ValuesText(epoch.train));
  }
  if (!epoch.validation.empty()) {
    absl::StrAppend(&text, ", validation ", ValuesText(epoch.validation));
  }
  return text;
}

std::optional<absl::Duration> TimeLeft(const JobView& job) {
  if (job.examples_per_second <= 0 || job.epoch_examples_total == 0 ||
      job.epochs_total == 0) {
    return std::nullopt;
  }
  const double total =
      static_cast<double>(job.epochs_total) * job.epoch_examples_total;
  const double done =
      static_cast<double>(job.epochs.size()) * job.epoch_examples_total +
      job.epoch_examples;
  return absl::Seconds(std::max(0.0, total - done) / job.examples_per_second);
}

}  // namespace seraph
