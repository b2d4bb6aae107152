#include "scheduler/job/job_view.h"

#include <algorithm>
#include <bit>

namespace seraph {

absl::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "PENDING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kPaused:
      return "PAUSED";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
  }
  return "";
}

bool SameBits(const MetricValues& a, const MetricValues& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.first == y.first && std::bit_cast<uint64_t>(x.second) ==
                                         std::bit_cast<uint64_t>(y.second);
      });
}

bool HasEnded(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

absl::string_view JobPhaseName(JobPhase phase) {
  switch (phase) {
    case JobPhase::kWaiting:
      return "waiting";
    case JobPhase::kScanning:
      return "scanning";
    case JobPhase::kPlacing:
      return "placing";
    case JobPhase::kLoading:
      return "loading";
    case JobPhase::kTraining:
      return "training";
    case JobPhase::kExporting:
      return "exporting";
    case JobPhase::kRecovering:
      return "recovering";
    case JobPhase::kEnded:
      return "";
  }
  return "";
}

}  // namespace seraph
