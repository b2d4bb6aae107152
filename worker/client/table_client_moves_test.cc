// A rank's messages while partitions move from server to server.
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "common/wire/key_encoding.h"
#include "common/wire/spelled_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/client/refusal.h"
#include "worker/client/table_client.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::Spelled;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLease = absl::Seconds(5);

// One dense table of 100 keys in four partitions of 25; at first 0 and 1 are on
// server "a", 2 and 3 on "b".
class TableClientMovesTest : public ::testing::Test {
 protected:
  TableClientMovesTest()
      : table_{.name = "t",
               .kind = TableKind::kDense,
               .keys = 100,
               .partitions = 4} {
    const Partitioning cut(table_);
    for (uint32_t p = 0; p < 4; ++p) {
      PartitionPlacement one{
          .partition = p, .range = cut.PartitionRange(p), .epoch = 1};
      placements_.push_back(one);
      Place(p, p < 2 ? "a" : "b", 1);
    }
    Make({});
  }

  void Make(RequestLimits limits) {
    client_ = std::make_unique<TableClient>(
        TableClientOptions{
            .job = "j", .attempt = 2, .limits = limits, .lease = kLease},
        Router());
  }

  void Place(uint32_t partition, const std::string& server, uint64_t epoch) {
    PartitionPlacement& one = placements_[partition];
    one.epoch = epoch;
    one.primary = Node();
    if (server.empty()) return;
    one.primary.name = server;
    one.primary.incarnation = 100 + server[0];
  }

  std::shared_ptr<const TableRouter> Router() {
    return std::make_shared<const TableRouter>(
        *TableRouter::Make({table_}, placements_, ++version_));
  }

  template <typename Call>
  std::vector<TableClient::Outgoing> Do(Call call) {
    output_ = TableClient::Output();
    call();
    return output_.outgoing;
  }
  // An entry with a value for each of these keys, and a pull of them.
  std::vector<TableClient::Outgoing> Start(const std::vector<Key>& keys,
                                           uint32_t clock = 5,
                                           bool pulls = true) {
    std::vector<float> values(keys.begin(), keys.end());
    Step step;
    step.entry = EntryPush{.clock = {0, clock}, .examples = 3};
    step.entry->tables.push_back({keys, values});
    if (pulls) step.pull = ClockPull{.clock = {0, clock + 1}, .keys = {keys}};
    return Do(
        [&] { EXPECT_THAT(client_->Start(step, now_, &output_), IsOk()); });
  }
  std::vector<TableClient::Outgoing> Update() {
    return Do([&] { client_->UpdateRouter(Router(), now_, &output_); });
  }
  std::vector<TableClient::Outgoing> Tick(absl::Duration time) {
    now_ += time;
    return Do([&] { client_->Tick(now_, &output_); });
  }
  std::vector<TableClient::Outgoing> Reply(
      const TableClient::Outgoing& to,
      absl::StatusOr<v1::ExchangeReply> reply) {
    return Do([&] {
      client_->OnReply(to.message, std::move(reply), now_, &output_);
    });
  }

  // What a server that takes everything says: rows are the keys.
  static v1::ExchangeReply Fine(const TableClient::Outgoing& to,
                                uint64_t epoch = 0) {
    v1::ExchangeReply reply;
    const v1::PushRequest* push = PushOf(to.request->message);
    const v1::PullRequest* pull = PullOf(to.request->message);
    const bool both = to.request->message.has_push_pull();
    const auto fill = [&](const auto& request, auto* out) {
      const auto spelled = Spelled(request);
      for (const auto& part : spelled.parts()) {
        v1::PartResult* result = out->add_results();
        result->set_code(v1::PART_OK);
        result->set_epoch(epoch > 0 ? epoch : part.epoch());
      }
    };
    if (push != nullptr) {
      fill(*push, both ? reply.mutable_push_pull()->mutable_push()
                       : reply.mutable_push());
    }
    if (pull != nullptr) {
      v1::PullReply* out = both ? reply.mutable_push_pull()->mutable_pull()
                                : reply.mutable_pull();
      fill(*pull, out);
      for (Key key : KeysOf(*pull)) {
        const float row = key;
        out->mutable_values()->append(reinterpret_cast<const char*>(&row),
                                      sizeof(row));
      }
    }
    return reply;
  }

  template <typename Request>
  static std::vector<Key> KeysOf(const Request& request) {
    std::vector<Key> keys;
    SliceReader reader(ByteSlices(request.keys(), nullptr));
    for (const auto& part : request.parts()) {
      const std::optional<KeyForm> form = FormOf(part.encoding());
      std::vector<Key> some(part.key_count());
      if (form == KeyForm::kRange) {
        std::iota(some.begin(), some.end(), part.first_key());
      } else {
        EXPECT_TRUE(TakeKeys(*form, part.first_key(), part.key_count(),
                             KeyBytesOf(part), &reader, &some)
                        .ok());
      }
      keys.insert(keys.end(), some.begin(), some.end());
    }
    return keys;
  }

  static std::vector<float> ValuesOf(const v1::PushRequest& push) {
    std::vector<float> values(push.values().size() / sizeof(float));
    std::memcpy(values.data(), push.values().data(), push.values().size());
    return values;
  }

  std::optional<FinishedStep> finished() const {
    if (output_.finished.empty()) return std::nullopt;
    return output_.finished[0];
  }

  TableSpec table_;
  std::vector<PartitionPlacement> placements_;
  uint64_t version_ = 0;
  absl::Duration now_ = absl::Seconds(100);
  std::unique_ptr<TableClient> client_;
  TableClient::Output output_;
};

TEST_F(TableClientMovesTest, AtTheEndEntriesThatWaitWithAPullGoAlone) {
  const auto out = Start({1, 2, 4, 30, 60});
  ASSERT_THAT(out, SizeIs(2));
  ASSERT_TRUE(out[0].request->message.has_push_pull());
  Reply(out[1], Fine(out[1]));
  const auto alone = Do([&] { client_->KeepEntriesAlone(now_, &output_); });
  ASSERT_THAT(alone, SizeIs(1)) << "the other one is acknowledged";
  ASSERT_TRUE(alone[0].request->message.has_push());
  EXPECT_EQ(alone[0].server->name, out[0].server->name);
  EXPECT_EQ(KeysOf(alone[0].request->message.push()),
            KeysOf(out[0].request->message.push_pull().push()));
  EXPECT_EQ(alone[0].request->message.push().clock().step(), 5);
  EXPECT_FALSE(client_->idle());
  EXPECT_THAT(Tick(kLease), SizeIs(1)) << "until it is acknowledged";
  Reply(out[0], Fine(out[0]));  // Of a message that is not out any more.
  EXPECT_FALSE(client_->idle());
  Reply(alone[0], Fine(alone[0]));
  EXPECT_TRUE(client_->idle());
  EXPECT_THAT(output_.finished, SizeIs(1));
}

TEST_F(TableClientMovesTest, AtTheEndPullsAreGivenUp) {
  Step step;
  const std::vector<Key> keys = {1, 2, 4, 30, 60};
  step.pull = ClockPull{.clock = {0, 1}, .keys = {keys}};
  EXPECT_THAT(
      Do([&] { EXPECT_THAT(client_->Start(step, now_, &output_), IsOk()); }),
      SizeIs(2));
  EXPECT_THAT(Do([&] { client_->KeepEntriesAlone(now_, &output_); }),
              SizeIs(0));
  EXPECT_TRUE(client_->idle());
  EXPECT_THAT(output_.finished, SizeIs(1));
}

TEST_F(TableClientMovesTest, WhatIsOutFollowsItsPartition) {
  const auto out = Start({1, 2, 4, 30, 60});
  ASSERT_THAT(out, SizeIs(2));
  Place(0, "c", 3);
  const auto moved = Update();
  ASSERT_THAT(moved, SizeIs(1)) << "nothing but what has moved";
  EXPECT_EQ(moved[0].server->name, "c");
  const v1::PushRequest& push = moved[0].request->message.push_pull().push();
  const v1::PullRequest& pull = moved[0].request->message.push_pull().pull();
  EXPECT_EQ(push.header().incarnation(), 100 + 'c');
  EXPECT_EQ(push.header().rank().attempt(), 2);
  EXPECT_EQ(push.clock().step(), 5);
  EXPECT_EQ(push.examples(), 3);
  ASSERT_EQ(push.parts_size(), 1);
  EXPECT_EQ(push.parts(0).epoch(), 3);
  EXPECT_THAT(KeysOf(push), ElementsAre(1, 2, 4));
  EXPECT_THAT(ValuesOf(push), ElementsAre(1, 2, 4));
  EXPECT_EQ(pull.clock().step(), 6);
  EXPECT_EQ(pull.parts(0).epoch(), 3);
  EXPECT_THAT(KeysOf(pull), ElementsAre(1, 2, 4));

  // The old server's answer counts for the partition that it kept.
  Reply(out[1], Fine(out[1]));
  Reply(moved[0], Fine(moved[0]));
  EXPECT_FALSE(finished().has_value()) << "partition 1 has not answered";
  Reply(out[0], Fine(out[0]));
  ASSERT_TRUE(finished().has_value());
  EXPECT_THAT(finished()->status, IsOk());
  EXPECT_THAT(finished()->rows[0], ElementsAre(1, 2, 4, 30, 60));
}

// A is stopped with a parked pull, B is promoted; A never answers, and what it
// says when it wakes up is nobody's business any more.
TEST_F(TableClientMovesTest, AnswersOfTheServerBeforeAreIgnored) {
  const auto out = Start({1, 30});
  Place(0, "b", 3);
  Place(1, "b", 3);
  const auto moved = Update();
  ASSERT_THAT(moved, SizeIs(1));
  EXPECT_THAT(Reply(out[0], Fine(out[0])), IsEmpty());
  Reply(out[1], Fine(out[1]));
  EXPECT_FALSE(finished().has_value());
  EXPECT_THAT(Reply(out[0], absl::UnavailableError("broke")), IsEmpty());
  Reply(moved[0], Fine(moved[0]));
  EXPECT_TRUE(finished().has_value());
}

TEST_F(TableClientMovesTest, WithoutAPrimaryItWaitsForTheNextOne) {
  Place(0, "", 2);
  Update();
  const auto out = Start({1, 30, 60});
  ASSERT_THAT(out, SizeIs(2));
  for (const auto& one : out) Reply(one, Fine(one));
  EXPECT_FALSE(finished().has_value());
  EXPECT_THAT(Tick(absl::Hours(1)), IsEmpty()) << "there is nobody to ask";
  EXPECT_EQ(client_->NextTick(), absl::InfiniteDuration());
  Place(0, "c", 3);
  const auto found = Update();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].server->name, "c");
  Reply(found[0], Fine(found[0]));
  ASSERT_TRUE(finished().has_value());
  EXPECT_THAT(finished()->rows[0], ElementsAre(1, 30, 60));
}

TEST_F(TableClientMovesTest, OlderPlacementsChangeNothing) {
  const auto before = Router();
  Place(0, "c", 3);
  Update();
  const auto out = Start({1}, 5, false);
  EXPECT_THAT(Do([&] { client_->UpdateRouter(before, now_, &output_); }),
              IsEmpty());
  EXPECT_THAT(out, SizeIs(3)) << "a, b and c";
}

// A lost backup changes the epoch and leaves the primary where it was.
TEST_F(TableClientMovesTest, ANewEpochOfTheSameServerIsSentAgainToo) {
  const auto out = Start({1}, 5, false);
  Place(1, "a", 2);
  const auto again = Update();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].server->name, "a");
  const v1::PushRequest& push = again[0].request->message.push();
  EXPECT_EQ(push.parts_size(), 0);
  ASSERT_EQ(EmptyPartsOf(push), 1);
  EXPECT_EQ(EmptyPartAt(push, 0), (EmptyPart{0, 1, 2}));
}

TEST_F(TableClientMovesTest, PartsThatAreSettledAreNotSentAgain) {
  const auto out = Start({1, 30, 60});
  v1::ExchangeReply mixed = Fine(out[0]);
  v1::PushPullReply* both = mixed.mutable_push_pull();
  both->mutable_push()->mutable_results(1)->set_code(v1::PART_STALE_EPOCH);
  both->mutable_pull()->mutable_results(1)->set_code(v1::PART_RETRY_AFTER);
  both->mutable_pull()->mutable_values()->resize(sizeof(float));
  EXPECT_THAT(Reply(out[0], mixed), IsEmpty()) << "after a pause";
  Reply(out[1], Fine(out[1]));
  const auto rest = Tick(client_->NextTick() - now_);
  ASSERT_THAT(rest, SizeIs(1));
  const v1::PushRequest& push = rest[0].request->message.push_pull().push();
  ASSERT_EQ(push.parts_size(), 1);
  EXPECT_EQ(push.parts(0).partition(), 1);
  EXPECT_THAT(KeysOf(push), ElementsAre(30));
  // A late copy of the first answer brings nothing.
  EXPECT_THAT(Reply(out[0], Fine(out[0])), IsEmpty());
  EXPECT_FALSE(finished().has_value());
  Reply(rest[0], Fine(rest[0]));
  ASSERT_TRUE(finished().has_value());
  EXPECT_THAT(finished()->rows[0], ElementsAre(1, 30, 60));
}

TEST_F(TableClientMovesTest, RefusalsThatPassAreNoErrors) {
  const auto whole = [](absl::StatusCode code, const std::string& reason) {
    v1::ExchangeReply reply;
    reply.set_error_code(static_cast<int>(code));
    reply.set_error_reason(reason);
    return reply;
  };
  const auto out = Start({1}, 5, false);
  Reply(out[1], Fine(out[1]));
  TableClient::Outgoing last = out[0];
  for (const v1::ExchangeReply& reply :
       {whole(absl::StatusCode::kNotFound, ""),
        whole(absl::StatusCode::kFailedPrecondition, "OTHER_INCARNATION"),
        whole(absl::StatusCode::kFailedPrecondition, "GENERATION_NEWER"),
        whole(absl::StatusCode::kUnavailable, "")}) {
    EXPECT_THAT(Reply(last, reply), IsEmpty());
    EXPECT_FALSE(finished().has_value());
    const auto again = Tick(absl::Seconds(3));
    ASSERT_THAT(again, SizeIs(1));
    last = again[0];
  }
  for (v1::PartCode code : {v1::PART_NOT_HERE, v1::PART_STALE_EPOCH}) {
    v1::ExchangeReply reply = Fine(last);
    for (auto& result : *reply.mutable_push()->mutable_results()) {
      result.set_code(code);
    }
    EXPECT_THAT(Reply(last, reply), IsEmpty());
    EXPECT_FALSE(finished().has_value());
    const auto again = Tick(absl::Seconds(3));
    ASSERT_FALSE(again.empty());
    last = again[0];
  }
}

TEST_F(TableClientMovesTest, WhoeverIsReplacedEndsAndSaysSo) {
  for (const char* reason : {"GENERATION_STALE", "OLD_TERM"}) {
    const auto out = Start({1}, 5, false);
    v1::ExchangeReply reply;
    reply.set_error_code(
        static_cast<int>(absl::StatusCode::kFailedPrecondition));
    reply.set_error_reason(reason);
    Reply(out[0], reply);
    ASSERT_TRUE(finished().has_value());
    EXPECT_TRUE(IsSuperseded(finished()->status)) << reason;
  }
}

// A pull may have to wait for other ranks for long: every repeat of it waits
// at the server beside it.
TEST_F(TableClientMovesTest, SilenceForALeaseIsAskedAboutLessAndLessOften) {
  const auto out = Start({1}, 5, false);
  Reply(out[1], Fine(out[1]));
  EXPECT_THAT(Tick(kLease - absl::Milliseconds(1)), IsEmpty());
  const auto again = Tick(absl::Milliseconds(1));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].request, out[0].request) << "same name, same bytes";
  EXPECT_THAT(Tick(kLease), IsEmpty());
  EXPECT_THAT(Tick(kLease), SizeIs(1));
  EXPECT_EQ(client_->NextTick(), now_ + 4 * kLease);
  for (int i = 0; i < 10; ++i) Tick(client_->NextTick() - now_);
  EXPECT_EQ(client_->NextTick(), now_ + 16 * kLease) << "but for ever";
}

// The server keeps the last copy of a pull that waits, and ends those before.
TEST_F(TableClientMovesTest, AReplacedPullIsAnsweredByItsRepeat) {
  const auto out = Start({1});
  Reply(out[1], Fine(out[1]));
  const auto again = Tick(kLease);
  ASSERT_THAT(again, SizeIs(1));
  const v1::PullRequest& pull = *PullOf(again[0].request->message);
  EXPECT_GT(pull.parts(0).number(), 0u);
  const absl::Duration due = client_->NextTick();
  v1::ExchangeReply replaced = Fine(out[0]);
  v1::PullReply* pulled = replaced.mutable_push_pull()->mutable_pull();
  pulled->mutable_results(0)->set_code(v1::PART_REPLACED);
  pulled->clear_values();
  EXPECT_THAT(Reply(out[0], replaced), IsEmpty()) << "nothing is sent again";
  EXPECT_EQ(client_->NextTick(), due);
  EXPECT_FALSE(finished().has_value());
  Reply(again[0], Fine(again[0]));
  ASSERT_TRUE(finished().has_value());
  EXPECT_THAT(finished()->status, IsOk());
  EXPECT_THAT(finished()->rows[0], ElementsAre(1));
}

// The short form of results that all are fine.
TEST_F(TableClientMovesTest, ResultsThatAreNumbersSettleTheirParts) {
  const auto taken = [](const TableClient::Outgoing& to, uint64_t epoch) {
    v1::ExchangeReply reply;
    const v1::PushRequest& push = to.request->message.push();
    EXPECT_TRUE(push.reads_taken());
    for (size_t i = 0; i < PartsOf(push); ++i) {
      AddTaken(epoch, 9, reply.mutable_push());
    }
    return reply;
  };
  auto out = Start({1}, 5, false);
  ASSERT_THAT(out, SizeIs(2));
  Reply(out[0], taken(out[0], 1));
  Place(2, "b", 4);
  const auto again = Update();
  ASSERT_THAT(again, SizeIs(1));
  Reply(out[1], taken(out[1], 1));
  EXPECT_THAT(Reply(again[0], taken(again[0], 3)), IsEmpty());
  EXPECT_FALSE(finished().has_value()) << "of an epoch that is over";
  const auto once_more = Tick(absl::Seconds(3));
  ASSERT_THAT(once_more, SizeIs(1));
  Reply(once_more[0], taken(once_more[0], 4));
  ASSERT_TRUE(finished().has_value());
  EXPECT_THAT(finished()->status, IsOk());
}

TEST_F(TableClientMovesTest, ResultsThatAreNotThoseOfThePartsEndTheStep) {
  const auto out = Start({1}, 5, false);
  v1::ExchangeReply odd;
  for (size_t i = 0; i < PartsOf(out[0].request->message.push()); ++i) {
    AddTaken(1, 1, odd.mutable_push());
  }
  odd.mutable_push()->add_taken(1);
  Reply(out[0], odd);
  ASSERT_TRUE(finished().has_value());
  EXPECT_THAT(finished()->status, StatusIs(absl::StatusCode::kInternal));
}

TEST_F(TableClientMovesTest, BusyServersAreAskedForEverWithJitter) {
  const auto out = Start({1}, 5, false);
  Reply(out[1], Fine(out[1]));
  v1::ExchangeReply busy = Fine(out[0]);
  for (auto& result : *busy.mutable_push()->mutable_results()) {
    result.set_code(v1::PART_RETRY_AFTER);
    result.set_retry_after_ms(3);
  }
  std::vector<absl::Duration> pauses;
  for (int i = 0; i < 200; ++i) {
    Reply(out[0], busy);
    pauses.push_back(client_->NextTick() - now_);
    ASSERT_THAT(Tick(pauses.back()), SizeIs(1)) << i;
  }
  EXPECT_GT(pauses.front(), absl::Milliseconds(3));
  EXPECT_LT(pauses.front(), absl::Milliseconds(100));
  EXPECT_GT(pauses.back(), absl::Milliseconds(900));
  EXPECT_LT(pauses.back(), absl::Seconds(3));
  EXPECT_NE(pauses[150], pauses[151]);
}

// Going back in time: W2's answer had p in it, the primary dies before any
// backup has p, and W2's next pull at the new one is without it.
TEST_F(TableClientMovesTest, AnswersOfAnOlderEpochThanOneSeenAreDropped) {
  const std::vector<Key> keys = {1};
  Step step;
  step.pull = ClockPull{.clock = {0, 5}, .keys = {keys}};
  const auto first =
      Do([&] { EXPECT_THAT(client_->Start(step, now_, &output_), IsOk()); });
  const auto second =
      Do([&] { EXPECT_THAT(client_->Start(step, now_, &output_), IsOk()); });
  v1::ExchangeReply newer;
  newer.mutable_pull()->add_results()->set_code(v1::PART_STALE_EPOCH);
  newer.mutable_pull()->mutable_results(0)->set_epoch(4);
  Reply(first[0], newer);
  Reply(second[0], Fine(second[0], /*epoch=*/1));
  EXPECT_FALSE(finished().has_value()) << "of a primary that was replaced";
  Place(0, "a", 4);
  const auto moved = Update();
  ASSERT_THAT(moved, SizeIs(2));
  Reply(moved[1], Fine(moved[1], /*epoch=*/4));
  EXPECT_TRUE(finished().has_value());
}

// Chunks are not replicated: whoever is primary next has none of them.
TEST_F(TableClientMovesTest, AllChunksOfAnUnfinishedEntryMove) {
  Make({.message_bytes = 24});  // Two keys.
  const auto out = Start({1, 2, 4, 5, 7, 8}, 5, false);
  std::vector<TableClient::Outgoing> chunks;
  for (const auto& one : out) {
    for (const auto& part : one.request->message.push().parts()) {
      if (part.chunks() > 1) chunks.push_back(one);
    }
  }
  ASSERT_THAT(chunks, SizeIs(3));
  Reply(chunks[0], Fine(chunks[0]));
  Reply(chunks[2], Fine(chunks[2]));
  Place(0, "c", 3);
  const auto moved = Update();
  std::vector<Key> keys;
  for (const auto& one : moved) {
    EXPECT_EQ(one.server->name, "c");
    EXPECT_EQ(one.request->message.push().parts(0).chunks(), 3);
    for (Key key : KeysOf(one.request->message.push())) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_THAT(keys, ElementsAre(1, 2, 4, 5, 7, 8));
  for (const auto& one : out) Reply(one, Fine(one));
  EXPECT_FALSE(finished().has_value());
  for (const auto& one : moved) Reply(one, Fine(one));
  EXPECT_TRUE(finished().has_value());
}

TEST_F(TableClientMovesTest, AChunkThatTravelledWithAPullMovesWithoutIt) {
  Make({.message_bytes = 100});  // Eight keys.
  const auto out = Start({1, 2, 3, 4, 5, 6, 7, 8, 9});
  int fused = 0;
  for (const auto& one : out) {
    if (!one.request->message.has_push_pull() ||
        one.request->message.push_pull().push().parts(0).chunks() != 2) {
      continue;
    }
    Reply(one, Fine(one));
    ++fused;
  }
  ASSERT_EQ(fused, 1);
  Place(0, "c", 3);
  const auto moved = Update();
  std::vector<Key> keys;
  for (const auto& one : moved) {
    EXPECT_EQ(PullOf(one.request->message), nullptr) << "its rows are here";
    for (Key key : KeysOf(*PushOf(one.request->message))) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_THAT(keys, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  for (const auto& one : out) Reply(one, Fine(one));
  for (const auto& one : moved) Reply(one, Fine(one));
  EXPECT_TRUE(finished().has_value());
}

TEST_F(TableClientMovesTest, ALargePushTravelsApartFromThePull) {
  Make({.fused_push_bytes = 16});
  for (const auto& one : Start({1, 2, 4, 30, 35})) {
    EXPECT_NE(one.request->message.body_case(), v1::ExchangeRequest::kPushPull);
  }
  Make({.fused_push_bytes = 1000});
  EXPECT_TRUE(Start({1, 2, 4, 30, 35})[0].request->message.has_push_pull());
}

}  // namespace
}  // namespace seraph
