#include "server/core/partition_messages.h"

namespace seraph {

void ExpireAnswers(absl::Duration now, absl::Span<Answer> answers) {
  for (Answer& answer : answers) {
    if (now < answer.valid_until) continue;
    answer.outcome = {.code = PartCode::kRetryAfter,
                      .message = "the lease ended before the answer left",
                      .retry_after_ms = 1};
    answer.values.clear();
  }
}

}  // namespace seraph
