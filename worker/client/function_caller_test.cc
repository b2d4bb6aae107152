// Calls against servers that the test plays: what is lost, moved or refused.
#include "worker/client/function_caller.h"

#include <deque>
#include <functional>

#include "common/functions/partial_result.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "common/wire/function_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Server(uint64_t incarnation) {
  return {.name = absl::StrCat("s", incarnation),
          .role = NodeRole::kServer,
          .address = absl::StrCat("127.0.0.1:", incarnation),
          .incarnation = incarnation};
}

// Four partitions of the table "w", after a table "b" of one.
class FakePeers final : public FunctionPeers {
 public:
  FakePeers() {
    tables_.push_back({.name = "b", .kind = TableKind::kDense, .keys = 1});
    tables_.push_back({.name = "w", .partitions = 4});
    PlaceOn({1, 1, 2, 2, 1});
  }

  // The server of the bias, then those of the partitions; 0: none.
  void PlaceOn(std::vector<uint64_t> servers, uint64_t epoch = 1) {
    std::vector<PartitionPlacement> placements;
    for (size_t i = 0; i < servers.size(); ++i) {
      const uint32_t table = i == 0 ? 0 : 1;
      const uint32_t partition = i == 0 ? 0 : i - 1;
      PartitionPlacement placement{
          .table = table,
          .partition = partition,
          .range = Partitioning(tables_[table]).PartitionRange(partition),
          .epoch = epoch};
      if (servers[i] != 0) placement.primary = Server(servers[i]);
      placements.push_back(placement);
    }
    router_ = std::make_shared<const TableRouter>(
        *TableRouter::Make(tables_, placements, ++version_));
  }

  absl::StatusOr<FunctionTables> FindTables() override {
    ++found;
    if (!find_error.ok()) return find_error;
    return FunctionTables{"job", generation, router_};
  }

  std::vector<absl::StatusOr<v1::CallReply>> CallAll(
      std::vector<ServerCall> calls, absl::Duration) override {
    std::vector<absl::StatusOr<v1::CallReply>> replies;
    for (const ServerCall& call : calls) {
      asked.push_back(call);
      replies.push_back(answer ? answer(call) : Good(call));
    }
    return replies;
  }

  absl::Status Pause(absl::Duration time) override {
    now_ += time;
    if (on_pause) on_pause();
    return pause_error;
  }
  absl::Duration Now() const override { return now_; }

  // Partition p counts 10^p rows.
  static v1::CallReply Good(const ServerCall& call) {
    v1::CallReply reply;
    reply.set_version(1);
    reply.set_combine(v1::COMBINE_COUNT);
    for (const v1::CallPart& part : call.request.parts()) {
      reply.add_results();
      int64_t count = 1;
      for (uint32_t p = 0; p < part.partition(); ++p) count *= 10;
      reply.add_partials()->set_count(count);
    }
    return reply;
  }
  static v1::CallReply Refusal(const ServerCall& call, v1::PartCode code) {
    v1::CallReply reply = Good(call);
    for (v1::PartResult& result : *reply.mutable_results()) {
      result.set_code(code);
      result.set_message("why");
    }
    return reply;
  }

  int found = 0;
  uint64_t generation = 3;
  absl::Status find_error;
  absl::Status pause_error;
  std::vector<ServerCall> asked;
  std::function<absl::StatusOr<v1::CallReply>(const ServerCall&)> answer;
  std::function<void()> on_pause;

 private:
  std::vector<TableSpec> tables_;
  std::shared_ptr<const TableRouter> router_;
  uint64_t version_ = 0;
  absl::Duration now_;
};

class FunctionCallerTest : public ::testing::Test {
 protected:
  absl::StatusOr<FunctionResult> Count() {
    return caller_.Read("w", {.function = "count"});
  }
  void ExpectWhole(const absl::StatusOr<FunctionResult>& result) {
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->values, ElementsAre(FunctionValue(int64_t{1111})));
  }

  FakePeers peers_;
  FunctionCaller caller_{{.seed = 5}, &peers_};
};

TEST_F(FunctionCallerTest, AsksEachServerOnceAndCombines) {
  ExpectWhole(Count());
  ASSERT_EQ(peers_.asked.size(), 2);
  for (const ServerCall& call : peers_.asked) {
    EXPECT_EQ(call.request.header().job().id(), "job");
    EXPECT_EQ(call.request.header().job().generation(), 3);
    EXPECT_EQ(call.request.header().incarnation(), call.server.incarnation);
    EXPECT_EQ(call.request.table(), 1);
    EXPECT_EQ(call.request.parts_size(), 2);
    EXPECT_FALSE(call.request.has_clock());
  }
}

TEST_F(FunctionCallerTest, AtAClockItNamesRankAttemptAndClock) {
  const auto result = caller_.Read(
      "w", {.function = "count"},
      FunctionCaller::At{.rank = 4, .attempt = 2, .clock = {1, 7}});
  ExpectWhole(result);
  const v1::CallRequest& request = peers_.asked[0].request;
  EXPECT_EQ(request.header().rank().rank(), 4);
  EXPECT_EQ(request.header().rank().attempt(), 2);
  EXPECT_EQ(request.clock().epoch(), 1);
  EXPECT_EQ(request.clock().step(), 7);
  EXPECT_NE(request.parts(0).number(), request.parts(1).number());
}

TEST_F(FunctionCallerTest, PartitionsThatMovedAreAskedAgainTheOthersNot) {
  peers_.answer = [&](const ServerCall& call) {
    return call.server.incarnation == 2
               ? FakePeers::Refusal(call, v1::PART_STALE_EPOCH)
               : FakePeers::Good(call);
  };
  peers_.on_pause = [&] { peers_.PlaceOn({1, 1, 3, 3, 1}, 2); };
  ExpectWhole(Count());
  ASSERT_EQ(peers_.asked.size(), 3);
  EXPECT_EQ(peers_.asked[2].server.incarnation, 3);
  EXPECT_EQ(peers_.asked[2].request.parts(0).epoch(), 2);
}

TEST_F(FunctionCallerTest, APartitionWithoutAPrimaryIsWaitedFor) {
  peers_.PlaceOn({1, 1, 0, 2, 1});
  peers_.on_pause = [&] { peers_.PlaceOn({1, 1, 3, 2, 1}, 2); };
  ExpectWhole(Count());
}

TEST_F(FunctionCallerTest, AJobThatWentBackIsAskedFromTheStart) {
  bool first = true;
  peers_.answer = [&](const ServerCall& call) -> absl::StatusOr<v1::CallReply> {
    if (call.server.incarnation == 2 && std::exchange(first, false)) {
      peers_.generation = 4;
      return WithReason(absl::FailedPreconditionError("over"),
                        "GENERATION_STALE");
    }
    return FakePeers::Good(call);
  };
  ExpectWhole(Count());
  ASSERT_EQ(peers_.asked.size(), 4);
  EXPECT_EQ(peers_.asked[2].request.header().job().generation(), 4);
  EXPECT_EQ(peers_.asked[2].request.parts_size() +
                peers_.asked[3].request.parts_size(),
            4);
}

// A function that ends every server that runs it: one repeat, no more.
TEST_F(FunctionCallerTest, ACallThatKillsServersIsRepeatedOnce) {
  uint64_t next = 3;
  peers_.answer = [&](const ServerCall&) -> absl::StatusOr<v1::CallReply> {
    return absl::UnavailableError("connection reset");
  };
  peers_.PlaceOn({1, 1, 1, 1, 1});
  peers_.on_pause = [&] {
    peers_.PlaceOn({next, next, next, next, next});
    ++next;
  };
  EXPECT_THAT(Count(), StatusIs(absl::StatusCode::kAborted,
                                HasSubstr("function 'count'")));
  ASSERT_EQ(peers_.asked.size(), 2);
  EXPECT_NE(peers_.asked[0].server.incarnation,
            peers_.asked[1].server.incarnation);
}

TEST_F(FunctionCallerTest, AConnectionThatBrokeIsTriedAgain) {
  int left = 3;
  peers_.answer = [&](const ServerCall& call) -> absl::StatusOr<v1::CallReply> {
    if (left-- > 0) return absl::UnavailableError("reset");
    return FakePeers::Good(call);
  };
  ExpectWhole(Count());
}

TEST_F(FunctionCallerTest, WhatDoesNotPassEndsTheCall) {
  peers_.answer = [](const ServerCall& call) {
    return FakePeers::Refusal(call, v1::PART_FUNCTION_FAILED);
  };
  EXPECT_THAT(Count(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("why")));
  peers_.answer = [](const ServerCall&) -> absl::StatusOr<v1::CallReply> {
    return absl::NotFoundError("no such function");
  };
  EXPECT_THAT(Count(), StatusIs(absl::StatusCode::kNotFound));
  peers_.answer = [](const ServerCall& call) {
    v1::CallReply reply = FakePeers::Good(call);
    reply.set_version(call.server.incarnation);
    return reply;
  };
  EXPECT_THAT(Count(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("different versions")));
  peers_.answer = [](const ServerCall& call) {
    v1::CallReply reply = FakePeers::Good(call);
    reply.add_results();
    return reply;
  };
  EXPECT_THAT(Count(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(caller_.Read("v", {.function = "count"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("b, w")));
  EXPECT_THAT(caller_.Read("", {.function = "count"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b, w")));
}

TEST_F(FunctionCallerTest, PatienceEndsAndSaysWhy) {
  peers_.answer = [](const ServerCall& call) {
    return FakePeers::Refusal(call, v1::PART_RETRY_AFTER);
  };
  EXPECT_THAT(Count(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("why")));
  peers_.pause_error = absl::CancelledError("interrupted");
  EXPECT_THAT(Count(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(FunctionCallerTest, WritesAreNumberedAndRepeatedUnderTheirNumber) {
  int calls = 0;
  peers_.answer = [&](const ServerCall& call) -> absl::StatusOr<v1::CallReply> {
    if (calls++ == 0) return absl::UnavailableError("reset");
    v1::CallReply reply = FakePeers::Good(call);
    reply.set_combine(v1::COMBINE_NOTHING);
    return reply;
  };
  EXPECT_THAT(caller_.Write("w", {.function = "scale", .arguments = {2.0}}),
              IsOk());
  EXPECT_THAT(caller_.Write("w", {.function = "scale", .arguments = {2.0}}),
              IsOk());
  ASSERT_EQ(peers_.asked.size(), 5);
  const uint64_t session = peers_.asked[0].request.header().session();
  EXPECT_NE(session, 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(peers_.asked[i].request.number(), i < 3 ? 1 : 2);
    EXPECT_EQ(peers_.asked[i].request.header().session(), session);
  }
  // After an error nobody knows what was done: another session.
  peers_.answer = [](const ServerCall& call) {
    return FakePeers::Refusal(call, v1::PART_INVALID);
  };
  EXPECT_FALSE(caller_.Write("w", {.function = "scale"}).ok());
  EXPECT_FALSE(caller_.Write("w", {.function = "scale"}).ok());
  EXPECT_EQ(peers_.asked.back().request.number(), 1);
  EXPECT_NE(peers_.asked.back().request.header().session(), session);
}

}  // namespace
}  // namespace seraph
