// The server's end of one Exchange stream.
#ifndef SERAPH_SERVER_SERVICE_EXCHANGE_STREAM_H_
#define SERAPH_SERVER_SERVICE_EXCHANGE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/concurrent/mutex.h"
#include "common/shm/shared_room.h"
#include "common/wire/shared_messages.h"
#include "google/protobuf/arena.h"
#include "server/service/exchange_codec.h"
#include "server/service/open_streams.h"
#include "server/service/parameter_calls.h"

namespace seraph {

// Reads requests one after the other, hands each on, and writes replies in the
// order in which they become ready; those that wait go as one message where the
// client sends such, and so do those that are ready as soon as their requests,
// which came as one message, are handed on. A client that has said all it
// wanted gets its answers before the stream ends. A request that waits for its
// answer holds nothing up; but from a client that does not read its replies
// nothing more is read. What becomes ready after the stream has ended is
// dropped: the client sends its unanswered requests again on its next stream.
//
// Deletes itself when gRPC is done with it.
class ExchangeStream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // All must outlive the server's last stream. `room`: for messages in memory
  // that the client shares with us; null: none are taken.
  ExchangeStream(ParameterCalls* calls, OpenStreams* streams, SharedRoom* room);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  struct Outgoing {
    WithRows<v1::ExchangeReply> reply;
    RequestHold hold;
    size_t bytes = 0;  // Of rows.
  };

  // One write.
  struct Batch {
    std::vector<Outgoing> replies;
    bool is_batch = false;  // Even of one reply.
  };

  // What replies write to; it outlives the stream while requests are out.
  struct Outbox {
    Mutex mu;
    ExchangeStream* stream ABSL_GUARDED_BY(mu);  // Null once it has ended.
    std::deque<Outgoing> replies ABSL_GUARDED_BY(mu);
    bool batches ABSL_GUARDED_BY(mu) = false;  // The client sends such.
    bool writing ABSL_GUARDED_BY(mu) = false;
    // Hands requests on, and sends what it answers of them when it has.
    std::thread::id gathering ABSL_GUARDED_BY(mu);
    bool read_waits ABSL_GUARDED_BY(mu) = false;  // Until replies have left.
    bool read_all ABSL_GUARDED_BY(mu) = false;    // No more requests come.
    size_t unanswered ABSL_GUARDED_BY(mu) = 0;    // Requests handed on.
    // What it points to is of whoever has set `writing`.
    std::shared_ptr<SharedMessageWriter> shared ABSL_GUARDED_BY(mu) =
        std::make_shared<SharedMessageWriter>();
    bool finished ABSL_GUARDED_BY(mu) = false;
    OpenStreams::Number number ABSL_GUARDED_BY(mu) = 0;
  };

  static void Reply(const std::shared_ptr<Outbox>& outbox,
                    WithRows<v1::ExchangeReply> reply, RequestHold hold);
  // Errors: InvalidArgument.
  absl::Status HandOn();
  // Takes what goes together, with `writing` just set.
  static Batch TakeBatch(Outbox* outbox)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(outbox->mu);
  // Writes it, unless the stream has ended.
  static void Write(const std::shared_ptr<Outbox>& outbox, Batch batch);
  void FinishOnce(const grpc::Status& status);
  // Ends the stream if all was read and answered.
  void FinishIfAllIsSaid() ABSL_EXCLUSIVE_LOCKS_REQUIRED(outbox_->mu);

  ParameterCalls& calls_;
  OpenStreams& streams_;
  const std::shared_ptr<Outbox> outbox_;
  grpc::ByteBuffer request_;
  SharedMessageReader shared_requests_;
  // The requests that are being handed on.
  const std::unique_ptr<char[]> arena_block_;
  google::protobuf::Arena arena_;
  // Of the write under way.
  grpc::ByteBuffer reply_;
  std::vector<RequestHold> holds_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_EXCHANGE_STREAM_H_
