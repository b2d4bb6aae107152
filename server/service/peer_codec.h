// proto/replicas.proto's messages between replicas <-> server/core's.
#ifndef SERAPH_SERVER_SERVICE_PEER_CODEC_H_
#define SERAPH_SERVER_SERVICE_PEER_CODEC_H_

#include "absl/status/statusor.h"
#include "proto/replicas.pb.h"
#include "server/core/log_record.h"
#include "server/core/peer_message.h"

namespace seraph {

// Keys and values are copied once, as bytes; a snapshot's bytes are moved.
void EncodeRecord(const LogRecord& record, v1::LogRecord* message);

// Errors: InvalidArgument for a record of no kind, or whose bulk fields are no
// whole number of keys or values. Whether it fits a partition is that one's
// affair.
absl::StatusOr<LogRecord> DecodeRecord(const v1::LogRecord& message);

// Without the job: whose replica it is, its owner knows.
v1::ReplicaMessage EncodePeer(PeerMessage message);

// Errors: InvalidArgument, as DecodeRecord.
absl::StatusOr<PeerMessage> DecodePeer(v1::ReplicaMessage message);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PEER_CODEC_H_
