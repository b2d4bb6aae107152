#include "server/service/peer_codec.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/function_codec.h"
#include "common/wire/replica_codec.h"
#include "common/wire/slice_values.h"
#include "server/core/log_record.h"
#include "server/service/ledger_codec.h"

namespace seraph {
namespace {

// Bulk -----------------------------------------------------------------------

// Of an entry, a session's push or call, and rows of a model alike.
constexpr BulkField kRecordFields[] = {
    {.number = v1::EntryLogRecord::kKeysFieldNumber},
    {.number = v1::EntryLogRecord::kValuesFieldNumber}};
constexpr const BulkField& kRecordKeys = kRecordFields[0];
constexpr const BulkField& kRecordValues = kRecordFields[1];
static_assert(v1::SessionLogRecord::kKeysFieldNumber == kRecordKeys.number &&
              v1::SessionLogRecord::kValuesFieldNumber ==
                  kRecordValues.number &&
              v1::LoadLogRecord::kKeysFieldNumber == kRecordKeys.number &&
              v1::LoadLogRecord::kValuesFieldNumber == kRecordValues.number &&
              v1::CallLogRecord::kKeysFieldNumber == kRecordKeys.number &&
              v1::CallLogRecord::kValuesFieldNumber == kRecordValues.number);
constexpr BulkSchema kRecordBulk = {kRecordFields};

constexpr BulkField kKindFields[] = {
    {v1::LogRecord::kEntryFieldNumber, &kRecordBulk},
    {v1::LogRecord::kSessionFieldNumber, &kRecordBulk},
    {v1::LogRecord::kLoadFieldNumber, &kRecordBulk},
    {v1::LogRecord::kCallFieldNumber, &kRecordBulk}};
constexpr BulkSchema kKindBulk = {kKindFields, /*one_of=*/true};

constexpr BulkField kForwardFields[] = {
    {v1::ForwardRecord::kRecordFieldNumber, &kKindBulk}};
constexpr BulkSchema kForwardBulk = {kForwardFields};

constexpr BulkField kSnapshotFields[] = {
    {.number = v1::SnapshotPiece::kDataFieldNumber}};
constexpr const BulkField& kSnapshotData = kSnapshotFields[0];
constexpr BulkSchema kSnapshotBulk = {kSnapshotFields};

constexpr BulkField kBodyFields[] = {
    {v1::ReplicaMessage::kSnapshotFieldNumber, &kSnapshotBulk},
    {v1::ReplicaMessage::kForwardFieldNumber, &kForwardBulk}};

// `Values`: of numbers.
template <typename Values>
absl::Status FromBytes(const ByteSlices& bytes, const char* field,
                       Values* values) {
  using T = typename Values::value_type;
  if (bytes.size() % sizeof(T) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("record.", field, ": ", bytes.size(),
                     " bytes are no multiple of ", sizeof(T)));
  }
  SliceReader reader(bytes);
  if constexpr (std::is_same_v<Values, FloatBuffer>) {
    values->resize(bytes.size() / sizeof(T));
    CopyValues(&reader, absl::MakeSpan(*values));
  } else {
    TakeValues(bytes.size() / sizeof(T), &reader, values);
  }
  return absl::OkStatus();
}

// The keys and values of a record; `inside` is the message of its kind.
template <typename Message, typename Record>
absl::Status TakeBulk(const WithBulk<v1::ReplicaMessage>& message,
                      const Message& inside, Record* record) {
  std::vector<Key> keys;
  SERAPH_RETURN_IF_ERROR(
      FromBytes(message.Bulk(kRecordKeys, inside.keys()), "keys", &keys));
  record->keys = std::move(keys);
  return FromBytes(message.Bulk(kRecordValues, inside.values()), "values",
                   &record->values);
}

// Heads ----------------------------------------------------------------------

void RankToProto(const RankName& rank, v1::RankRef* message) {
  message->set_rank(rank.rank);
  message->set_attempt(rank.attempt);
}

RankName RankFromProto(const v1::RankRef& message) {
  return {message.rank(), message.attempt()};
}

// All of a record but its bulk.
struct RecordHead {
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
    for (const FunctionCall& call : record.calls) {
      ToProto(call, entry->add_calls());
    }
  }
  void operator()(const SessionRecord& record) const {
    v1::SessionLogRecord* session = message->mutable_session();
    session->set_session(record.session);
    session->set_number(record.number);
  }
  void operator()(const CallRecord& record) const {
    v1::CallLogRecord* call = message->mutable_call();
    call->set_session(record.session);
    call->set_number(record.number);
    ToProto(record.call, call->mutable_call());
    call->set_has_effect(record.has_effect);
  }
  void operator()(const LoadRecord& record) const { message->mutable_load(); }
};

// All of a body but its bulk.
struct BodyHead {
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
  void operator()(const SnapshotPiece& piece) const {
    v1::SnapshotPiece* to = message->mutable_snapshot();
    to->set_snapshot(piece.snapshot);
    to->set_piece(piece.piece);
    to->set_pieces(piece.pieces);
    ToProto(piece.position, to->mutable_position());
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
    std::visit(RecordHead{to->mutable_record()}, *forward.record);
  }
};

v1::ReplicaMessage HeadOf(const JobName& job, const PeerMessage& message) {
  v1::ReplicaMessage head;
  head.mutable_job()->set_id(job.id);
  head.mutable_job()->set_generation(job.generation);
  head.set_table(message.table);
  head.set_partition(message.partition);
  head.set_epoch(message.epoch);
  head.set_from(message.from);
  head.set_to(message.to);
  std::visit(BodyHead{&head}, message.body);
  return head;
}

// Keys of a range are written out for it: eight bytes each.
OwnedSlice SliceOfKeys(KeySpan keys, const RecordPtr& record) {
  if (!keys.is_range()) return SliceOf(keys.list(), record);
  const auto written =
      std::make_shared<const std::vector<Key>>(keys.ToVector());
  return SliceOf(absl::MakeConstSpan(*written), written);
}

// The head of a record of `kind` and its bulk.
MessageWriter WriteRecord(const v1::LogRecord& head, const RecordPtr& record) {
  MessageWriter kind;
  switch (head.record_case()) {
    case v1::LogRecord::kEntry:
      kind.Head(head.entry());
      break;
    case v1::LogRecord::kSession:
      kind.Head(head.session());
      break;
    case v1::LogRecord::kLoad:
      kind.Head(head.load());
      break;
    case v1::LogRecord::kCall:
      kind.Head(head.call());
      break;
    default:
      kind.Head(head);
      return kind;
  }
  std::visit(
      [&](const auto& one) {
        if constexpr (requires { one.keys; }) {
          kind.Bytes(kRecordKeys.number, SliceOfKeys(one.keys, record));
          kind.Bytes(kRecordValues.number,
                     SliceOf(absl::MakeConstSpan(one.values), record));
        }
      },
      *record);
  MessageWriter written;
  written.Message(head.record_case(), std::move(kind));
  return written;
}

absl::StatusOr<LogRecord> DecodeRecord(
    const WithBulk<v1::ReplicaMessage>& message) {
  const v1::LogRecord& head = message.head.forward().record();
  switch (head.record_case()) {
    case v1::LogRecord::kAttempt:
      return AttemptRecord{RankFromProto(head.attempt().rank())};
    case v1::LogRecord::kEntry: {
      const v1::EntryLogRecord& entry = head.entry();
      EntryRecord record;
      record.rank = RankFromProto(entry.rank());
      record.clock = FromProto(entry.clock());
      record.ends_epoch = entry.ends_epoch();
      record.examples = entry.examples();
      record.ledger = DecodeLedger(entry.ledger());
      for (const v1::FunctionCall& one : entry.calls()) {
        SERAPH_ASSIGN_OR_RETURN(FunctionCall call, FromProto(one));
        record.calls.push_back(std::move(call));
      }
      SERAPH_RETURN_IF_ERROR(TakeBulk(message, entry, &record));
      return record;
    }
    case v1::LogRecord::kSession: {
      SessionRecord record;
      record.session = head.session().session();
      record.number = head.session().number();
      SERAPH_RETURN_IF_ERROR(TakeBulk(message, head.session(), &record));
      return record;
    }
    case v1::LogRecord::kCall: {
      CallRecord record;
      record.session = head.call().session();
      record.number = head.call().number();
      SERAPH_ASSIGN_OR_RETURN(record.call, FromProto(head.call().call()));
      record.has_effect = head.call().has_effect();
      SERAPH_RETURN_IF_ERROR(TakeBulk(message, head.call(), &record));
      return record;
    }
    case v1::LogRecord::kLoad: {
      LoadRecord record;
      SERAPH_RETURN_IF_ERROR(TakeBulk(message, head.load(), &record));
      return record;
    }
    default:
      return absl::InvalidArgumentError("record: of no kind");
  }
}

}  // namespace

const BulkSchema kReplicaMessageBulk = {kBodyFields, /*one_of=*/true};

v1::ReplicaMessage EncodePeer(const JobName& job, PeerMessage message) {
  // As it would come out at the other end.
  v1::ReplicaMessage whole;
  std::string bytes;
  for (const OwnedSlice& slice : WritePeer(job, std::move(message)).Finish()) {
    bytes.append(slice.bytes.data(), slice.bytes.size());
  }
  whole.ParseFromString(bytes);
  return whole;
}

MessageWriter WritePeer(const JobName& job, PeerMessage message) {
  v1::ReplicaMessage head = HeadOf(job, message);
  MessageWriter written;
  MessageWriter body;
  if (auto* piece = std::get_if<SnapshotPiece>(&message.body)) {
    const auto data =
        std::make_shared<const std::string>(std::move(piece->data));
    body.Head(head.snapshot());
    body.Bytes(kSnapshotData.number, OwnedSlice{*data, data});
  } else if (auto* forward = std::get_if<ForwardRecord>(&message.body)) {
    MessageWriter record =
        WriteRecord(head.forward().record(), forward->record);
    head.mutable_forward()->clear_record();
    body.Head(head.forward());
    body.Message(v1::ForwardRecord::kRecordFieldNumber, std::move(record));
  } else {
    written.Head(head);
    return written;
  }
  const int field = head.body_case();
  head.clear_body();
  written.Head(head);
  written.Message(field, std::move(body));
  return written;
}

absl::StatusOr<PeerMessage> DecodePeer(
    const WithBulk<v1::ReplicaMessage>& whole) {
  const v1::ReplicaMessage& message = whole.head;
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
      const v1::SnapshotPiece& piece = message.snapshot();
      decoded.body =
          SnapshotPiece{piece.snapshot(), piece.piece(), piece.pieces(),
                        FromProto(piece.position()),
                        whole.Bulk(kSnapshotData, piece.data()).ToString()};
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
      SERAPH_ASSIGN_OR_RETURN(LogRecord record, DecodeRecord(whole));
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
