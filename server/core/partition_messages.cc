#include "server/core/partition_messages.h"

namespace seraph {

void ExpireAnswers(absl::Duration now, absl::Span<Answer> answers) {
  for (Answer& answer : answers) {
    if (now < answer.valid_until) continue;
    answer.outcome = {.code = PartCode::kRetryAfter,
                      .retry_after_ms = 1,
                      .message = "the lease ended before the answer left"};
    answer.values.clear();
  }
}

}  // namespace seraph
