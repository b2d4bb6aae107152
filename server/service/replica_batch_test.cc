#include "server/service/replica_batch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "server/service/peer_codec.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

ByteSlices Bytes(MessageWriter writer) {
  const auto owner =
      std::make_shared<const std::vector<OwnedSlice>>(writer.Finish());
  std::vector<absl::string_view> pieces;
  for (const OwnedSlice& slice : *owner) pieces.push_back(slice.bytes);
  return ByteSlices(pieces, owner);
}

PeerMessage Entry(uint64_t number, size_t keys) {
  EntryRecord entry;
  entry.examples = number;
  for (size_t i = 0; i < keys; ++i) {
    entry.keys.Append({Key{7} * i});
    entry.values.push_back(float(i));
  }
  return {.body = ForwardRecord{
              .position = {1, number},
              .record = std::make_shared<const LogRecord>(std::move(entry))}};
}

MessageWriter Written(const PeerMessage& message) {
  return WritePeer({"job", 1}, message);
}

void ExpectEntry(const WithBulk<v1::ReplicaMessage>& message, uint64_t number,
                 size_t keys) {
  const auto decoded = DecodePeer(message);
  ASSERT_THAT(decoded, IsOk());
  const auto& forward = std::get<ForwardRecord>(decoded->body);
  EXPECT_EQ(forward.position.number, number);
  const auto& entry = std::get<EntryRecord>(*forward.record);
  ASSERT_EQ(entry.keys.size(), keys);
  ASSERT_EQ(entry.values.size(), keys);
  for (size_t i = 0; i < keys; ++i) {
    ASSERT_EQ(entry.keys[i], 7 * i);
    ASSERT_EQ(entry.values[i], float(i));
  }
}

TEST(ReplicaBatchTest, MessagesComeOutInTheirOrder) {
  std::vector<MessageWriter> messages;
  for (uint64_t i = 0; i < 5; ++i) {
    messages.push_back(Written(Entry(i, i * 300)));
  }
  const ByteSlices bytes = Bytes(WriteBatch(std::move(messages)));
  BatchReader reader;
  const auto read = reader.Read(bytes);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 5);
  size_t whole = 0;
  for (uint64_t i = 0; i < 5; ++i) {
    ExpectEntry((*read)[i].message, i, i * 300);
    whole += (*read)[i].bytes;
  }
  EXPECT_LT(whole, bytes.size());
  EXPECT_GT(whole + 50, bytes.size());

  v1::ReplicaBatch batch;
  ASSERT_TRUE(batch.ParseFromString(bytes.ToString()));
  ASSERT_EQ(batch.messages_size(), 5);
  ExpectEntry(batch.messages(4), 4, 1200);
}

TEST(ReplicaBatchTest, ALargeMessageComesInPieces) {
  PiecesWriter writer(Written(Entry(3, 4000)));
  BatchReader reader;
  int pieces = 0;
  while (!writer.done()) {
    const ByteSlices bytes = Bytes(writer.Next(1000));
    EXPECT_LE(bytes.size(), 1010);
    const auto read = reader.Read(bytes);
    ASSERT_THAT(read, IsOk());
    ++pieces;
    ASSERT_EQ(read->size(), writer.done() ? 1 : 0);
    if (writer.done()) ExpectEntry((*read)[0].message, 3, 4000);
  }
  EXPECT_GE(pieces, 48);
  // The reader is as new.
  const auto next =
      reader.Read(Bytes(PiecesWriter(Written(Entry(4, 2))).Next(1000)));
  ASSERT_THAT(next, IsOk());
  ASSERT_EQ(next->size(), 1);
  ExpectEntry((*next)[0].message, 4, 2);
}

TEST(ReplicaBatchTest, BatchesOfOtherWritersAreRead) {
  const v1::ReplicaMessage message = EncodePeer({"job", 1}, Entry(3, 2));
  v1::ReplicaBatch first, second;
  *first.add_messages() = EncodePeer({"job", 1}, Entry(1, 2));
  first.set_piece(message.SerializeAsString().substr(0, 20));
  first.set_more(true);
  second.set_piece(message.SerializeAsString().substr(20));
  const std::string once = first.SerializeAsString();
  // A field twice: protobuf reads it, as a whole.
  const std::string twice =
      second.SerializeAsString() + second.SerializeAsString();
  BatchReader reader;
  auto read = reader.Read(ByteSlices(once, nullptr));
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 1);
  read = reader.Read(ByteSlices(twice, nullptr));
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 1);
  ExpectEntry((*read)[0].message, 3, 2);
}

TEST(ReplicaBatchTest, WhatIsNoMessageIsRefused) {
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  BatchReader reader;
  EXPECT_THAT(reader.Read(ByteSlices("\x0a\x05"
                                     "ab",
                                     nullptr)),
              refused);
  EXPECT_THAT(reader.Read(ByteSlices("\x0a\x02\x0a\x05", nullptr)), refused);
  v1::ReplicaBatch batch;
  batch.set_piece(
      "\x0a\x05"
      "ab");
  const std::string bytes = batch.SerializeAsString();
  EXPECT_THAT(reader.Read(ByteSlices(bytes, nullptr)), refused);
}

}  // namespace
}  // namespace seraph
