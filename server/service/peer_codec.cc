#include "server/service/peer_codec.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "server/service/ledger_codec.h"
#include "server/service/raw_values.h"

namespace seraph {
namespace {

template <typename T>
void ToBytes(const std::vector<T>& values, std::string* bytes) {
  bytes->assign(reinterpret_cast<const char*>(values.data()),
                values.size() * sizeof(T));
}

template <typename T>
absl::Status FromBytes(const std::string& bytes, const char* field,
                       std::vector<T>* values) {
  if (bytes.size() % sizeof(T) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("record.", field, ": ", bytes.size(),
                     " bytes are no multiple of ", sizeof(T)));
  }
  TakeValues(bytes.data(), bytes.size() / sizeof(T), values);
  return absl::OkStatus();
}

template <typename Message, typename Record>
absl::Status BulkFromProto(const Message& message, Record* record) {
  SERAPH_RETURN_IF_ERROR(FromBytes(message.keys(), "keys", &record->keys));
  return FromBytes(message.values(), "values", &record->values);
}

void RankToProto(const RankName& rank, v1::RankRef* message) {
  message->set_rank(rank.rank);
  message->set_attempt(rank.attempt);
}

RankName RankFromProto(const v1::RankRef& message) {
  return {message.rank(), message.attempt()};
}

struct RecordEncoder {
  v1::LogRecord* message;

  void operator()(const AttemptRecord& record) const {
    RankToProto(record.rank, message->mutable_attempt()->mutable_rank());
  }
  void operator()(const EntryRecord& record) const {
    v1::EntryLogRecord* entry = message->mutable_entry();
    RankToProto(record.rank, entry->mutable_rank());
    ToProto(record.clock, entry->mutable_clock());
    entry->set_ends_epoch(record.ends_epoch);
    entry->set_examples(record.examples);
    EncodeLedger(record.ledger, entry->mutable_ledger());
    ToBytes(record.keys, entry->mutable_keys());
    ToBytes(record.values, entry->mutable_values());
  }
  void operator()(const SessionRecord& record) const {
    v1::SessionLogRecord* session = message->mutable_session();
    session->set_session(record.session);
    session->set_number(record.number);
    ToBytes(record.keys, session->mutable_keys());
    ToBytes(record.values, session->mutable_values());
  }
  void operator()(const LoadRecord& record) const {
    v1::LoadLogRecord* load = message->mutable_load();
    ToBytes(record.keys, load->mutable_keys());
    ToBytes(record.values, load->mutable_values());
  }
};

struct BodyEncoder {
  v1::ReplicaMessage* message;

  void operator()(const AskPosition& ask) const {
    message->mutable_ask()->set_question(ask.question);
  }
  void operator()(const TellPosition& tell) const {
    v1::TellPosition* to = message->mutable_tell();
    to->set_question(tell.question);
    ToProto(tell.last, to->mutable_last());
    to->set_holds(tell.holds);
  }
  void operator()(const PingReplica& ping) const {
    v1::PingReplica* to = message->mutable_ping();
    ToProto(ping.last, to->mutable_last());
    to->set_commit(ping.commit);
    to->set_sent_ms(ping.sent_ms);
  }
  void operator()(const ConfirmRecords& confirm) const {
    v1::ConfirmRecords* to = message->mutable_confirm();
    ToProto(confirm.last, to->mutable_last());
    to->set_sent_ms(confirm.sent_ms);
  }
  void operator()(SnapshotPiece& piece) const {
    v1::SnapshotPiece* to = message->mutable_snapshot();
    to->set_snapshot(piece.snapshot);
    to->set_piece(piece.piece);
    to->set_pieces(piece.pieces);
    ToProto(piece.position, to->mutable_position());
    to->set_data(std::move(piece.data));
  }
  void operator()(const TakenPieces& taken) const {
    message->mutable_taken()->set_snapshot(taken.snapshot);
    message->mutable_taken()->set_pieces(taken.pieces);
  }
  void operator()(const ForwardRecord& forward) const {
    v1::ForwardRecord* to = message->mutable_forward();
    ToProto(forward.before, to->mutable_before());
    ToProto(forward.position, to->mutable_position());
    to->set_commit(forward.commit);
    to->set_sent_ms(forward.sent_ms);
    EncodeRecord(*forward.record, to->mutable_record());
  }
};

}  // namespace

void EncodeRecord(const LogRecord& record, v1::LogRecord* message) {
  std::visit(RecordEncoder{message}, record);
}

absl::StatusOr<LogRecord> DecodeRecord(const v1::LogRecord& message) {
  switch (message.record_case()) {
    case v1::LogRecord::kAttempt:
      return AttemptRecord{RankFromProto(message.attempt().rank())};
    case v1::LogRecord::kEntry: {
      const v1::EntryLogRecord& entry = message.entry();
      EntryRecord record;
      record.rank = RankFromProto(entry.rank());
      record.clock = FromProto(entry.clock());
      record.ends_epoch = entry.ends_epoch();
      record.examples = entry.examples();
      record.ledger = DecodeLedger(entry.ledger());
      SERAPH_RETURN_IF_ERROR(BulkFromProto(entry, &record));
      return record;
    }
    case v1::LogRecord::kSession: {
      SessionRecord record;
      record.session = message.session().session();
      record.number = message.session().number();
      SERAPH_RETURN_IF_ERROR(BulkFromProto(message.session(), &record));
      return record;
    }
    case v1::LogRecord::kLoad: {
      LoadRecord record;
      SERAPH_RETURN_IF_ERROR(BulkFromProto(message.load(), &record));
      return record;
    }
    default:
      return absl::InvalidArgumentError("record: of no kind");
  }
}

v1::ReplicaMessage EncodePeer(PeerMessage message) {
  v1::ReplicaMessage encoded;
  encoded.set_table(message.table);
  encoded.set_partition(message.partition);
  encoded.set_epoch(message.epoch);
  encoded.set_from(message.from);
  encoded.set_to(message.to);
  std::visit(BodyEncoder{&encoded}, message.body);
  return encoded;
}

absl::StatusOr<PeerMessage> DecodePeer(v1::ReplicaMessage message) {
  PeerMessage decoded;
  decoded.table = message.table();
  decoded.partition = message.partition();
  decoded.epoch = message.epoch();
  decoded.from = message.from();
  decoded.to = message.to();
  switch (message.body_case()) {
    case v1::ReplicaMessage::kAsk:
      decoded.body = AskPosition{message.ask().question()};
      break;
    case v1::ReplicaMessage::kTell:
      decoded.body = TellPosition{message.tell().question(),
                                  FromProto(message.tell().last()),
                                  message.tell().holds()};
      break;
    case v1::ReplicaMessage::kPing:
      decoded.body =
          PingReplica{FromProto(message.ping().last()), message.ping().commit(),
                      message.ping().sent_ms()};
      break;
    case v1::ReplicaMessage::kConfirm:
      decoded.body = ConfirmRecords{FromProto(message.confirm().last()),
                                    message.confirm().sent_ms()};
      break;
    case v1::ReplicaMessage::kSnapshot: {
      v1::SnapshotPiece* piece = message.mutable_snapshot();
      decoded.body = SnapshotPiece{
          piece->snapshot(), piece->piece(), piece->pieces(),
          FromProto(piece->position()), std::move(*piece->mutable_data())};
      break;
    }
    case v1::ReplicaMessage::kTaken:
      decoded.body =
          TakenPieces{message.taken().snapshot(), message.taken().pieces()};
      break;
    case v1::ReplicaMessage::kForward: {
      const v1::ForwardRecord& forward = message.forward();
      ForwardRecord body;
      body.before = FromProto(forward.before());
      body.position = FromProto(forward.position());
      body.commit = forward.commit();
      body.sent_ms = forward.sent_ms();
      SERAPH_ASSIGN_OR_RETURN(LogRecord record, DecodeRecord(forward.record()));
      body.record = std::make_shared<const LogRecord>(std::move(record));
      decoded.body = std::move(body);
      break;
    }
    default:
      return absl::InvalidArgumentError("replica message: of no kind");
  }
  return decoded;
}

}  // namespace seraph
