// The service behind a real gRPC stub.
#include "server/service/parameter_service.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/status/errors.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/key_encoding.h"
#include "common/wire/table_codec.h"
#include "common/wire/value_codec.h"
#include "common/wire/value_encoding.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TestServer;
using ::testing::ElementsAre;

constexpr uint64_t kIncarnation = 77;

class ParameterServiceTest : public ::testing::Test {
 protected:
  ParameterServiceTest() { Start(1 << 20); }

  void Start(uint64_t memory_limit_bytes) {
    server_.reset();
    server_ = std::make_unique<TestServer>(testing::TestServerOptions{
        .incarnation = kIncarnation, .memory_limit_bytes = memory_limit_bytes});
    stub_ = &server_->parameters();
  }

  template <typename Request, typename Reply, typename Method>
  absl::StatusOr<Reply> Do(Method method, const Request& request,
                           absl::Duration timeout = absl::Seconds(20)) {
    grpc::ClientContext context;
    SetDeadline(&context, timeout);
    Reply reply;
    const grpc::Status status = ((*stub_).*method)(&context, request, &reply);
    if (!status.ok()) return FromGrpcStatus(status);
    return reply;
  }

  static v1::AssignPartitionsRequest Order(const std::string& mode,
                                           TableSpec table) {
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
    ToProto(table, tables->add_tables());
    for (uint32_t p = 0; p < table.partitions; ++p) {
      v1::ReplicaOrder* place = order.add_replicas();
      place->set_duty(v1::REPLICA_DUTY_LEAD);
      const Node self{.name = "self",
                      .address = "127.0.0.1:1",
                      .incarnation = kIncarnation};
      ToProto(self, place->mutable_primary());
      ToProto(self, place->add_members());
      place->set_partition(p);
      place->set_epoch(1);
    }
    return order;
  }

  static TableSpec SumTable(uint32_t partitions = 2) {
    TableSpec table{.name = "t", .partitions = partitions};
    table.optimizer.kind = OptimizerKind::kSum;
    return table;
  }

  absl::Status Assign(const v1::AssignPartitionsRequest& order) {
    return Do<v1::AssignPartitionsRequest, v1::AssignPartitionsReply>(
               &v1::Parameters::Stub::AssignPartitions, order)
        .status();
  }

  static void FillHeader(v1::RequestHeader* header, uint32_t rank) {
    header->mutable_job()->set_id("job");
    header->mutable_job()->set_generation(3);
    header->set_incarnation(kIncarnation);
    header->mutable_rank()->set_rank(rank);
    header->mutable_rank()->set_attempt(1);
  }

  absl::StatusOr<v1::BeginAttemptReply> Begin(uint32_t rank) {
    v1::BeginAttemptRequest request;
    FillHeader(request.mutable_header(), rank);
    return Do<v1::BeginAttemptRequest, v1::BeginAttemptReply>(
        &v1::Parameters::Stub::BeginAttempt, request);
  }

  // Key 5, in partition 0, and the greatest key, in the last one.
  static v1::PushRequest Push(uint32_t rank, uint32_t step, float value) {
    v1::PushRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    request.set_examples(1);
    for (uint32_t p = 0; p < 2; ++p) {
      v1::PushPart* part = request.add_parts();
      part->set_partition(p);
      part->set_epoch(1);
      part->set_key_count(1);
      const Key key = p == 0 ? 5 : kMaxKey;
      request.mutable_keys()->append(reinterpret_cast<const char*>(&key), 8);
      request.mutable_values()->append(reinterpret_cast<const char*>(&value),
                                       4);
    }
    return request;
  }

  static v1::PullRequest Pull(uint32_t rank, uint32_t step) {
    v1::PullRequest request;
    FillHeader(request.mutable_header(), rank);
    request.mutable_clock()->set_step(step);
    const v1::PushRequest same = Push(rank, step, 0);
    for (const v1::PushPart& from : same.parts()) {
      v1::PullPart* part = request.add_parts();
      part->set_partition(from.partition());
      part->set_epoch(1);
      part->set_key_count(1);
    }
    request.set_keys(same.keys());
    return request;
  }

  static std::vector<float> Floats(const std::string& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  absl::StatusOr<v1::PushReply> DoPush(const v1::PushRequest& request) {
    return Do<v1::PushRequest, v1::PushReply>(&v1::Parameters::Stub::Push,
                                              request);
  }
  absl::StatusOr<v1::PullReply> DoPull(
      const v1::PullRequest& request,
      absl::Duration timeout = absl::Seconds(20)) {
    return Do<v1::PullRequest, v1::PullReply>(&v1::Parameters::Stub::Pull,
                                              request, timeout);
  }

  std::unique_ptr<TestServer> server_;
  v1::Parameters::Stub* stub_ = nullptr;
};

TEST_F(ParameterServiceTest, APlainStubPushesAndPulls) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  ASSERT_THAT(Begin(1), IsOk());
  ASSERT_THAT(DoPush(Push(0, 0, 1)), IsOk());
  const auto pushed = DoPush(Push(1, 0, 10));
  ASSERT_THAT(pushed, IsOk());
  for (const v1::PartResult& result : pushed->results()) {
    EXPECT_EQ(result.code(), v1::PART_OK) << result.message();
  }
  const auto pulled = DoPull(Pull(0, 1));
  ASSERT_THAT(pulled, IsOk());
  EXPECT_THAT(Floats(pulled->values()), ElementsAre(11, 11));
}

TEST_F(ParameterServiceTest, APullThatWaitsEndsWithItsDeadlineAndIsForgotten) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  ASSERT_THAT(Begin(1), IsOk());
  EXPECT_THAT(DoPull(Pull(0, 1), absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  // The server goes on, and the answer that comes later has nowhere to go.
  ASSERT_THAT(DoPush(Push(0, 0, 1)), IsOk());
  ASSERT_THAT(DoPush(Push(1, 0, 1)), IsOk());
  EXPECT_THAT(DoPull(Pull(0, 1)), IsOk());
}

TEST_F(ParameterServiceTest, TheFusedCallAnswersBoth) {
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  v1::PushPullRequest request;
  *request.mutable_push() = Push(0, 0, 2);
  *request.mutable_pull() = Pull(0, 1);
  const auto reply = Do<v1::PushPullRequest, v1::PushPullReply>(
      &v1::Parameters::Stub::PushPull, request);
  ASSERT_THAT(reply, IsOk());
  EXPECT_THAT(Floats(reply->pull().values()), ElementsAre(2, 2));
}

// An earlier entry was lost: the refusal is told at once, although the pull
// behind it could not be answered for a long time.
TEST_F(ParameterServiceTest, ARefusedPushIsToldWithoutThePullBehindIt) {
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  v1::PushPullRequest request;
  *request.mutable_push() = Push(0, 1, 2);
  *request.mutable_pull() = Pull(0, 2);
  const auto reply = Do<v1::PushPullRequest, v1::PushPullReply>(
      &v1::Parameters::Stub::PushPull, request);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->push().results(0).code(), v1::PART_EXPECTED_CLOCK);
  EXPECT_EQ(reply->pull().results(0).code(), v1::PART_RETRY_AFTER);
  EXPECT_TRUE(reply->pull().values().empty());
}

// What is measured against: right-sized answers, and nothing was done.
TEST_F(ParameterServiceTest, WithoutWorkItAnswersAtOnceAndKeepsNothing) {
  server_.reset();
  server_ = std::make_unique<TestServer>(
      testing::TestServerOptions{.incarnation = kIncarnation, .noop = true});
  stub_ = &server_->parameters();
  TableSpec table = SumTable();
  table.width = 3;
  ASSERT_THAT(Assign(Order("bsp", table)), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  // In bsp it would wait for the other rank.
  const auto pulled = DoPull(Pull(0, 1));
  ASSERT_THAT(pulled, IsOk());
  EXPECT_EQ(Floats(pulled->values()), std::vector<float>(6, 0.f));
  v1::PushRequest push = Push(0, 7, 1);  // Not the next one.
  push.set_values(std::string(2 * 3 * sizeof(float), '\0'));
  const auto pushed = DoPush(push);
  ASSERT_THAT(pushed, IsOk());
  EXPECT_EQ(pushed->results(0).code(), v1::PART_OK);
  const auto described = Do<v1::DescribeServerRequest, v1::DescribeServerReply>(
      &v1::Parameters::Stub::DescribeServer, {});
  ASSERT_THAT(described, IsOk());
  EXPECT_EQ(described->partitions(0).rows(), 0u);

  // An earlier attempt ends all the same.
  push.mutable_header()->mutable_rank()->set_attempt(0);
  const auto stale = DoPush(push);
  ASSERT_THAT(stale, IsOk());
  EXPECT_EQ(stale->results(0).code(), v1::PART_STALE_ATTEMPT);
}

TEST_F(ParameterServiceTest, OtherLivesAreRefused) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  v1::PullRequest pull = Pull(0, 0);
  pull.mutable_header()->mutable_job()->set_generation(4);
  EXPECT_EQ(ReasonOf(DoPull(pull).status()), "GENERATION_NEWER");
  pull.mutable_header()->mutable_job()->set_generation(2);
  EXPECT_EQ(ReasonOf(DoPull(pull).status()), "GENERATION_STALE");
  pull = Pull(0, 0);
  pull.mutable_header()->set_incarnation(78);
  EXPECT_EQ(ReasonOf(DoPull(pull).status()), "OTHER_INCARNATION");
  pull = Pull(0, 0);
  pull.mutable_header()->mutable_job()->set_id("other");
  EXPECT_THAT(DoPull(pull), StatusIs(absl::StatusCode::kNotFound));

  v1::AssignPartitionsRequest order = Order("bsp", SumTable());
  order.set_incarnation(78);
  EXPECT_EQ(ReasonOf(Assign(order)), "OTHER_INCARNATION");
}

// A copy of the order that comes late must not empty the partition.
TEST_F(ParameterServiceTest, ARepeatedOrderChangesNothing) {
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  ASSERT_THAT(DoPush(Push(0, 0, 1)), IsOk());
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  const auto pulled = DoPull(Pull(0, 1));
  ASSERT_THAT(pulled, IsOk());
  EXPECT_THAT(Floats(pulled->values()), ElementsAre(1, 1));

  v1::AssignPartitionsRequest older = Order("asp", SumTable());
  older.mutable_job()->set_generation(2);
  EXPECT_THAT(Assign(older), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ParameterServiceTest, ADroppedJobIsGoneForGood) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  v1::DropJobRequest drop;
  drop.mutable_job()->set_id("job");
  drop.mutable_job()->set_generation(3);
  ASSERT_THAT((Do<v1::DropJobRequest, v1::DropJobReply>(
                  &v1::Parameters::Stub::DropJob, drop)),
              IsOk());
  EXPECT_THAT(DoPull(Pull(0, 0)), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Assign(Order("bsp", SumTable())),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ParameterServiceTest, MessagesThatContradictThemselvesAreRefused) {
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  v1::PushRequest push = Push(0, 0, 1);
  push.mutable_keys()->pop_back();
  EXPECT_THAT(DoPush(push), refused);
  push = Push(0, 0, 1);
  push.mutable_values()->append("1234");
  EXPECT_THAT(DoPush(push), refused);
  push = Push(0, 0, 1);
  push.mutable_parts(0)->set_key_count(1u << 31);
  EXPECT_THAT(DoPush(push), refused);

  v1::PullRequest pull = Pull(0, 0);
  pull.mutable_parts(0)->set_key_count(~0u);
  EXPECT_THAT(DoPull(pull), refused);
  // A range beyond the partition costs no memory either.
  pull = Pull(0, 0);
  pull.clear_parts();
  pull.clear_keys();
  v1::PullPart* part = pull.add_parts();
  part->set_partition(1);
  part->set_epoch(1);
  part->set_encoding(v1::KEY_ENCODING_RANGE);
  part->set_first_key(kMaxKey - 1);
  part->set_key_count(1u << 20);
  const auto reply = DoPull(pull);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->results(0).code(), v1::PART_INVALID);
  pull.mutable_parts(0)->set_table(9);
  const auto nowhere = DoPull(pull);
  ASSERT_THAT(nowhere, IsOk());
  EXPECT_EQ(nowhere->results(0).code(), v1::PART_NOT_HERE);
}

TEST_F(ParameterServiceTest, TablesThatDoNotFitAreRefusedBeforeTheyAreMade) {
  TableSpec huge{.name = "huge",
                 .kind = TableKind::kDense,
                 .keys = uint64_t{1} << 40,
                 .partitions = 2};
  EXPECT_THAT(Assign(Order("bsp", huge)),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ParameterServiceTest, APartitionThatOutgrowsTheMemoryFailsByName) {
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  v1::PushRequest push = Push(0, 0, 1);
  push.clear_keys();
  push.clear_values();
  push.mutable_parts(1)->set_key_count(0);
  push.mutable_parts(0)->set_encoding(v1::KEY_ENCODING_RANGE);
  push.mutable_parts(0)->set_key_count(100'000);  // Of 1 MiB in all.
  push.mutable_values()->resize(400'000);
  ASSERT_THAT(DoPush(push), IsOk());
  const auto next = DoPush(Push(0, 1, 1));
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->results(0).code(), v1::PART_FAILED);
  EXPECT_THAT(next->results(0).message(),
              ::testing::HasSubstr("server.memory_limit"));
}

TEST_F(ParameterServiceTest, RowsAreLoadedAndExportedInTheOrderOfOriginalKeys) {
  TableSpec table = SumTable();
  table.scramble = true;
  ASSERT_THAT(Assign(Order("bsp", table)), IsOk());
  const Partitioning cut(table);
  std::vector<std::vector<Key>> keys(2);
  for (Key key = 0; key < 1000; ++key) {
    keys[cut.PartitionOf(ToMixedKey(table, key))].push_back(key);
  }
  for (uint32_t p = 0; p < 2; ++p) {
    ASSERT_GT(keys[p].size(), 300);
    v1::LoadRowsRequest load;
    load.mutable_job()->set_id("job");
    load.mutable_job()->set_generation(3);
    load.set_incarnation(kIncarnation);
    load.set_partition(p);
    for (Key key : keys[p]) {
      const float value = key;
      load.mutable_keys()->append(reinterpret_cast<const char*>(&key), 8);
      load.mutable_values()->append(reinterpret_cast<const char*>(&value), 4);
    }
    ASSERT_THAT((Do<v1::LoadRowsRequest, v1::LoadRowsReply>(
                    &v1::Parameters::Stub::LoadRows, load)),
                IsOk());

    v1::ExportPartitionRequest request;
    *request.mutable_job() = load.job();
    request.set_incarnation(kIncarnation);
    request.set_partition(p);
    grpc::ClientContext context;
    SetDeadline(&context, absl::Seconds(20));
    const auto reader = stub_->ExportPartition(&context, request);
    std::vector<Key> exported;
    v1::RowChunk chunk;
    while (reader->Read(&chunk)) {
      std::vector<Key> some(chunk.keys().size() / 8);
      std::memcpy(some.data(), chunk.keys().data(), chunk.keys().size());
      exported.insert(exported.end(), some.begin(), some.end());
      EXPECT_EQ(Floats(chunk.values()).at(0), static_cast<float>(some.at(0)));
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(exported, keys[p]);
  }
}

TEST_F(ParameterServiceTest, TheStreamAnswersInTheOrderOfReadiness) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  ASSERT_THAT(Begin(1), IsOk());
  grpc::ClientContext context;
  SetDeadline(&context, absl::Seconds(20));
  const auto stream = stub_->Exchange(&context);
  v1::ExchangeRequest request;
  request.set_number(1);
  *request.mutable_pull() = Pull(0, 1);  // Waits for both entries.
  ASSERT_TRUE(stream->Write(request));
  for (uint32_t rank = 0; rank < 2; ++rank) {
    request.set_number(2 + rank);
    *request.mutable_push() = Push(rank, 0, 1);
    ASSERT_TRUE(stream->Write(request));
  }
  v1::ExchangeReply reply;
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.number(), 2) << "the parked pull blocks nothing";
  std::vector<uint64_t> rest;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->Read(&reply));
    rest.push_back(reply.number());
  }
  EXPECT_THAT(rest, ::testing::UnorderedElementsAre(1, 3));
  // An error of one request does not end the stream.
  request.set_number(4);
  *request.mutable_pull() = Pull(0, 1);
  request.mutable_pull()->mutable_header()->mutable_job()->set_id("other");
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.number(), 4);
  EXPECT_EQ(reply.error_code(), grpc::NOT_FOUND);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ParameterServiceTest, KeysComeInAnyForm) {
  ASSERT_THAT(Assign(Order("asp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  const std::vector<Key> keys = {5, 9, 300, 70'000};
  const std::vector<KeyForm> forms = {KeyForm::kRaw64, KeyForm::kOffset32,
                                      KeyForm::kDelta};
  for (size_t step = 0; step < forms.size(); ++step) {
    v1::PushRequest push = Push(0, step, 1);
    push.clear_keys();
    v1::PushPart* part = push.mutable_parts(0);
    part->set_key_count(keys.size());
    part->set_encoding(EncodingOf(forms[step]));
    part->set_first_key(5);
    AppendKeys(forms[step], keys, push.mutable_keys());
    part->set_key_bytes(push.keys().size());
    AppendKeys(KeyForm::kRaw64, {kMaxKey}, push.mutable_keys());
    push.mutable_values()->resize(5 * sizeof(float));
    const std::vector<float> ones(5, 1);
    std::memcpy(push.mutable_values()->data(), ones.data(), 20);
    const auto pushed = DoPush(push);
    ASSERT_THAT(pushed, IsOk());
    EXPECT_EQ(pushed->results(0).code(), v1::PART_OK)
        << pushed->results(0).message();

    v1::PullRequest pull = Pull(0, step + 1);
    pull.set_keys(push.keys());
    pull.mutable_parts(0)->set_key_count(keys.size());
    pull.mutable_parts(0)->set_encoding(part->encoding());
    pull.mutable_parts(0)->set_first_key(5);
    pull.mutable_parts(0)->set_key_bytes(part->key_bytes());
    const auto pulled = DoPull(pull);
    ASSERT_THAT(pulled, IsOk());
    EXPECT_EQ(Floats(pulled->values()),
              std::vector<float>(5, static_cast<float>(step + 1)));
  }

  // Keys that are none are refused, where they are; the other part is taken.
  for (const std::string& bytes :
       {std::string("\0\x80", 2), std::string("\xff\xff\xff\xff\x0f", 5)}) {
    v1::PushRequest push = Push(0, forms.size(), 1);
    push.mutable_parts(0)->set_encoding(v1::KEY_ENCODING_DELTA);
    push.mutable_parts(0)->set_key_bytes(bytes.size());
    push.mutable_parts(0)->set_first_key(kMaxKey - 1);
    push.set_keys(bytes + push.keys().substr(8));
    const auto pushed = DoPush(push);
    ASSERT_THAT(pushed, IsOk());
    EXPECT_EQ(pushed->results(0).code(), v1::PART_INVALID);
    EXPECT_EQ(pushed->results(1).code(), v1::PART_OK);
  }
  // Fewer bytes than were said: the message contradicts itself.
  v1::PushRequest push = Push(0, forms.size(), 1);
  push.mutable_parts(0)->set_encoding(v1::KEY_ENCODING_DELTA);
  push.mutable_parts(0)->set_key_bytes(4'000'000'000);
  EXPECT_THAT(DoPush(push), StatusIs(absl::StatusCode::kInvalidArgument));
  push.mutable_parts(0)->set_encoding(static_cast<v1::KeyEncoding>(77));
  EXPECT_THAT(DoPush(push), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ParameterServiceTest, ValuesTravelInEveryEncodingBothWays) {
  TableSpec table = SumTable();
  table.width = 2;
  ASSERT_THAT(Assign(Order("asp", table)), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  // All of them hold these exactly, and the sums too.
  const std::vector<float> values = {1.5f, -3, 0.25f, 2};
  const std::vector<ValueKind> kinds = {ValueKind::kFloat32,
                                        ValueKind::kFloat16,
                                        ValueKind::kBfloat16, ValueKind::kInt8};
  for (uint32_t step = 0; step < kinds.size(); ++step) {
    v1::PushRequest push = Push(0, step, 0);
    push.clear_values();
    for (auto& part : *push.mutable_parts()) {
      part.set_values(EncodingOf(kinds[step]));
    }
    EncodeValues(kinds[step], 2, {}, values, nullptr, push.mutable_values());
    const auto pushed = DoPush(push);
    ASSERT_THAT(pushed, IsOk());
    for (const v1::PartResult& result : pushed->results()) {
      EXPECT_EQ(result.code(), v1::PART_OK) << result.message();
    }
    for (const ValueKind kind : kinds) {
      v1::PullRequest pull = Pull(0, step + 1);
      for (auto& part : *pull.mutable_parts())
        part.set_values(EncodingOf(kind));
      const auto pulled = DoPull(pull);
      ASSERT_THAT(pulled, IsOk());
      std::vector<float> rows(4);
      ASSERT_THAT(DecodeValues(kind, 2, pulled->values(), absl::MakeSpan(rows)),
                  IsOk());
      const float times = static_cast<float>(step + 1);
      EXPECT_THAT(rows, ElementsAre(1.5f * times, -3 * times, 0.25f * times,
                                    2 * times));
    }
  }

  v1::PushRequest push = Push(0, kinds.size(), 1);
  push.mutable_parts(0)->set_values(v1::VALUE_ENCODING_INT8);
  push.mutable_parts(1)->set_values(v1::VALUE_ENCODING_INT8);
  const std::string row = {0, 1, -128};  // The last is no number.
  push.set_values(row + std::string(3, '\0'));
  const auto pushed = DoPush(push);
  ASSERT_THAT(pushed, IsOk());
  EXPECT_EQ(pushed->results(0).code(), v1::PART_INVALID);
  EXPECT_EQ(pushed->results(1).code(), v1::PART_OK);

  push.set_values(row);  // Of one part alone.
  EXPECT_THAT(DoPush(push), StatusIs(absl::StatusCode::kInvalidArgument));
  push.mutable_parts(0)->set_values(static_cast<v1::ValueEncoding>(77));
  EXPECT_THAT(DoPush(push), StatusIs(absl::StatusCode::kInvalidArgument));
  v1::PullRequest pull = Pull(0, 1);
  pull.mutable_parts(0)->set_values(static_cast<v1::ValueEncoding>(77));
  EXPECT_THAT(DoPull(pull), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ParameterServiceTest, ManyRequestsMayGoAsOneMessage) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  ASSERT_THAT(Begin(1), IsOk());
  grpc::ClientContext context;
  SetDeadline(&context, absl::Seconds(20));
  const auto stream = stub_->Exchange(&context);
  v1::ExchangeRequest batch;
  v1::ExchangeRequest* request = batch.add_batch();
  request->set_number(1);
  *request->mutable_pull() = Pull(0, 1);  // Waits for both entries.
  for (uint32_t rank = 0; rank < 2; ++rank) {
    request = batch.add_batch();
    request->set_number(2 + rank);
    *request->mutable_push() = Push(rank, 0, 1);
  }
  request = batch.add_batch();
  request->set_number(4);  // Empty: an error of its own.
  ASSERT_TRUE(stream->Write(batch));
  std::vector<uint64_t> numbers;
  while (numbers.size() < 4) {
    v1::ExchangeReply reply;
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_GT(reply.batch_size(), 0) << "answers come in the same way";
    for (const v1::ExchangeReply& one : reply.batch()) {
      numbers.push_back(one.number());
      EXPECT_EQ(one.error_code(),
                one.number() == 4 ? grpc::INVALID_ARGUMENT : grpc::OK);
      if (one.number() != 1) continue;
      EXPECT_EQ(one.pull().results(0).code(), v1::PART_OK);
      EXPECT_FALSE(one.pull().values().empty());
    }
  }
  EXPECT_THAT(numbers, ::testing::UnorderedElementsAre(1, 2, 3, 4));

  // A batch in a batch is none.
  batch.Clear();
  batch.add_batch()->add_batch()->set_number(5);
  ASSERT_TRUE(stream->Write(batch));
  v1::ExchangeReply reply;
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(ParameterServiceTest, WhatIsAnsweredAtOnceLeavesAsOneMessage) {
  grpc::ClientContext context;
  SetDeadline(&context, absl::Seconds(20));
  const auto stream = stub_->Exchange(&context);
  v1::ExchangeRequest batch;
  constexpr int kRequests = 20;
  for (int i = 1; i <= kRequests; ++i) {
    v1::ExchangeRequest* const one = batch.add_batch();
    one->set_number(i);
    *one->mutable_pull() = Pull(0, 0);  // Of a job that is not there.
  }
  ASSERT_TRUE(stream->Write(batch));
  v1::ExchangeReply reply;
  ASSERT_TRUE(stream->Read(&reply));
  ASSERT_EQ(reply.batch_size(), kRequests);
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ(reply.batch(i).number(), i + 1);
    EXPECT_EQ(reply.batch(i).error_code(), grpc::NOT_FOUND);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ParameterServiceTest, WhoHasSaidAllIsAnsweredBeforeTheStreamEnds) {
  ASSERT_THAT(Assign(Order("bsp", SumTable())), IsOk());
  ASSERT_THAT(Begin(0), IsOk());
  ASSERT_THAT(Begin(1), IsOk());
  for (const bool in_batches : {true, false}) {
    grpc::ClientContext context;
    SetDeadline(&context, absl::Seconds(20));
    const auto stream = stub_->Exchange(&context);
    v1::ExchangeRequest batch;
    for (uint64_t number = 1; number <= 50; ++number) {
      v1::ExchangeRequest one;
      one.set_number(number);
      *one.mutable_pull() = Pull(0, in_batches ? 1 : 0);
      if (in_batches) {
        *batch.add_batch() = one;
      } else {
        ASSERT_TRUE(stream->Write(one));
      }
    }
    ASSERT_TRUE(!in_batches || stream->Write(batch));
    stream->WritesDone();
    // In the first round the pulls wait until here.
    if (in_batches) {
      for (uint32_t rank = 0; rank < 2; ++rank) {
        ASSERT_THAT(DoPush(Push(rank, 0, 1)), IsOk());
      }
    }
    int answered = 0;
    v1::ExchangeReply reply;
    while (stream->Read(&reply)) {
      answered += in_batches ? reply.batch_size() : 1;
    }
    EXPECT_EQ(answered, 50);
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(ParameterServiceTest, BytesThatAreNoRequestAreRefused) {
  grpc::GenericStub raw(MakeChannel(server_->node().address, {}));
  for (const std::string& bytes :
       {std::string("\x72\x05"
                    "ab"),
        std::string(1, '\0'), std::string("\x3a\xff\xff\xff")}) {
    for (const char* method : {"Pull", "Push", "PushPull", "Exchange"}) {
      grpc::ClientContext context;
      SetDeadline(&context, absl::Seconds(20));
      const grpc::Slice slice(bytes);
      const grpc::ByteBuffer request(&slice, 1);
      grpc::ByteBuffer reply;
      Notification ended;
      grpc::Status status;
      raw.UnaryCall(&context, absl::StrCat("/seraph.v1.Parameters/", method),
                    {}, &request, &reply, [&](grpc::Status result) {
                      status = std::move(result);
                      ended.Notify();
                    });
      ended.Wait();
      EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method;
    }
  }
}

}  // namespace
}  // namespace seraph
