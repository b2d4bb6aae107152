// proto/replicas.proto's messages between replicas <-> server/core's.
#ifndef SERAPH_SERVER_SERVICE_PEER_CODEC_H_
#define SERAPH_SERVER_SERVICE_PEER_CODEC_H_

#include "absl/status/statusor.h"
#include "common/wire/bulk_schema.h"
#include "common/wire/bulk_split.h"
#include "common/wire/message_writer.h"
#include "proto/replicas.pb.h"
#include "server/core/peer_message.h"
#include "server/service/job_name.h"

namespace seraph {

// A message of a replica of `job`, all of it in one protobuf message.
v1::ReplicaMessage EncodePeer(const JobName& job, PeerMessage message);

// The same on the wire. A record's keys and values, and a snapshot's bytes, are
// not copied: they are kept until they have left.
MessageWriter WritePeer(const JobName& job, PeerMessage message);

// What WritePeer does not copy.
extern const BulkSchema kReplicaMessageBulk;

// Keys and values are copied once. Whose replica it is, the caller looks up.
// Errors: InvalidArgument for a message or record of no kind, or whose bulk
// fields are no whole number of keys or values. Whether a record fits a
// partition is that one's affair.
absl::StatusOr<PeerMessage> DecodePeer(
    const WithBulk<v1::ReplicaMessage>& message);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PEER_CODEC_H_
