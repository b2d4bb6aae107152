// The receiver's end of a stream of messages between replicas.
#ifndef SERAPH_SERVER_SERVICE_DELIVER_STREAM_H_
#define SERAPH_SERVER_SERVICE_DELIVER_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/concurrent/mutex.h"
#include "common/shm/shared_room.h"
#include "common/wire/shared_messages.h"
#include "server/service/open_streams.h"
#include "server/service/replica_batch.h"
#include "server/service/replica_calls.h"

namespace seraph {

// Hands each message on in the order in which they came. While too many bytes
// of them wait for their replicas nothing more is read, so that it is the
// sender that keeps them.
//
// Deletes itself when gRPC is done with it.
class DeliverStream final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // All must outlive the server's last stream. `room`: for messages in memory
  // that the peer shares with us; null: none are taken. Nothing is read while
  // more than `waiting_bytes` wait.
  DeliverStream(ReplicaCalls* calls, OpenStreams* streams, SharedRoom* room,
                size_t waiting_bytes);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What messages that wait refer to; it outlives the stream.
  struct Shared {
    explicit Shared(size_t most) : most_waiting_bytes(most) {}

    const size_t most_waiting_bytes;
    Mutex mu;
    DeliverStream* stream ABSL_GUARDED_BY(mu) = nullptr;  // Null: ended.
    bool finished ABSL_GUARDED_BY(mu) = false;
    bool read_waits ABSL_GUARDED_BY(mu) = false;
    size_t waiting_bytes ABSL_GUARDED_BY(mu) = 0;
    OpenStreams::Number number ABSL_GUARDED_BY(mu) = 0;
  };

  static void Taken(const std::shared_ptr<Shared>& shared, size_t bytes);
  static void FinishOnce(const std::shared_ptr<Shared>& shared,
                         const grpc::Status& status);
  // Errors: InvalidArgument.
  absl::Status HandOn();

  ReplicaCalls& calls_;
  OpenStreams& streams_;
  const std::shared_ptr<Shared> shared_;
  grpc::ByteBuffer batch_;
  SharedMessageReader shared_memory_;
  BatchReader reader_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_DELIVER_STREAM_H_
