#include "client/base/exit_code.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

constexpr absl::string_view kExitCodeUrl = "seraph/exit-code";
constexpr absl::string_view kReportedUrl = "seraph/reported";

ExitCode OfInput(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAlreadyExists:
      return ExitCode::kUsage;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kFailed;
  }
}

ExitCode OfOutput(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kFailed;
  }
}

ExitCode OfCall(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:  // What answers is no daemon.
      return ExitCode::kUnreachable;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
      return ExitCode::kUsage;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kFailed;
  }
}

// Of two opinions the first holds: whoever knew more was nearer.
absl::Status Classify(const absl::Status& status,
                      ExitCode (*classify)(absl::StatusCode)) {
  if (status.ok() || status.GetPayload(kExitCodeUrl).has_value()) return status;
  return WithExitCode(status, classify(status.code()));
}

}  // namespace

absl::Status InputError(const absl::Status& status) {
  return Classify(status, OfInput);
}

absl::Status OutputError(const absl::Status& status) {
  return Classify(status, OfOutput);
}

absl::Status CallError(const absl::Status& status) {
  return Classify(status, OfCall);
}

absl::Status WithExitCode(absl::Status status, ExitCode code) {
  status.SetPayload(kExitCodeUrl,
                    absl::Cord(absl::StrCat(static_cast<int>(code))));
  return status;
}

absl::Status Reported(ExitCode code) {
  if (code == ExitCode::kDone) return absl::OkStatus();
  absl::Status status = absl::UnknownError("reported");
  status.SetPayload(kReportedUrl, absl::Cord("yes"));
  return WithExitCode(status, code);
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kDone;
  const absl::optional<absl::Cord> payload = status.GetPayload(kExitCodeUrl);
  int code = static_cast<int>(ExitCode::kFailed);
  if (payload.has_value()) {
    // What does not parse is not ours, and leaves the default.
    (void)absl::SimpleAtoi(std::string(*payload), &code);
  }
  return static_cast<ExitCode>(code);
}

bool IsReported(const absl::Status& status) {
  return status.ok() || status.GetPayload(kReportedUrl).has_value();
}

}  // namespace seraph
