// Calls of functions behind a real gRPC stub.
#include "server/service/function_calls.h"

#include <memory>
#include <string>
#include <vector>

#include "common/functions/partial_result.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/function_codec.h"
#include "common/wire/table_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TestServer;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kIncarnation = 77;

// Sets everything to 42, or throws something.
class Users final : public Function {
 public:
  explicit Users(bool fails)
      : Function({.name = fails ? "fails" : "users", .writes = true},
                 /*built_in=*/false),
        fails_(fails) {}

  absl::Status Write(const RowsAt& rows, const FunctionInput&,
                     WriteRows write) const override {
    if (fails_) return absl::InternalError("function 'fails' failed");
    rows.ForEach(
        [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
          for (float& value : values) value = 42;
          write(keys, values);
        });
    return absl::OkStatus();
  }

 private:
  const bool fails_;
};

TableSpec Table(const std::string& name, uint32_t partitions) {
  TableSpec table{.name = name, .partitions = partitions};
  table.optimizer.kind = OptimizerKind::kSum;
  return table;
}

class FunctionCallsTest : public ::testing::Test {
 protected:
  FunctionCallsTest() {
    EXPECT_THAT(functions_.Add(std::make_shared<Users>(false)), IsOk());
    EXPECT_THAT(functions_.Add(std::make_shared<Users>(true)), IsOk());
    server_ = std::make_unique<TestServer>(testing::TestServerOptions{
        .incarnation = kIncarnation, .functions = &functions_});
  }

  template <typename Request, typename Reply, typename Method>
  absl::StatusOr<Reply> Do(Method method, const Request& request,
                           absl::Duration timeout = absl::Seconds(30)) {
    return TestServer::Do<Reply>(&server_->parameters(), method, request,
                                 timeout);
  }

  // Tables "v" and "w" in two partitions each, and "one" in one. `elsewhere`:
  // a partition of "v" that is not here.
  void Assign(const std::string& mode, int elsewhere = -1) {
    v1::AssignPartitionsRequest order;
    order.mutable_job()->set_id("job");
    order.mutable_job()->set_generation(3);
    order.set_incarnation(kIncarnation);
    v1::JobTables* tables = order.mutable_tables();
    tables->set_ranks(2);
    tables->mutable_sync()->set_mode(mode);
    tables->mutable_sync()->set_combine("sum");
    tables->set_steps_per_epoch(10);
    tables->set_epochs(2);
    const std::vector<TableSpec> specs = {Table("v", 2), Table("w", 2),
                                          Table("one", 1)};
    const Node self{
        .name = "self", .address = "127.0.0.1:1", .incarnation = kIncarnation};
    for (uint32_t t = 0; t < specs.size(); ++t) {
      ToProto(specs[t], tables->add_tables());
      for (uint32_t p = 0; p < specs[t].partitions; ++p) {
        if (t == 0 && int(p) == elsewhere) continue;
        v1::ReplicaOrder* place = order.add_replicas();
        place->set_duty(v1::REPLICA_DUTY_LEAD);
        ToProto(self, place->mutable_primary());
        ToProto(self, place->add_members());
        place->set_table(t);
        place->set_partition(p);
        place->set_epoch(1);
      }
    }
    ASSERT_THAT((Do<v1::AssignPartitionsRequest, v1::AssignPartitionsReply>(
                    &v1::Parameters::Stub::AssignPartitions, order)),
                IsOk());
    for (uint32_t rank = 0; rank < 2; ++rank) {
      v1::BeginAttemptRequest begin;
      FillHeader(begin.mutable_header(), rank);
      ASSERT_THAT((Do<v1::BeginAttemptRequest, v1::BeginAttemptReply>(
                      &v1::Parameters::Stub::BeginAttempt, begin)),
                  IsOk());
    }
  }

  static void FillHeader(v1::RequestHeader* header,
                         std::optional<uint32_t> rank) {
    header->mutable_job()->set_id("job");
    header->mutable_job()->set_generation(3);
    header->set_incarnation(kIncarnation);
    if (!rank.has_value()) return;
    header->mutable_rank()->set_rank(*rank);
    header->mutable_rank()->set_attempt(1);
  }

  // Key 5 of partition 0, and the greatest key, of partition 1, of a table.
  absl::StatusOr<v1::PushReply> Push(
      uint32_t table, uint32_t rank, uint32_t step, float value,
      const std::vector<FunctionCall>& calls = {}) {
    v1::PushRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    request.set_examples(1);
    for (const FunctionCall& call : calls) {
      v1::TableCall* one = request.add_calls();
      one->set_table(table);
      ToProto(call, one->mutable_call());
    }
    for (uint32_t p = 0; p < 2; ++p) {
      v1::PushPart* part = request.add_parts();
      part->set_table(table);
      part->set_partition(p);
      part->set_epoch(1);
      part->set_key_count(1);
      const Key key = p == 0 ? 5 : kMaxKey;
      request.mutable_keys()->append(reinterpret_cast<const char*>(&key), 8);
      request.mutable_values()->append(reinterpret_cast<const char*>(&value),
                                       4);
    }
    return Do<v1::PushRequest, v1::PushReply>(&v1::Parameters::Stub::Push,
                                              request);
  }

  static v1::CallRequest Request(uint32_t table, const FunctionCall& call) {
    v1::CallRequest request;
    FillHeader(request.mutable_header(), std::nullopt);
    request.set_table(table);
    ToProto(call, request.mutable_call());
    for (uint32_t p = 0; p < (table == 2 ? 1 : 2); ++p) {
      v1::CallPart* part = request.add_parts();
      part->set_partition(p);
      part->set_epoch(1);
    }
    return request;
  }

  static v1::CallRequest Session(v1::CallRequest request, uint64_t number) {
    request.mutable_header()->set_session(99);
    request.set_number(number);
    return request;
  }

  absl::StatusOr<v1::CallReply> Call(
      const v1::CallRequest& request,
      absl::Duration timeout = absl::Seconds(30)) {
    return Do<v1::CallRequest, v1::CallReply>(&v1::Parameters::Stub::Call,
                                              request, timeout);
  }

  // The combined result of a call that reads, whose parts are all OK.
  std::vector<FunctionValue> Read(const v1::CallRequest& request) {
    const auto reply = Call(request);
    EXPECT_THAT(reply, IsOk());
    if (!reply.ok()) return {};
    std::vector<PartialResult> parts;
    for (int i = 0; i < reply->results_size(); ++i) {
      EXPECT_EQ(reply->results(i).code(), v1::PART_OK)
          << reply->results(i).message();
      parts.push_back(*FromProto(reply->partials(i)));
    }
    return *CombineParts(*FromProto(reply->combine()), parts);
  }
  double Sum(uint32_t table) {
    return std::get<double>(Read(Request(table, {.function = "sum"}))[0]);
  }

  FunctionRegistry functions_ = FunctionRegistry::WithBuiltIns();
  std::unique_ptr<TestServer> server_;
};

TEST_F(FunctionCallsTest, EachPartitionAnswersAndTheRuleIsTold) {
  Assign("asp");
  ASSERT_THAT(Push(1, 0, 0, 3), IsOk());
  EXPECT_EQ(Sum(1), 6);
  const auto reply =
      Call(Request(1, {.function = "top_k", .arguments = {int64_t{7}}}));
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->version(), 1);
  EXPECT_EQ(reply->combine(), v1::COMBINE_LARGEST);
  ASSERT_EQ(reply->partials_size(), 2);
  EXPECT_EQ(reply->partials(1).keys(0), kMaxKey);
  EXPECT_EQ(reply->partials(1).count(), 7);
}

TEST_F(FunctionCallsTest, ACallAtAClockWaitsLikeAPull) {
  Assign("bsp");
  ASSERT_THAT(Push(1, 0, 0, 3), IsOk());
  v1::CallRequest request = Request(1, {.function = "sum"});
  FillHeader(request.mutable_header(), 0);
  request.mutable_clock()->set_step(1);
  EXPECT_THAT(Call(request, absl::Milliseconds(200)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(Push(1, 1, 0, 4), IsOk());
  EXPECT_EQ(Read(request)[0], FunctionValue(14.0));
  request.mutable_clock()->set_step(0);
  EXPECT_EQ(Read(request)[0], FunctionValue(0.0));
}

TEST_F(FunctionCallsTest, WhatIsWrongIsToldByNameAndCode) {
  Assign("asp");
  const auto status = [&](uint32_t table, const FunctionCall& call) {
    return Call(Request(table, call)).status();
  };
  EXPECT_THAT(status(1, {.function = "no_such"}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'no_such'"), HasSubstr("norm"))));
  EXPECT_THAT(
      status(1, {.function = "sum", .version = 2}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'sum'")));
  EXPECT_THAT(
      status(1, {.function = "top_k"}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("top_k(k: int)")));
  EXPECT_THAT(
      status(1, {.function = "top_k", .arguments = {"ten"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'k' got text")));
  EXPECT_THAT(status(1, {.function = "sum", .column = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(status(9, {.function = "sum"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(status(1, {.function = "dot", .arguments = {int64_t{1}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'w' has columns 0 to 0")));
  EXPECT_THAT(status(1, {.function = "dot", .arguments = {int64_t{0}, "x"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("table 'x'")));
  EXPECT_THAT(status(1, {.function = "scale", .arguments = {2.0}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'scale' writes")));
  v1::CallRequest request = Request(1, {.function = "sum"});
  request.mutable_clock()->set_step(0);
  EXPECT_THAT(Call(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("needs a rank")));
  request = Request(1, {.function = "sum"});
  request.mutable_call()->add_arguments();
  EXPECT_THAT(Call(request), StatusIs(absl::StatusCode::kInvalidArgument));
  request = Request(1, {.function = "sum"});
  request.add_parts()->set_epoch(1);
  EXPECT_THAT(Call(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("3 parts")));
  request = Request(1, {.function = "sum"});
  request.mutable_header()->mutable_job()->set_generation(2);
  EXPECT_EQ(ReasonOf(Call(request).status()), "GENERATION_STALE");
  request = Request(1, {.function = "sum"});
  request.mutable_parts(0)->set_epoch(9);
  request.mutable_parts(1)->set_partition(2);
  const auto reply = Call(request);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->results(0).code(), v1::PART_STALE_EPOCH);
  EXPECT_EQ(reply->results(1).code(), v1::PART_NOT_HERE);
}

TEST_F(FunctionCallsTest, TwoTablesHaveToBeCutAlikeAndBeTogether) {
  Assign("asp");
  ASSERT_THAT(Push(0, 0, 0, 3), IsOk());
  ASSERT_THAT(Push(1, 0, 0, 4), IsOk());
  const FunctionCall dot = {.function = "dot", .arguments = {int64_t{0}, "v"}};
  EXPECT_EQ(Read(Request(1, dot))[0], FunctionValue(24.0));
  EXPECT_THAT(Call(Request(2, dot)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'dot'"), HasSubstr("'one' and 'v'"),
                             HasSubstr("not cut alike"))));
  ASSERT_THAT(Call(Session(Request(1, {.function = "axpy",
                                       .arguments = {10.0, int64_t{0}, "v"}}),
                           1)),
              IsOk());
  EXPECT_EQ(Sum(1), 68);
  EXPECT_EQ(Sum(0), 6);
}

// The rows of one table lie on another server than those of the other.
TEST_F(FunctionCallsTest, TablesThatAreApartAreRefusedByName) {
  Assign("asp", /*elsewhere=*/1);
  const auto reply =
      Call(Request(1, {.function = "dot", .arguments = {int64_t{0}, "v"}}));
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->results(0).code(), v1::PART_OK);
  EXPECT_EQ(reply->results(1).code(), v1::PART_FUNCTION_FAILED);
  EXPECT_THAT(reply->results(1).message(),
              AllOf(HasSubstr("'dot'"), HasSubstr("partition 1"),
                    HasSubstr("'w' and 'v'"), HasSubstr("same server")));
}

TEST_F(FunctionCallsTest, SessionsWriteOnce) {
  Assign("asp");
  ASSERT_THAT(Push(1, 0, 0, 3), IsOk());
  const v1::CallRequest scale =
      Session(Request(1, {.function = "scale", .arguments = {2.0}}), 1);
  ASSERT_THAT(Call(scale), IsOk());
  ASSERT_THAT(Call(scale), IsOk());
  EXPECT_EQ(Sum(1), 12);
  ASSERT_THAT(Call(Session(Request(1, {.function = "users"}), 2)), IsOk());
  EXPECT_EQ(Sum(1), 84);
  const auto failed = Call(Session(Request(1, {.function = "fails"}), 3));
  ASSERT_THAT(failed, IsOk());
  for (const v1::PartResult& result : failed->results()) {
    EXPECT_EQ(result.code(), v1::PART_FUNCTION_FAILED);
    EXPECT_EQ(result.message(), "function 'fails' failed");
  }
  EXPECT_EQ(Sum(1), 84);
}

TEST_F(FunctionCallsTest, RanksWriteWithTheirEntries) {
  Assign("bsp");
  ASSERT_THAT(Push(1, 0, 0, 3, {{.function = "scale", .arguments = {10.0}}}),
              IsOk());
  EXPECT_EQ(Sum(1), 0);
  ASSERT_THAT(Push(1, 1, 0, 4, {{.function = "fill", .arguments = {1.0}}}),
              IsOk());
  EXPECT_EQ(Sum(1), 2) << "(3 + 4) * 10, then 1";
  const auto refused = Push(1, 0, 1, 3, {{.function = "users"}});
  ASSERT_THAT(refused, IsOk());
  EXPECT_EQ(refused->results(0).code(), v1::PART_INVALID);
  EXPECT_THAT(refused->results(0).message(), HasSubstr("'users'"));
  EXPECT_THAT(
      Call(Session(Request(1, {.function = "scale", .arguments = {2.0}}), 1)),
      IsOk());
  EXPECT_EQ(Sum(1), 2) << "tables of a bsp job take calls from ranks only";
}

}  // namespace
}  // namespace seraph
