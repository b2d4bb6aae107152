// What MessageWriter writes, and what ParseWithBulk reads, against protobuf.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "common/wire/bulk_split.h"
#include "common/wire/exchange_bulk.h"
#include "common/wire/message_writer.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}
  uint64_t Below(uint64_t end) { return ToBelow(Draw(seed_, {++n_}), end); }
  std::string Bytes(size_t most) {
    std::string bytes(Below(most + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(Below(256));
    return bytes;
  }

 private:
  const uint64_t seed_;
  uint64_t n_ = 0;
};

void Fill(Dice* dice, v1::PushRequest* push) {
  push->mutable_header()->mutable_job()->set_id("job");
  push->mutable_clock()->set_step(dice->Below(1000));
  push->set_number(dice->Below(uint64_t{1} << 40));
  push->mutable_ledger()->add_sums(0.5);
  for (uint64_t i = dice->Below(4); i > 0; --i) {
    push->add_parts()->set_first_key(~uint64_t{0} >> dice->Below(64));
  }
  push->set_keys(dice->Bytes(5000));
  push->set_values(dice->Bytes(5000));
}

void Fill(Dice* dice, v1::PullRequest* pull) {
  pull->mutable_header()->set_session(dice->Below(100));
  pull->add_parts()->set_key_count(dice->Below(100));
  pull->set_keys(dice->Bytes(5000));
}

v1::ExchangeRequest RandomRequest(Dice* dice) {
  v1::ExchangeRequest request;
  request.set_number(dice->Below(300));
  switch (dice->Below(4)) {
    case 0:
      Fill(dice, request.mutable_push());
      break;
    case 1:
      Fill(dice, request.mutable_pull());
      break;
    case 2:
      Fill(dice, request.mutable_push_pull()->mutable_push());
      Fill(dice, request.mutable_push_pull()->mutable_pull());
      break;
    default:
      break;
  }
  return request;
}

// In pieces of up to `longest` bytes that die with the owner.
ByteSlices CutUp(std::string bytes, size_t longest, Dice* dice) {
  const auto owner = std::make_shared<std::vector<std::string>>();
  std::vector<absl::string_view> pieces;
  for (size_t at = 0; at < bytes.size();) {
    owner->push_back(bytes.substr(at, 1 + dice->Below(longest)));
    at += owner->back().size();
  }
  for (const std::string& piece : *owner) pieces.push_back(piece);
  return ByteSlices(pieces, owner);
}

// With all bulk inside again.
v1::ExchangeRequest Whole(const WithBulk<v1::ExchangeRequest>& parsed) {
  v1::ExchangeRequest whole = parsed.head;
  const auto push = [&](v1::PushRequest* to) {
    to->set_keys(parsed.Bulk(kPushKeys, to->keys()).ToString());
    to->set_values(parsed.Bulk(kPushValues, to->values()).ToString());
  };
  const auto pull = [&](v1::PullRequest* to) {
    to->set_keys(parsed.Bulk(kPullKeys, to->keys()).ToString());
  };
  if (whole.has_push()) push(whole.mutable_push());
  if (whole.has_pull()) pull(whole.mutable_pull());
  if (whole.has_push_pull() && whole.push_pull().has_push()) {
    push(whole.mutable_push_pull()->mutable_push());
  }
  if (whole.has_push_pull() && whole.push_pull().has_pull()) {
    pull(whole.mutable_push_pull()->mutable_pull());
  }
  return whole;
}

// Reads as protobuf does, whatever the bytes are. Returns whether they are a
// message.
bool ReadsAsProtobuf(const std::string& bytes, size_t longest, Dice* dice) {
  v1::ExchangeRequest expected;
  const bool is_message = expected.ParseFromString(bytes);
  const auto parsed = ParseWithBulk<v1::ExchangeRequest>(
      CutUp(bytes, longest, dice), kExchangeBulk);
  EXPECT_EQ(parsed.ok(), is_message);
  if (!is_message || !parsed.ok()) return is_message;
  EXPECT_TRUE(MessageDifferencer::Equals(Whole(*parsed), expected))
      << Whole(*parsed).DebugString() << expected.DebugString();
  return true;
}

std::string Written(MessageWriter writer) {
  const size_t size = writer.size();
  std::string bytes;
  for (const OwnedSlice& slice : writer.Finish()) {
    bytes.append(slice.bytes.data(), slice.bytes.size());
  }
  EXPECT_EQ(bytes.size(), size);
  return bytes;
}

TEST(MessageWriterTest, WritesWhatProtobufWrites) {
  const std::string keys(MessageWriter::kCopied + 1, 'k');
  const std::string values(3, 'v');
  v1::ExchangeRequest request;
  request.set_number(7);
  v1::PushRequest* push = request.mutable_push_pull()->mutable_push();
  push->set_examples(300);
  MessageWriter inner;
  inner.Head(*push);
  inner.Bytes(kPushKeys.number, OwnedSlice{keys, nullptr});
  inner.Bytes(kPushValues.number, OwnedSlice{values, nullptr});
  MessageWriter middle;
  middle.Message(v1::PushPullRequest::kPushFieldNumber, std::move(inner));
  MessageWriter writer;
  v1::ExchangeRequest head;
  head.set_number(7);
  writer.Head(head);
  writer.Message(v1::ExchangeRequest::kPushPullFieldNumber, std::move(middle));

  push->set_keys(keys);
  push->set_values(values);
  EXPECT_EQ(Written(std::move(writer)), request.SerializeAsString());
}

TEST(MessageWriterTest, LargeBulkIsNotCopiedAndKept) {
  auto keys = std::make_shared<const std::string>(10'000, 'k');
  const std::weak_ptr<const std::string> alive = keys;
  const char* const at = keys->data();
  MessageWriter writer;
  writer.Bytes(15, OwnedSlice{*keys, keys});
  writer.Bytes(15, OwnedSlice{});  // None.
  keys.reset();
  {
    const std::vector<OwnedSlice> slices = std::move(writer).Finish();
    ASSERT_EQ(slices.size(), 2);
    EXPECT_EQ(slices[1].bytes.data(), at);
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(BulkSplitTest, OurMessagesAreNotParsedAsAWhole) {
  Dice dice(1);
  for (int i = 0; i < 300; ++i) {
    const v1::ExchangeRequest request = RandomRequest(&dice);
    std::string head;
    std::vector<FoundBulk> bulk;
    ASSERT_TRUE(SplitBulk(
        CutUp(request.SerializeAsString(), 1 + dice.Below(3000), &dice),
        kExchangeBulk, &head, &bulk));
    EXPECT_LT(head.size(), 300);
    EXPECT_TRUE(
        ReadsAsProtobuf(request.SerializeAsString(), 1 + i % 50, &dice));
  }
}

TEST(BulkSplitTest, ABatchOnAnArenaIsTheSame) {
  Dice dice(6);
  google::protobuf::Arena arena;
  for (int i = 0; i < 300; ++i) {
    v1::ExchangeRequest sent;
    for (size_t n = dice.Below(4); n > 0; --n) {
      *sent.add_batch() = RandomRequest(&dice);
    }
    const ByteSlices bytes =
        CutUp(sent.SerializeAsString(), 1 + dice.Below(3000), &dice);
    bool is_batch = false, is_batch_there = false;
    const auto here = ParseBatch<v1::ExchangeRequest>(bytes, kExchangeBatchBulk,
                                                      kExchangeBulk, &is_batch);
    const auto there = ParseBatchOnArena<v1::ExchangeRequest>(
        bytes, kExchangeBatchBulk, kExchangeBulk, &arena, &is_batch_there);
    ASSERT_THAT(here, IsOk());
    ASSERT_THAT(there, IsOk());
    EXPECT_EQ(is_batch, is_batch_there);
    ASSERT_EQ(here->size(), there->size());
    for (size_t j = 0; j < here->size(); ++j) {
      WithBulk<v1::ExchangeRequest> copy(*(*there)[j].head);
      copy.bulk = (*there)[j].bulk;
      EXPECT_TRUE(MessageDifferencer::Equals(Whole(copy), Whole((*here)[j])));
      if (is_batch) {
        EXPECT_TRUE(MessageDifferencer::Equals(Whole(copy), sent.batch(j)));
      }
    }
    arena.Reset();
  }
}

TEST(BulkSplitTest, BulkStaysWhereItLies) {
  v1::PushRequest push;
  push.set_keys(std::string(2000, 'k'));
  push.set_values(std::string(100, 'v'));
  const std::string bytes = push.SerializeAsString();
  const auto parsed =
      ParseWithBulk<v1::PushRequest>(ByteSlices(bytes, nullptr), kPushBulk);
  ASSERT_THAT(parsed, IsOk());
  const ByteSlices keys = parsed->Bulk(kPushKeys, parsed->head.keys());
  ASSERT_EQ(keys.pieces().size(), 1);
  EXPECT_EQ(keys.pieces()[0].data(), bytes.data() + 3);
}

TEST(BulkSplitTest, FieldsInAnotherOrderTwiceOrUnknownAreReadAsProtobufDoes) {
  Dice dice(2);
  v1::ExchangeRequest one = RandomRequest(&dice), other;
  Fill(&dice, one.mutable_push());
  Fill(&dice, other.mutable_push());
  const std::string a = one.SerializeAsString(), b = other.SerializeAsString();
  EXPECT_TRUE(ReadsAsProtobuf(a + b, 100, &dice));  // Merged.
  v1::ExchangeRequest pull;
  Fill(&dice, pull.mutable_pull());
  const std::string c = pull.SerializeAsString();
  EXPECT_TRUE(ReadsAsProtobuf(a + c, 100, &dice));  // The last counts.
  EXPECT_TRUE(ReadsAsProtobuf(a + c + b, 100, &dice));
  EXPECT_TRUE(ReadsAsProtobuf(c + b + c, 100, &dice));

  // Bulk before the head, and unknown fields of every type.
  v1::PushRequest values;
  values.set_values("1234");
  std::string inner = values.SerializeAsString();
  inner += std::string("\x08\x01", 2);      // A field of the wrong type.
  inner += std::string("\xf8\x7f\x05", 3);  // 2047, varint.
  inner += std::string(
      "\xf9\x7f"
      "12345678",
      10);  // ... fixed64.
  inner += std::string(
      "\xfd\x7f"
      "1234",
      6);  // ... fixed32.
  inner += std::string(
      "\xfa\x7f\x02"
      "ab",
      5);                                               // ... bytes.
  inner += std::string("\x18\x07", 2);                  // number.
  inner += std::string("\x70\x05", 2);                  // keys, as a varint.
  inner += std::string("\xfb\x7f\x08\x01\xfc\x7f", 6);  // A group.
  for (const size_t cut : {inner.size(), inner.size() - 6}) {
    const std::string body = inner.substr(0, cut);
    EXPECT_TRUE(ReadsAsProtobuf(
        "\x72" + std::string(1, static_cast<char>(body.size())) + body, 3,
        &dice));
  }
}

TEST(BulkSplitTest, BrokenLengthsAndTagsAreNoMessage) {
  Dice dice(3);
  const auto broken = [&](const std::string& bytes) {
    EXPECT_FALSE(ReadsAsProtobuf(bytes, 2, &dice));
    EXPECT_THAT(ParseWithBulk<v1::ExchangeRequest>(ByteSlices(bytes, nullptr),
                                                   kExchangeBulk),
                StatusIs(absl::StatusCode::kInvalidArgument));
  };
  broken("\x72");  // A tag without a length.
  broken(
      "\x72\x05"
      "ab");                                   // Longer than the rest.
  broken(std::string("\x72\x02\x7a\x05", 4));  // ... than its message.
  broken("\x72\xff\xff\xff\xff\x0f");          // 4 GiB.
  broken("\x72\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  broken("\x72\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  broken(std::string("\x00\x00", 2));  // Field 0.
  broken("\x77");                      // A type that is none.
  broken("\x74");                      // The end of a group.
  broken("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  broken(
      "\x09"
      "1234567");  // Short fixed64.
  // 2^35 + the tag, in six bytes.
  broken(std::string("\xf2\x80\x80\x80\x80\x01\x00", 7));
}

TEST(BulkSplitTest, RandomDamageIsReadAsProtobufReadsIt) {
  const uint64_t seed = 20260;
  RecordProperty("seed", static_cast<int>(seed));
  int messages = 0, others = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", case " << i);
    Dice dice(Draw(seed, {i}));
    v1::ExchangeRequest request = RandomRequest(&dice);
    // Short, so that damage meets tags and lengths.
    v1::PushRequest* pushes[] = {
        request.has_push() ? request.mutable_push() : nullptr,
        request.has_push_pull() ? request.mutable_push_pull()->mutable_push()
                                : nullptr};
    for (v1::PushRequest* push : pushes) {
      if (push == nullptr) continue;
      push->set_keys(dice.Bytes(20));
      push->set_values(dice.Bytes(20));
    }
    std::string bytes = request.SerializeAsString();
    if (bytes.empty()) continue;
    switch (dice.Below(4)) {
      case 0:
        bytes.resize(dice.Below(bytes.size()));
        break;
      case 1:
        bytes[dice.Below(bytes.size())] ^=
            static_cast<char>(1 << dice.Below(8));
        break;
      case 2:
        bytes[dice.Below(bytes.size())] = static_cast<char>(dice.Below(256));
        break;
      default:
        bytes.insert(dice.Below(bytes.size()), dice.Bytes(3));
        break;
    }
    (ReadsAsProtobuf(bytes, 1 + dice.Below(40), &dice) ? messages : others) +=
        1;
    if (HasFailure()) return;
  }
  // Both happen.
  EXPECT_GT(messages, 1000);
  EXPECT_GT(others, 1000);
}

}  // namespace
}  // namespace seraph
