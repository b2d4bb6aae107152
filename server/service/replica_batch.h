// proto/replicas.proto's batches of messages between replicas, on the wire.
#ifndef SERAPH_SERVER_SERVICE_REPLICA_BATCH_H_
#define SERAPH_SERVER_SERVICE_REPLICA_BATCH_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "common/wire/bulk_split.h"
#include "common/wire/byte_slices.h"
#include "common/wire/message_writer.h"
#include "proto/replicas.pb.h"

namespace seraph {

// A batch of whole messages.
MessageWriter WriteBatch(std::vector<MessageWriter> messages);

// A message that is too large for a batch, as batches of one piece each.
class PiecesWriter {
 public:
  PiecesWriter() = default;  // Done.
  explicit PiecesWriter(MessageWriter message) : slices_(message.Finish()) {}

  bool done() const { return next_ == slices_.size(); }

  // The next `bytes`, or what is left. Requires: not done.
  MessageWriter Next(size_t bytes);

 private:
  std::vector<OwnedSlice> slices_;
  size_t next_ = 0;    // The first that has not left as a whole ...
  size_t offset_ = 0;  // ... and how much of it has.
};

struct ReceivedMessage {
  WithBulk<v1::ReplicaMessage> message;
  size_t bytes = 0;  // On the wire.
};

// Puts messages together that came in pieces. One stream's.
class BatchReader {
 public:
  // The messages that are whole with this batch, in order; their bulk stays in
  // the batch's memory. Errors: InvalidArgument.
  absl::StatusOr<std::vector<ReceivedMessage>> Read(const ByteSlices& batch);

 private:
  std::vector<ByteSlices> pieces_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_REPLICA_BATCH_H_
