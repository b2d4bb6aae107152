// What a program can read of an error, beside its code and message.
//
// A reason (UPPER_SNAKE_CASE, stable: callers compare it), named values, and
// when to try again. They are payloads of the absl::Status, so that they pass
// through every layer, and common/rpc/grpc_status.h carries them over the wire
// as google.rpc.ErrorInfo and RetryInfo.
#ifndef SERAPH_COMMON_STATUS_ERRORS_H_
#define SERAPH_COMMON_STATUS_ERRORS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace seraph {

// All functions that change a status leave OK as it is.

// Adds a reason, or replaces it and its values.
absl::Status WithReason(absl::Status status, absl::string_view reason,
                        const std::map<std::string, std::string>& values = {});

// "" if there is none.
std::string ReasonOf(const absl::Status& status);

// The values that came with the reason.
std::map<std::string, std::string> ReasonValuesOf(const absl::Status& status);

// Says that the call may be repeated after `delay` (>= 0).
absl::Status WithRetryAfter(absl::Status status, absl::Duration delay);
std::optional<absl::Duration> RetryAfterOf(const absl::Status& status);

// Puts "context: " in front of the message and keeps the rest.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// Whether the same call may succeed when it is repeated as it is: Unavailable,
// DeadlineExceeded, Aborted, or any error that says when to try again. What a
// call has done until then is uncertain, unless it carries a name of its own.
bool IsTransient(const absl::Status& status);

}  // namespace seraph

#endif  // SERAPH_COMMON_STATUS_ERRORS_H_
