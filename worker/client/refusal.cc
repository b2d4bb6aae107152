#include "worker/client/refusal.h"

#include <string>
#include <utility>

#include "common/status/errors.h"

namespace seraph {

absl::Status ErrorOf(const v1::ExchangeReply& reply) {
  absl::Status status(static_cast<absl::StatusCode>(reply.error_code()),
                      reply.error_message());
  if (!reply.error_reason().empty()) {
    status = WithReason(std::move(status), reply.error_reason());
  }
  if (reply.retry_after_ms() > 0) {
    status = WithRetryAfter(std::move(status),
                            absl::Milliseconds(reply.retry_after_ms()));
  }
  return status;
}

absl::Status PartError(const v1::PartResult& result) {
  switch (result.code()) {
    case v1::PART_OK:
      return absl::OkStatus();
    case v1::PART_NOT_HERE:
    case v1::PART_STALE_EPOCH:
    case v1::PART_REPLACED:
    case v1::PART_UNKNOWN_LIST:
      return absl::UnavailableError(result.message());
    case v1::PART_RETRY_AFTER:
      return WithRetryAfter(absl::UnavailableError(result.message()),
                            absl::Milliseconds(result.retry_after_ms()));
    case v1::PART_STALE_ATTEMPT:
      return WithReason(absl::AbortedError(result.message()), "STALE_ATTEMPT");
    case v1::PART_FAILED:
      return WithReason(absl::InternalError(result.message()),
                        "PARTITION_FAILED");
    case v1::PART_INVALID:
      return absl::InvalidArgumentError(result.message());
    default:
      return absl::FailedPreconditionError(result.message());
  }
}

bool IsSuperseded(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  return reason == "STALE_ATTEMPT" || reason == "GENERATION_STALE" ||
         reason == "OLD_TERM";
}

bool MayPass(const absl::Status& status) {
  if (status.ok() || IsSuperseded(status)) return false;
  const std::string reason = ReasonOf(status);
  return IsTransient(status) || absl::IsNotFound(status) ||
         absl::IsCancelled(status) || reason == "OTHER_INCARNATION" ||
         reason == "GENERATION_NEWER";
}

}  // namespace seraph
