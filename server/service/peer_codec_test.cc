#include "server/service/peer_codec.h"

#include <memory>
#include <utility>
#include <variant>

#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

const JobName kJob = {"job", 7};

// There, over the wire's bytes, and back.
template <typename Body>
Body RoundTrip(Body body) {
  PeerMessage message;
  message.table = 1;
  message.partition = 2;
  message.epoch = 3;
  message.from = 4;
  message.to = 5;
  message.body = std::move(body);
  const auto owner = std::make_shared<std::vector<OwnedSlice>>(
      WritePeer(kJob, message).Finish());
  std::vector<absl::string_view> pieces;
  for (const OwnedSlice& slice : *owner) pieces.push_back(slice.bytes);
  const ByteSlices bytes(pieces, owner);
  // As protobuf reads it ...
  v1::ReplicaMessage parsed;
  EXPECT_TRUE(parsed.ParseFromString(bytes.ToString()));
  EXPECT_EQ(parsed.job().id(), kJob.id);
  EXPECT_EQ(parsed.job().generation(), kJob.generation);
  EXPECT_THAT(DecodePeer(parsed), IsOk());
  // ... and as we do.
  const auto split =
      ParseWithBulk<v1::ReplicaMessage>(bytes, kReplicaMessageBulk);
  EXPECT_THAT(split, IsOk());
  EXPECT_LT(split->head.ByteSizeLong(), 200) << "bulk is no part of the head";
  auto decoded = DecodePeer(*split);
  EXPECT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->table, 1);
  EXPECT_EQ(decoded->partition, 2);
  EXPECT_EQ(decoded->epoch, 3);
  EXPECT_EQ(decoded->from, 4);
  EXPECT_EQ(decoded->to, 5);
  return std::get<Body>(decoded->body);
}

TEST(PeerCodecTest, QuestionsAndAnswers) {
  EXPECT_EQ(RoundTrip(AskPosition{7}).question, 7);
  const TellPosition tell = RoundTrip(TellPosition{7, {8, 9}, true});
  EXPECT_EQ(tell.question, 7);
  EXPECT_EQ(tell.last, (LogPosition{8, 9}));
  EXPECT_TRUE(tell.holds);
  const PingReplica ping = RoundTrip(PingReplica{{8, 9}, 10, 11});
  EXPECT_EQ(ping.last, (LogPosition{8, 9}));
  EXPECT_EQ(ping.commit, 10);
  EXPECT_EQ(ping.sent_ms, 11);
  const ConfirmRecords confirm = RoundTrip(ConfirmRecords{{8, 9}, 11});
  EXPECT_EQ(confirm.last, (LogPosition{8, 9}));
  EXPECT_EQ(confirm.sent_ms, 11);
}

TEST(PeerCodecTest, Snapshots) {
  const std::string bytes("\0\xff\x80 bytes", 9);
  const SnapshotPiece piece = RoundTrip(SnapshotPiece{1, 2, 3, {4, 5}, bytes});
  EXPECT_EQ(piece.snapshot, 1);
  EXPECT_EQ(piece.piece, 2);
  EXPECT_EQ(piece.pieces, 3);
  EXPECT_EQ(piece.position, (LogPosition{4, 5}));
  EXPECT_EQ(piece.data, bytes);
  const TakenPieces taken = RoundTrip(TakenPieces{1, 2});
  EXPECT_EQ(taken.snapshot, 1);
  EXPECT_EQ(taken.pieces, 2);
}

template <typename Record>
Record ForwardTrip(Record record) {
  ForwardRecord forward;
  forward.before = {1, 2};
  forward.position = {1, 3};
  forward.commit = 4;
  forward.sent_ms = 5;
  forward.record = std::make_shared<const LogRecord>(std::move(record));
  const ForwardRecord back = RoundTrip(std::move(forward));
  EXPECT_EQ(back.before, (LogPosition{1, 2}));
  EXPECT_EQ(back.position, (LogPosition{1, 3}));
  EXPECT_EQ(back.commit, 4);
  EXPECT_EQ(back.sent_ms, 5);
  return std::get<Record>(*back.record);
}

TEST(PeerCodecTest, Records) {
  EXPECT_EQ(ForwardTrip(AttemptRecord{{3, 4}}).rank, (RankName{3, 4}));

  EntryRecord entry;
  entry.rank = {3, 4};
  entry.clock = {1, 7};
  entry.ends_epoch = true;
  entry.examples = 32;
  entry.keys = {5, kMaxKey};
  entry.values = {1.5f, -0.0f};
  entry.ledger = {.clock = {1, 7},
                  .position_epoch = 1,
                  .position_record = 99,
                  .sums = {0.1, 0.2}};
  entry.calls = {{.function = "scale", .version = 1, .arguments = {0.5}},
                 {.function = "copy", .version = 2, .column = 3}};
  const EntryRecord back = ForwardTrip(entry);
  EXPECT_EQ(back.rank, entry.rank);
  EXPECT_EQ(back.clock, entry.clock);
  EXPECT_TRUE(back.ends_epoch);
  EXPECT_EQ(back.examples, 32);
  EXPECT_EQ(back.keys, entry.keys);
  EXPECT_EQ(back.values, entry.values);
  EXPECT_TRUE(std::signbit(back.values[1]));
  EXPECT_EQ(back.ledger, entry.ledger);
  EXPECT_EQ(back.calls, entry.calls);

  // A range comes over as the same keys.
  entry.keys = KeySet::Range(kMaxKey - 1, 2);
  EXPECT_EQ(ForwardTrip(entry).keys, entry.keys);

  SessionRecord session;
  session.session = 1;
  session.number = 2;
  session.keys = {1};
  session.values = {2};
  EXPECT_EQ(ForwardTrip(session).number, 2);
  EXPECT_EQ(ForwardTrip(session).values, session.values);
  CallRecord call;
  call.session = 1;
  call.number = 2;
  call.call = {.function = "f", .version = 3, .arguments = {"x", int64_t{4}}};
  call.has_effect = true;
  call.keys = {1, kMaxKey};
  call.values = {2, 3};
  const CallRecord called = ForwardTrip(call);
  EXPECT_EQ(called.session, 1);
  EXPECT_EQ(called.number, 2);
  EXPECT_EQ(called.call, call.call);
  EXPECT_TRUE(called.has_effect);
  EXPECT_EQ(called.keys, call.keys);
  EXPECT_EQ(called.values, call.values);
  LoadRecord load;
  load.keys = {1, 2};
  load.values = {3, 4};
  EXPECT_EQ(ForwardTrip(load).keys, load.keys);
  EXPECT_EQ(ForwardTrip(load).values, load.values);
}

TEST(PeerCodecTest, WhatIsNoMessageIsRefused) {
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(DecodePeer(v1::ReplicaMessage()), refused);
  v1::ReplicaMessage message;
  message.mutable_forward();
  EXPECT_THAT(DecodePeer(message), refused);
  message.mutable_forward()->mutable_record()->mutable_load()->set_keys("123");
  EXPECT_THAT(DecodePeer(message), refused);
}

}  // namespace
}  // namespace seraph
