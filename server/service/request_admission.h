// Which parts of a request are taken in.
#ifndef SERAPH_SERVER_SERVICE_REQUEST_ADMISSION_H_
#define SERAPH_SERVER_SERVICE_REQUEST_ADMISSION_H_

#include <optional>
#include <vector>

#include "server/service/admission.h"
#include "server/service/request_codec.h"

namespace seraph {

// What is held for a request until its reply has left.
using RequestHold = std::vector<JobAdmission::Hold>;

// The room that a part of a push has reserved for all chunks of its entry: to
// be given up (JobAdmission::End) when the part is answered.
using Reservation = std::optional<JobAdmission::ChunkedEntry>;

// Both refuse what is beyond the budget: such a part loses its actor and gets
// kRetryAfter. Always taken are entries of the oldest open clock, and one pull
// of it by each rank, which everything else waits for; entries without keys;
// and chunks of an entry of which one was taken. Small pulls have some room of
// their own.
RequestHold AdmitPull(const ServedJob& job,
                      std::vector<DecodedPart<PullMessage>>* parts);
// `reservations`: by part; empty where there is none.
RequestHold AdmitPush(const ServedJob& job, PushParts* parts,
                      std::vector<Reservation>* reservations);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_REQUEST_ADMISSION_H_
