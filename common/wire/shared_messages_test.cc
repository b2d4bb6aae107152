#include "common/wire/shared_messages.h"

#include <memory>
#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/replicas.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::_;

std::string Bytes(const std::vector<OwnedSlice>& slices) {
  std::string bytes;
  for (const OwnedSlice& slice : slices) {
    bytes.append(slice.bytes.data(), slice.bytes.size());
  }
  return bytes;
}

MessageWriter BatchOf(const std::string& piece) {
  v1::ReplicaBatch batch;
  batch.set_piece(piece);
  MessageWriter writer;
  writer.Head(batch);
  return writer;
}

// What comes out at the other end; "" for an offer.
absl::StatusOr<std::string> Unwrap(SharedMessageReader* reader,
                                   const std::string& sent) {
  auto slices = reader->Unwrap(
      ByteSlices(sent, std::make_shared<const std::string>(sent)));
  if (!slices.ok()) return slices.status();
  return slices->has_value() ? (*slices)->ToString() : "";
}

TEST(SharedMessagesTest, LargeMessagesArriveThroughSharedMemory) {
  SharedMessageWriter writer(1, 2);
  SharedRoom room(uint64_t{64} << 20);
  SharedMessageReader reader(&room);
  const std::string small = Bytes(BatchOf("small").Finish());
  const std::string large = Bytes(BatchOf(std::string(1 << 20, 'x')).Finish());

  // Before the offer has arrived.
  EXPECT_EQ(Bytes(writer.Wrap(BatchOf(std::string(1 << 20, 'x')))), large);
  auto offer = writer.Offer();
  ASSERT_TRUE(offer.has_value());
  EXPECT_EQ(Unwrap(&reader, Bytes(offer->Finish())).value(), "");
  EXPECT_EQ(reader.segment()->maker, 1);

  for (int i = 0; i < 200; ++i) {
    const std::string sent =
        Bytes(writer.Wrap(BatchOf(std::string(1 << 20, 'x'))));
    EXPECT_LT(sent.size(), 100);
    EXPECT_TRUE(Unwrap(&reader, sent).value() == large);
    EXPECT_EQ(Bytes(writer.Wrap(BatchOf("small"))), small);
    EXPECT_EQ(Unwrap(&reader, small).value(), small);
  }
}

TEST(SharedMessagesTest, AnOfferMayHaveASegmentForReplies) {
  SharedMessageWriter requests(1, 2);
  SharedMessageReader replies(1, 2);
  SharedRoom room(uint64_t{64} << 20);
  SharedMessageReader server(&room);
  EXPECT_EQ(server.TakeSender(), nullptr);
  EXPECT_EQ(Unwrap(&server, Bytes(requests.Offer(&replies)->Finish())).value(),
            "");
  SharedMessageWriter back(server.TakeSender());
  const std::string large = Bytes(BatchOf(std::string(1 << 20, 'x')).Finish());
  for (int i = 0; i < 100; ++i) {
    const std::string sent =
        Bytes(back.Wrap(BatchOf(std::string(1 << 20, 'x'))));
    EXPECT_LT(sent.size(), 100);
    EXPECT_TRUE(Unwrap(&replies, sent).value() == large);
  }
}

// Whoever does not know them, such as a generated stub, takes an offer for an
// empty message.
TEST(SharedMessagesTest, AnOfferIsAnEmptyMessageToOthers) {
  SharedMessageWriter writer(1, 2);
  v1::ReplicaBatch batch;
  ASSERT_TRUE(batch.ParseFromString(Bytes(writer.Offer()->Finish())));
  EXPECT_TRUE(batch.has_segment());
  EXPECT_EQ(batch.messages_size(), 0);
  EXPECT_EQ(batch.segment().maker(), 1);
}

TEST(SharedMessagesTest, WithoutSharedMemoryMessagesStayAsTheyAre) {
  SharedMessageWriter none;
  EXPECT_FALSE(none.Offer().has_value());
  const std::string piece(1 << 20, 'x');
  EXPECT_EQ(Bytes(none.Wrap(BatchOf(piece))), Bytes(BatchOf(piece).Finish()));

  SharedMessageWriter writer(1, 2);
  SharedMessageReader reader(nullptr);
  EXPECT_EQ(Unwrap(&reader, Bytes(writer.Offer()->Finish())).value(), "");
  EXPECT_EQ(reader.segment(), nullptr);
  EXPECT_EQ(Bytes(writer.Wrap(BatchOf(piece))), Bytes(BatchOf(piece).Finish()));
}

TEST(SharedMessagesTest, OffersAreTakenWhileThereIsRoom) {
  SharedMessageWriter first(1, 2), second(3, 2);
  SharedRoom room(uint64_t{40} << 20);
  {
    SharedMessageReader reader(&room);
    EXPECT_EQ(Unwrap(&reader, Bytes(first.Offer()->Finish())).value(), "");
    EXPECT_NE(reader.segment(), nullptr);
    EXPECT_LT(room.left(), uint64_t{10} << 20);
    SharedMessageReader other(&room);
    EXPECT_EQ(Unwrap(&other, Bytes(second.Offer()->Finish())).value(), "");
    EXPECT_EQ(other.segment(), nullptr);
    const std::string piece(1 << 20, 'x');
    EXPECT_EQ(Bytes(second.Wrap(BatchOf(piece))),
              Bytes(BatchOf(piece).Finish()));
  }
  EXPECT_EQ(room.left(), uint64_t{40} << 20) << "given back";
  SharedMessageReader other(&room);
  EXPECT_EQ(Unwrap(&other, Bytes(second.Offer()->Finish())).value(), "");
  EXPECT_NE(other.segment(), nullptr);
  // Sizes that wrap.
  SharedMessageReader third(&room);
  v1::SharedEnvelope envelope;
  envelope.mutable_segment()->set_bytes(~uint64_t{0});
  envelope.mutable_replies()->set_bytes(2);
  EXPECT_EQ(Unwrap(&third, envelope.SerializeAsString()).value(), "");
  EXPECT_EQ(third.segment(), nullptr);
}

TEST(SharedMessagesTest, BadEnvelopesAreRefused) {
  SharedRoom room(uint64_t{64} << 20);
  SharedMessageReader reader(&room);
  v1::SharedEnvelope envelope;
  envelope.mutable_slot()->set_message(1);
  const auto invalid = StatusIs(absl::StatusCode::kInvalidArgument, _);
  EXPECT_THAT(Unwrap(&reader, envelope.SerializeAsString()), invalid);
  EXPECT_THAT(Unwrap(&reader, "\xaa\x01\x7f"), invalid);
  EXPECT_THAT(Unwrap(&reader, "\xa2\x01\xff\xff\xff"), invalid);
  // A segment that cannot be opened is one that is not used.
  envelope.mutable_segment()->set_pid(1 << 30);
  envelope.clear_slot();
  EXPECT_THAT(Unwrap(&reader, envelope.SerializeAsString()), IsOk());
  EXPECT_EQ(reader.segment(), nullptr);
}

}  // namespace
}  // namespace seraph
