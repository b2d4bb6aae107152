// A request of a rank, as it is kept until it is answered.
#ifndef SERAPH_WORKER_CLIENT_RANK_REQUEST_H_
#define SERAPH_WORKER_CLIENT_RANK_REQUEST_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "common/wire/message_writer.h"
#include "proto/parameters.pb.h"

namespace seraph {

// The message and all that is in it lie in one piece of memory, if they are
// small but for their bulk.
class RankRequest {
 private:
  struct Place;
  std::unique_ptr<Place> place_;

 public:
  // With an empty message.
  RankRequest();
  explicit RankRequest(const v1::ExchangeRequest& copied);
  ~RankRequest();
  RankRequest(RankRequest&& from);

  v1::ExchangeRequest& message;  // On an arena.

  // The pushed values, one piece after the other, where whoever computed them
  // has let go of them: they leave from where they lie, without a copy. The
  // message has none then. Else empty.
  std::vector<OwnedSlice> values;
};

// The push and the pull of a message; null where there is none.
const v1::PushRequest* PushOf(const v1::ExchangeRequest& message);
const v1::PullRequest* PullOf(const v1::ExchangeRequest& message);

// Copies all fields of a push that are the same for every partition, but for
// its header: request_wire_test finds one that is missing.
void CopyEntry(const v1::PushRequest& from, v1::PushRequest* to);

// Of the keys and values of the push; 0: there is none.
size_t PushedBytes(const RankRequest& request);
// Likewise of the pull, too.
size_t BulkBytes(const RankRequest& request);

// The message with its values in it, which are copied.
v1::ExchangeRequest WholeMessage(const RankRequest& request);

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_RANK_REQUEST_H_
