// What an error of a server or of the scheduler means for a rank.
#ifndef SERAPH_WORKER_CLIENT_REFUSAL_H_
#define SERAPH_WORKER_CLIENT_REFUSAL_H_

#include "absl/status/status.h"
#include "proto/parameters.pb.h"

namespace seraph {

// Somebody else goes on in the rank's place: another attempt, a newer
// generation of the job, a newer scheduler. The rank ends, and nothing is
// reported as a failure.
bool IsSuperseded(const absl::Status& status);

// The same may succeed later, perhaps by newer placements: nobody answered, the
// server asks to come again, or knows less (or other things) than the rank does
// at the moment.
bool MayPass(const absl::Status& status);

// The error of a whole request. Requires: it has one.
absl::Status ErrorOf(const v1::ExchangeReply& reply);

// The error of a part.
absl::Status PartError(const v1::PartResult& result);

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_REFUSAL_H_
