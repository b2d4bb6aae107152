// What the replicas of a partition say to each other.
#ifndef SERAPH_SERVER_CORE_PEER_MESSAGE_H_
#define SERAPH_SERVER_CORE_PEER_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "common/cluster/replica.h"
#include "server/core/log_record.h"

namespace seraph {

// Plain data; proto/replicas.proto has the same messages and fields.

// Primary to member: where does your log end?
struct AskPosition {
  uint64_t question = 0;
};

// Answers AskPosition, and is sent unasked (question 0) when an epoch begins
// and when a record is missing.
struct TellPosition {
  uint64_t question = 0;
  LogPosition last;
  bool holds = false;  // False: a recruit that needs a snapshot.
};

struct ForwardRecord {
  LogPosition before;  // Of the record before it.
  LogPosition position;
  uint64_t commit = 0;   // What all members have.
  uint64_t sent_ms = 0;  // The primary's monotonic clock; comes back.
  RecordPtr record;      // Never null.
};

struct PingReplica {
  LogPosition last;
  uint64_t commit = 0;
  uint64_t sent_ms = 0;
};

// Everything up to `last` is in the member's log.
struct ConfirmRecords {
  LogPosition last;
  uint64_t sent_ms = 0;  // Of the newest forward or ping that it answers.
};

struct SnapshotPiece {
  uint64_t snapshot = 0;  // Chosen by the primary, ascending in an epoch.
  uint32_t piece = 0;     // 0, 1, ...
  uint32_t pieces = 0;
  LogPosition position;
  std::string data;
};

// A recruit has the first `pieces` pieces of a snapshot.
struct TakenPieces {
  uint64_t snapshot = 0;
  uint32_t pieces = 0;
};

struct PeerMessage {
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;
  uint64_t from = 0;  // Incarnations.
  uint64_t to = 0;
  std::variant<AskPosition, TellPosition, PingReplica, ConfirmRecords,
               SnapshotPiece, TakenPieces, ForwardRecord>
      body;
};

// What a record takes in memory and, about, on the wire.
inline size_t BytesOf(const LogRecord& record) {
  return std::visit(
      [](const auto& one) {
        size_t bytes = sizeof(LogRecord);
        if constexpr (requires { one.keys; }) {
          bytes +=
              KeySpan(one.keys).bytes() + one.values.size() * sizeof(float);
        }
        if constexpr (requires { one.calls; }) {
          for (const FunctionCall& call : one.calls) bytes += BytesOf(call);
        }
        if constexpr (requires { one.call; }) bytes += BytesOf(one.call);
        return bytes;
      },
      record);
}

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PEER_MESSAGE_H_
