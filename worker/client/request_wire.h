// Requests as they leave for a server.
#ifndef SERAPH_WORKER_CLIENT_REQUEST_WIRE_H_
#define SERAPH_WORKER_CLIENT_REQUEST_WIRE_H_

#include <cstdint>
#include <memory>

#include "common/wire/message_writer.h"
#include "worker/client/rank_request.h"

namespace seraph {

// The request under a number of the stream's. Its keys and values are not
// copied, unless they are few: the request is kept until they have left.
MessageWriter WriteRequest(const std::shared_ptr<const RankRequest>& request,
                           uint64_t number);

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_REQUEST_WIRE_H_
