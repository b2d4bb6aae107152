// A cut through a server's partitions: from the clocks to the files, and back
// on another server.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/checkpoint/checkpoint_folder.h"
#include "common/io/posix_blob_folder.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "common/wire/table_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::seraph::testing::TestServer;

constexpr uint32_t kPartitions = 2;

class CutsTest : public ::testing::Test {
 protected:
  CutsTest() { EXPECT_THAT(Start(1, 1, nullptr), IsOk()); }

  // A server of that incarnation which leads both partitions.
  absl::Status Start(uint64_t incarnation, uint64_t generation,
                     const v1::RestoreFrom* restore) {
    server_.reset();
    server_ = std::make_unique<TestServer>(
        testing::TestServerOptions{.incarnation = incarnation});
    generation_ = generation;
    v1::AssignPartitionsRequest request;
    FillOrder(&request);
    v1::JobTables* tables = request.mutable_tables();
    tables->set_ranks(1);
    tables->mutable_sync()->set_mode("asp");
    tables->mutable_sync()->set_combine("sum");
    tables->set_steps_per_epoch(10);
    tables->set_epochs(1);
    ToProto(Table(), tables->add_tables());
    for (uint32_t p = 0; p < kPartitions; ++p) {
      ToProto(Order(p), request.add_replicas());
    }
    if (restore != nullptr) *request.mutable_restore() = *restore;
    return TestServer::Do(&server_->parameters(),
                          &v1::Parameters::Stub::AssignPartitions, request)
        .status();
  }

  static TableSpec Table() {
    TableSpec table{.name = "t", .partitions = kPartitions};
    table.optimizer.kind = OptimizerKind::kSum;
    return table;
  }

  ReplicaOrder Order(uint32_t partition) const {
    return {.partition = partition,
            .epoch = 1,
            .duty = ReplicaDuty::kLead,
            .primary = server_->node(),
            .members = {server_->node()}};
  }

  template <typename Request>
  void FillOrder(Request* request) const {
    request->mutable_job()->set_id("job");
    request->mutable_job()->set_generation(generation_);
    request->set_incarnation(server_->node().incarnation);
    request->set_term(1);
  }

  void FillHeader(v1::RequestHeader* header) const {
    header->mutable_job()->set_id("job");
    header->mutable_job()->set_generation(generation_);
    header->mutable_rank()->set_attempt(generation_);
  }

  Clock Begin() {
    v1::BeginAttemptRequest request;
    FillHeader(request.mutable_header());
    const auto reply = TestServer::Do(
        &server_->parameters(), &v1::Parameters::Stub::BeginAttempt, request);
    EXPECT_THAT(reply, IsOk());
    EXPECT_EQ(reply->partitions_size(), kPartitions);
    return FromProto(reply->clock());
  }

  // Key 5, in partition 0, and the greatest key, in the last one.
  static void FillKeys(std::string* keys) {
    for (const Key key : {Key{5}, kMaxKey}) {
      keys->append(reinterpret_cast<const char*>(&key), 8);
    }
  }

  absl::StatusOr<v1::PushReply> Push(uint32_t step) {
    v1::PushRequest request;
    FillHeader(request.mutable_header());
    request.mutable_clock()->set_step(step);
    request.set_examples(1);
    for (uint32_t p = 0; p < kPartitions; ++p) {
      v1::PushPart* part = request.add_parts();
      part->set_partition(p);
      part->set_epoch(1);
      part->set_key_count(1);
      const float value = p + 1;
      request.mutable_values()->append(reinterpret_cast<const char*>(&value),
                                       4);
    }
    FillKeys(request.mutable_keys());
    return TestServer::Do(&server_->parameters(), &v1::Parameters::Stub::Push,
                          request);
  }

  std::vector<float> Values() {
    v1::PullRequest request;
    FillHeader(request.mutable_header());
    for (uint32_t p = 0; p < kPartitions; ++p) {
      v1::PullPart* part = request.add_parts();
      part->set_partition(p);
      part->set_epoch(1);
      part->set_key_count(1);
    }
    FillKeys(request.mutable_keys());
    const auto reply = TestServer::Do(&server_->parameters(),
                                      &v1::Parameters::Stub::Pull, request);
    EXPECT_THAT(reply, IsOk());
    std::vector<float> values(reply->values().size() / sizeof(float));
    std::memcpy(values.data(), reply->values().data(), reply->values().size());
    return values;
  }

  absl::StatusOr<v1::BeginCutReply> BeginCut(uint64_t cut) {
    v1::BeginCutRequest request;
    FillOrder(&request);
    request.set_cut(cut);
    return TestServer::Do(&server_->replicas(), &v1::Replicas::Stub::BeginCut,
                          request);
  }

  absl::StatusOr<v1::TakeCutReply> TakeCut(uint64_t cut, Clock clock,
                                           uint64_t base = 0,
                                           uint64_t epoch = 1) {
    v1::TakeCutRequest request;
    FillOrder(&request);
    request.set_cut(cut);
    request.set_base(base);
    ToProto(clock, request.add_clocks());
    for (uint32_t p = 0; p < kPartitions; ++p) {
      ReplicaOrder order = Order(p);
      order.epoch = epoch;
      ToProto(order, request.add_partitions());
    }
    return TestServer::Do(&server_->replicas(), &v1::Replicas::Stub::TakeCut,
                          request);
  }

  absl::StatusOr<v1::WriteCutReply> WriteCut(uint64_t cut, uint64_t base = 0) {
    v1::WriteCutRequest request;
    FillOrder(&request);
    request.set_cut(cut);
    request.set_base(base);
    request.set_directory(folder_.path());
    return TestServer::Do(&server_->replicas(), &v1::Replicas::Stub::WriteCut,
                          request);
  }

  absl::Status DropCut(uint64_t cut) {
    v1::DropCutRequest request;
    FillOrder(&request);
    request.set_cut(cut);
    return TestServer::Do(&server_->replicas(), &v1::Replicas::Stub::DropCut,
                          request)
        .status();
  }

  // What the scheduler does when all parts are there.
  v1::RestoreFrom WriteManifest(const v1::WriteCutReply& written, uint64_t cut,
                                Clock clock) {
    CheckpointManifest manifest;
    manifest.seraph_version = "0";
    manifest.job_id = "job";
    manifest.job_name = "job";
    manifest.generation = generation_;
    manifest.cut = cut;
    manifest.clocks = {clock};
    manifest.tables = {Table()};
    manifest.parts.resize(kPartitions);
    for (const v1::CutPart& part : written.parts()) {
      CutPart& to = manifest.parts.at(part.partition());
      to.partition = part.partition();
      to.range = {part.first_key(), part.last_key()};
      to.rows = part.rows();
      for (const v1::CutFile& file : part.files()) {
        to.files.push_back({file.name(), file.bytes(), file.checksum()});
      }
    }
    PosixBlobFolder folder(folder_.path());
    const auto name = CheckpointFolder(&folder).Write(manifest);
    EXPECT_THAT(name, IsOk());
    v1::RestoreFrom restore;
    restore.set_directory(folder_.path());
    restore.set_manifest(*name);
    return restore;
  }

  TempFolder folder_;
  uint64_t generation_ = 1;
  std::unique_ptr<TestServer> server_;
};

TEST_F(CutsTest, ACutIsWrittenAndAnotherServerGoesOnFromIt) {
  Begin();
  for (uint32_t step = 0; step < 3; ++step) ASSERT_THAT(Push(step), IsOk());
  const auto begun = BeginCut(1);
  ASSERT_THAT(begun, IsOk());
  ASSERT_EQ(begun->clocks_size(), 1);
  const Clock clock = FromProto(begun->clocks(0));
  EXPECT_EQ(clock, (Clock{0, 3}));
  const auto taken = TakeCut(1, clock);
  ASSERT_THAT(taken, IsOk());
  EXPECT_EQ(FromProto(taken->clocks(0)), clock);
  ASSERT_THAT(Push(3), IsOk()) << "training goes on beside the writing";
  const auto written = WriteCut(1);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->parts_size(), kPartitions);
  // A repeat finds what was done.
  const auto again = WriteCut(1);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->SerializeAsString(), written->SerializeAsString());
  ASSERT_THAT(DropCut(1), IsOk());
  const v1::RestoreFrom restore = WriteManifest(*written, 1, clock);

  // The next cut holds what changed since.
  ASSERT_THAT(TakeCut(2, {0, 4}, /*base=*/1), IsOk());
  EXPECT_THAT(WriteCut(2, /*base=*/0), StatusIs(absl::StatusCode::kAborted))
      << "its copies lack what is in cut 1";
  ASSERT_THAT(TakeCut(3, {0, 4}, /*base=*/1), IsOk());
  const auto increment = WriteCut(3, /*base=*/1);
  ASSERT_THAT(increment, IsOk());

  ASSERT_THAT(Start(2, 2, &restore), IsOk());
  EXPECT_EQ(Begin(), clock) << "the fourth entry was not in the cut";
  EXPECT_THAT(Values(), ::testing::ElementsAre(3, 6));
  ASSERT_THAT(Push(3), IsOk());
  EXPECT_THAT(Values(), ::testing::ElementsAre(4, 8));
}

TEST_F(CutsTest, ADamagedFileIsRefusedByName) {
  Begin();
  ASSERT_THAT(Push(0), IsOk());
  ASSERT_THAT(TakeCut(1, {0, 1}), IsOk());
  const auto written = WriteCut(1);
  ASSERT_THAT(written, IsOk());
  const v1::RestoreFrom restore = WriteManifest(*written, 1, {0, 1});
  const std::string name = written->parts(0).files(0).name();
  std::string bytes = folder_.Read(name);
  bytes[bytes.size() / 2] ^= 1;
  folder_.Write(name, bytes);
  EXPECT_THAT(Start(2, 2, &restore), StatusIs(absl::StatusCode::kDataLoss,
                                              ::testing::HasSubstr(name)));
  EXPECT_TRUE(server_->jobs().Held().empty()) << "nothing was loaded in part";
}

TEST_F(CutsTest, WhatIsAskedOfAVoidCutIsRefused) {
  const auto is_void = StatusIs(absl::StatusCode::kAborted);
  Begin();
  EXPECT_THAT(WriteCut(1), is_void) << "it was never taken";
  EXPECT_THAT(TakeCut(1, {0, 0}, 0, /*epoch=*/2), is_void)
      << "the partition has another epoch here";
  ASSERT_THAT(TakeCut(2, {0, 0}), IsOk());
  ASSERT_THAT(DropCut(2), IsOk());
  EXPECT_THAT(WriteCut(2), is_void);
  EXPECT_THAT(TakeCut(2, {0, 0}), is_void) << "it never becomes whole again";
  EXPECT_THAT(BeginCut(2), is_void);
}

// Its partition moves as soon as all copies are taken.
TEST_F(CutsTest, ACopyOutlivesItsReplica) {
  Begin();
  ASSERT_THAT(Push(0), IsOk());
  ASSERT_THAT(TakeCut(1, {0, 1}), IsOk());
  v1::ConfigureRequest request;
  FillOrder(&request);
  for (uint32_t p = 0; p < kPartitions; ++p) {
    ReplicaOrder order = Order(p);
    order.epoch = 2;
    if (p == 0) order.duty = ReplicaDuty::kDrop;
    ToProto(order, request.add_replicas());
  }
  ASSERT_THAT(TestServer::Do(&server_->replicas(),
                             &v1::Replicas::Stub::Configure, request),
              IsOk());
  ASSERT_EQ(server_->jobs().Held().size(), 1);
  const auto written = WriteCut(1);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->parts_size(), kPartitions);
  EXPECT_THAT(WriteCut(1), IsOk()) << "a repeat gets the same answer";
}

TEST_F(CutsTest, ALaterCutFreesTheCopiesBefore) {
  Begin();
  ASSERT_THAT(TakeCut(1, {0, 0}), IsOk());
  ASSERT_THAT(TakeCut(2, {0, 0}), IsOk());
  EXPECT_THAT(WriteCut(1), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(WriteCut(2), IsOk());
}

TEST_F(CutsTest, AFolderThatCannotBeWrittenIsNamed) {
  Begin();
  ASSERT_THAT(TakeCut(1, {0, 0}), IsOk());
  v1::WriteCutRequest request;
  FillOrder(&request);
  request.set_cut(1);
  request.set_directory(folder_.Write("a_file", "x"));
  const auto written = TestServer::Do(&server_->replicas(),
                                      &v1::Replicas::Stub::WriteCut, request);
  EXPECT_FALSE(written.ok());
  EXPECT_THAT(std::string(written.status().message()),
              ::testing::HasSubstr("a_file"));
  EXPECT_THAT(Push(0), IsOk()) << "the job goes on";
}

}  // namespace
}  // namespace seraph
