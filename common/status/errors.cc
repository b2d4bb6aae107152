#include "common/status/errors.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace seraph {
namespace {

// Payloads as plain text, so that absl::Status::ToString shows them.
constexpr absl::string_view kReasonUrl = "seraph/reason";
constexpr absl::string_view kValuePrefix = "seraph/value/";
constexpr absl::string_view kRetryAfterUrl = "seraph/retry_after_ns";

}  // namespace

absl::Status WithReason(absl::Status status, absl::string_view reason,
                        const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : ReasonValuesOf(status)) {
    status.ErasePayload(absl::StrCat(kValuePrefix, name));
  }
  status.SetPayload(kReasonUrl, absl::Cord(reason));
  for (const auto& [name, value] : values) {
    status.SetPayload(absl::StrCat(kValuePrefix, name), absl::Cord(value));
  }
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kReasonUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

std::map<std::string, std::string> ReasonValuesOf(const absl::Status& status) {
  std::map<std::string, std::string> values;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    if (absl::ConsumePrefix(&url, kValuePrefix)) {
      values.emplace(url, payload);
    }
  });
  return values;
}

absl::Status WithRetryAfter(absl::Status status, absl::Duration delay) {
  status.SetPayload(kRetryAfterUrl,
                    absl::Cord(absl::StrCat(absl::ToInt64Nanoseconds(delay))));
  return status;
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterUrl);
  int64_t nanos = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &nanos))
    return std::nullopt;
  return absl::Nanoseconds(nanos);
}

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(),
                      absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsAborted(status) || RetryAfterOf(status).has_value();
}

}  // namespace seraph
