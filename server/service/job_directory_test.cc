#include "server/service/job_directory.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status/errors.h"
#include "common/testing/fake_clock.h"
#include "common/testing/manual_executor.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/peer_codec.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeClock;
using ::seraph::testing::IsOk;
using ::seraph::testing::ManualExecutor;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kSelf = 77;
constexpr uint64_t kOther = 88;

class SentMessages final : public PeerSender {
 public:
  void Send(const Node& to, const JobName& job, PeerMessage message) override {
    sent.emplace_back(to, EncodePeer(job, std::move(message)));
  }
  std::vector<std::pair<Node, v1::ReplicaMessage>> sent;
};

Node Server(uint64_t incarnation) {
  return {.name = absl::StrCat("server-", incarnation),
          .address = absl::StrCat("server-", incarnation, ":1"),
          .incarnation = incarnation};
}

class JobDirectoryTest : public ::testing::Test {
 protected:
  JobDirectoryTest() { Start(); }
  ~JobDirectoryTest() override {
    jobs_.reset();
    executor_.RunAll();
  }

  void Start() {
    jobs_.emplace(JobDirectoryParts{.executor = &executor_,
                                    .files = &executor_,
                                    .clock = &clock_,
                                    .peers = &peers_},
                  JobDirectoryOptions{.incarnation = kSelf,
                                      .memory_limit_bytes = 1 << 20});
  }

  static JobSetup OneTable() {
    JobSetup setup;
    setup.ranks = 1;
    setup.sync.spec.mode = SyncMode::kAsp;
    setup.epochs = 1;
    TableSpec table{.name = "t", .partitions = 2};
    table.optimizer.kind = OptimizerKind::kSum;
    setup.tables.push_back(table);
    return setup;
  }

  static ReplicaOrder Order(uint32_t partition, uint64_t epoch,
                            ReplicaDuty duty, uint64_t primary = kSelf,
                            std::vector<uint64_t> members = {kSelf}) {
    ReplicaOrder order;
    order.partition = partition;
    order.epoch = epoch;
    order.duty = duty;
    if (duty != ReplicaDuty::kCollect) order.primary = Server(primary);
    for (uint64_t member : members) order.members.push_back(Server(member));
    return order;
  }

  static Assignment Leading(uint64_t generation) {
    Assignment assignment;
    assignment.job = {"job", generation};
    assignment.setup = OneTable();
    assignment.replicas = {Order(0, 1, ReplicaDuty::kLead),
                           Order(1, 1, ReplicaDuty::kLead)};
    return assignment;
  }

  // The answer, if there is one when all has run.
  std::optional<absl::Status> Assign(Assignment assignment) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    jobs_->Assign(std::move(assignment),
                  [answer](absl::Status status) { *answer = status; });
    executor_.RunAll();
    return *answer;
  }

  absl::StatusOr<std::vector<ReplicaState>> Configure(
      uint64_t generation, std::vector<ReplicaOrder> orders,
      const std::optional<JobSetup>& setup = std::nullopt) {
    absl::StatusOr<std::vector<ReplicaState>> answer =
        absl::UnknownError("no answer");
    jobs_->Configure({"job", generation}, setup, std::move(orders),
                     [&](auto states) { answer = std::move(states); });
    executor_.RunAll();
    return answer;
  }

  std::string FindReason(uint64_t generation) {
    return ReasonOf(jobs_->Find({"job", generation}).status());
  }

  // Takes one push of rank 0; what became of it.
  PartCode Push(uint32_t partition, uint32_t step, uint64_t epoch = 1) {
    const auto job = jobs_->Find({"job", 1});
    PartitionActor* const actor = (*job)->Find(0, partition);
    actor->BeginAttempt({0, 1}, [](Done) {});
    PushMessage message;
    message.epoch = epoch;
    message.rank = RankName{0, 1};
    message.clock = {0, step};
    std::optional<PartCode> code;
    actor->Push(std::move(message),
                [&](Answer answer) { code = answer.outcome.code; });
    executor_.RunAll();
    return code.value_or(PartCode::kFailed);
  }

  FakeClock clock_;
  ManualExecutor executor_;
  SentMessages peers_;
  std::optional<JobDirectory> jobs_;
};

TEST_F(JobDirectoryTest, OnlyTheSameGenerationIsTaken) {
  EXPECT_THAT(jobs_->Find({"job", 1}).status(),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_EQ(Assign(Leading(3)), absl::OkStatus());
  EXPECT_THAT(jobs_->Find({"job", 3}), IsOk());
  EXPECT_EQ(FindReason(4), "GENERATION_NEWER");
  EXPECT_EQ(FindReason(2), "GENERATION_STALE");
  EXPECT_THAT(jobs_->Find({"job", 3}), IsOk()) << "nothing was adopted";

  EXPECT_EQ(ReasonOf(*Assign(Leading(2))), "GENERATION_STALE");
  ASSERT_EQ(Assign(Leading(4)), absl::OkStatus());
  EXPECT_EQ(FindReason(3), "GENERATION_STALE");
  EXPECT_THAT(jobs_->Find({"job", 4}), IsOk());
}

// Between the end of one generation and the beginning of the next a rank of
// the next has to wait, not to give up.
TEST_F(JobDirectoryTest, AGenerationThatIsToComeIsNotYetHere) {
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
  jobs_->Drop({"job", 1}, [](absl::Status) {});
  EXPECT_EQ(FindReason(2), "GENERATION_NEWER");
  EXPECT_THAT(jobs_->Find({"job", 1}).status(),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(ReasonOf(*Assign(Leading(1))), "GENERATION_STALE");
}

// A copy of the order that comes late must not empty the partition.
TEST_F(JobDirectoryTest, AnAssignmentIsCarriedOutOnce) {
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
  EXPECT_EQ(Push(0, 0), PartCode::kOk);
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
  EXPECT_EQ(Push(0, 1), PartCode::kOk) << "clock 0 is still there";
}

TEST_F(JobDirectoryTest, ARepeatWhileTheFirstIsUnderWayIsConfirmedWithIt) {
  int restored = 0;
  Assignment assignment = Leading(1);
  assignment.restore = [&](const PartitionOptions& options,
                           const KeyRange& range) {
    ++restored;
    return absl::DataLossError("part-7 is damaged");
  };
  std::vector<absl::Status> answers;
  for (int i = 0; i < 2; ++i) {
    jobs_->Assign(assignment,
                  [&](absl::Status status) { answers.push_back(status); });
  }
  EXPECT_EQ(FindReason(1), "GENERATION_NEWER") << "not yet";
  EXPECT_THAT(answers, ElementsAre());
  executor_.RunAll();
  const auto damaged =
      StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("part-7"));
  EXPECT_THAT(answers, ElementsAre(damaged, damaged));
  EXPECT_EQ(restored, 1) << "after an error the others are not tried";
  // Nothing was done, so it may be ordered anew.
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
}

// Else a job that goes back would not fit beside itself.
TEST_F(JobDirectoryTest, AnOlderGenerationMakesRoomFirst) {
  Assignment dense = Leading(1);
  dense.setup.tables[0].kind = TableKind::kDense;
  dense.setup.tables[0].keys = (uint64_t{600} << 10) / sizeof(float);
  ASSERT_EQ(Assign(dense), absl::OkStatus());
  dense.job.generation = 2;
  EXPECT_EQ(Assign(dense), absl::OkStatus());
  dense.job = {"other", 1};
  EXPECT_THAT(*Assign(dense), StatusIs(absl::StatusCode::kResourceExhausted));
  // When a drop is confirmed its memory is free.
  std::optional<absl::Status> answer;
  jobs_->Drop({"job", 2}, [&](absl::Status) { answer = Assign(dense); });
  executor_.RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
}

TEST_F(JobDirectoryTest, ADropDuringARestoreWins) {
  std::optional<absl::Status> answer;
  jobs_->Assign(Leading(1), [&](absl::Status status) { answer = status; });
  jobs_->Drop({"job", 1}, [](absl::Status) {});
  executor_.RunAll();
  EXPECT_EQ(ReasonOf(*answer), "GENERATION_STALE");
  EXPECT_TRUE(jobs_->All().empty());
}

TEST_F(JobDirectoryTest, OrdersWaitForARestore) {
  jobs_->Assign(Leading(1), [](absl::Status) {});
  absl::Status answer;
  jobs_->Configure({"job", 1}, std::nullopt,
                   {Order(0, 2, ReplicaDuty::kCollect)},
                   [&](auto states) { answer = states.status(); });
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kUnavailable));
  executor_.RunAll();  // No file may be worked on when the directory goes.
}

TEST_F(JobDirectoryTest, TheHighestEpochIsRememberedAfterADrop) {
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
  auto states = Configure(1, {Order(0, 5, ReplicaDuty::kDrop, kOther)});
  ASSERT_THAT(states, IsOk());
  EXPECT_EQ(states->at(0).epoch, 5);
  EXPECT_EQ(states->at(0).duty, ReplicaDuty::kDrop);
  const auto job = jobs_->Find({"job", 1});
  EXPECT_EQ((*job)->Find(0, 0), nullptr);
  EXPECT_EQ((*job)->EpochSeen(0, 0), 5) << "for clients that come too late";

  // Late orders of epochs that are over, or in which it was dropped.
  for (uint64_t epoch : {3, 5}) {
    states = Configure(1, {Order(0, epoch, ReplicaDuty::kJoin, kOther)});
    ASSERT_THAT(states, IsOk());
    EXPECT_EQ(states->at(0).duty, ReplicaDuty::kDrop);
    EXPECT_EQ(states->at(0).epoch, 5);
  }
  states = Configure(1, {Order(0, 6, ReplicaDuty::kJoin, kOther)});
  ASSERT_THAT(states, IsOk());
  EXPECT_EQ(states->at(0).duty, ReplicaDuty::kJoin);
}

TEST_F(JobDirectoryTest, AServerWithoutTheJobJoinsByTheOrderAlone) {
  const std::vector<ReplicaOrder> join = {
      Order(1, 4, ReplicaDuty::kJoin, kOther, {kOther})};
  EXPECT_THAT(Configure(1, join).status(),
              StatusIs(absl::StatusCode::kInvalidArgument))
      << "it has to say what the tables are";
  const auto states = Configure(1, join, OneTable());
  ASSERT_THAT(states, IsOk());
  EXPECT_EQ(states->at(0).duty, ReplicaDuty::kJoin);
  EXPECT_EQ(states->at(0).last, LogPosition());
  ASSERT_THAT(jobs_->Held(), ElementsAre(HeldPartition{.job = "job",
                                                       .generation = 1,
                                                       .table = 0,
                                                       .partition = 1,
                                                       .epoch = 4}));
  // To lead or to follow cannot be ordered of what is not there.
  const auto other = Configure(1, {Order(0, 4, ReplicaDuty::kLead)});
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->at(0).duty, ReplicaDuty::kDrop);
}

TEST_F(JobDirectoryTest, EveryOrderIsAnsweredInItsPlace) {
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
  EXPECT_EQ(Push(1, 0), PartCode::kOk);
  const auto states = Configure(1, {Order(1, 2, ReplicaDuty::kCollect),
                                    Order(0, 2, ReplicaDuty::kDrop, kOther)});
  ASSERT_THAT(states, IsOk());
  ASSERT_EQ(states->size(), 2);
  EXPECT_EQ(states->at(0).partition, 1);
  EXPECT_EQ(states->at(0).duty, ReplicaDuty::kCollect);
  EXPECT_EQ(states->at(0).last, (LogPosition{1, 2}));
  EXPECT_EQ(states->at(1).partition, 0);
  EXPECT_EQ(states->at(1).duty, ReplicaDuty::kDrop);
}

TEST_F(JobDirectoryTest, WhatWaitsIsAnsweredWhenTheJobGoes) {
  Assignment assignment = Leading(1);
  assignment.replicas[0] =
      Order(0, 1, ReplicaDuty::kLead, kSelf, {kSelf, kOther});
  ASSERT_EQ(Assign(std::move(assignment)), absl::OkStatus());
  {
    const auto job = jobs_->Find({"job", 1});
    std::optional<Done> begun;
    (*job)->Find(0, 0)->BeginAttempt({0, 1}, [&](Done done) { begun = done; });
    executor_.RunAll();
    ASSERT_FALSE(begun.has_value()) << "the other member is silent";
    jobs_->Drop({"job", 1}, [](absl::Status) {});
    executor_.RunAll();
    ASSERT_TRUE(begun.has_value());
    EXPECT_FALSE(begun->status.ok());
    // Whoever still has the job is answered, too.
    std::optional<PartCode> code;
    (*job)->Find(0, 0)->Push(
        {}, [&](Answer answer) { code = answer.outcome.code; });
    executor_.RunAll();
    EXPECT_EQ(code, PartCode::kNotHere);
  }
}

TEST_F(JobDirectoryTest, AShortMessageRunsWhereItIsIfNothingWaits) {
  ASSERT_EQ(Assign(Leading(1)), absl::OkStatus());
  const auto job = jobs_->Find({"job", 1});
  PartitionActor* const actor = (*job)->Find(0, 0);
  ASSERT_EQ(Push(0, 0), PartCode::kOk);
  std::vector<int> answered;
  const auto push = [&](uint32_t step) {
    PushMessage message;
    message.epoch = 1;
    message.rank = RankName{0, 1};
    message.clock = {0, step};
    const std::optional<Answer> answer = actor->PushHere(
        std::move(message),
        [&, step] { return [&, step](Answer) { answered.push_back(step); }; });
    return answer.has_value() ? answer->outcome.code
                              : std::optional<PartCode>();
  };
  const auto pull = [&](uint32_t step) {
    PullMessage message;
    message.epoch = 1;
    message.rank = RankName{0, 1};
    message.clock = {0, step};
    message.keys = {5};
    const std::optional<Answer> answer =
        actor->PullHere(std::move(message), [&, step] {
          return [&, step](Answer) { answered.push_back(100 + step); };
        });
    return answer.has_value() ? answer->outcome.code
                              : std::optional<PartCode>();
  };
  EXPECT_EQ(push(1), PartCode::kOk);
  EXPECT_EQ(push(1), PartCode::kOk) << "a repeat";
  EXPECT_EQ(push(7), PartCode::kExpectedClock);
  EXPECT_EQ(pull(2), PartCode::kOk);
  EXPECT_EQ(executor_.RunAll(), 0);

  // Behind what was posted it has to wait for its turn.
  actor->Run([](Partition*) {});
  EXPECT_EQ(push(2), std::nullopt);
  EXPECT_THAT(answered, IsEmpty());
  executor_.RunAll();
  EXPECT_THAT(answered, ElementsAre(2));

  // A pull that waits is answered later; and while one does, what may set it
  // going has a turn of its own.
  EXPECT_EQ(pull(4), std::nullopt);
  EXPECT_EQ(executor_.RunAll(), 0);
  EXPECT_EQ(push(3), std::nullopt);
  EXPECT_THAT(answered, ElementsAre(2));
  executor_.RunAll();
  EXPECT_THAT(answered, UnorderedElementsAre(2, 3, 104));

  actor->Close([] {});
  executor_.RunAll();
  EXPECT_EQ(push(4), std::nullopt);
  executor_.RunAll();
  EXPECT_EQ(answered.back(), 4) << "told that the replica is not here";
}

TEST_F(JobDirectoryTest, PeersThatSayNothingAreTold) {
  Assignment assignment = Leading(1);
  assignment.setup.lease = absl::Seconds(1);
  assignment.replicas = {
      Order(0, 1, ReplicaDuty::kLead, kSelf, {kSelf, kOther})};
  ASSERT_EQ(Assign(std::move(assignment)), absl::OkStatus());
  EXPECT_FALSE(peers_.sent.empty()) << "it asks where the other's log ends";
  EXPECT_EQ(peers_.sent[0].first.address, "server-88:1");
  EXPECT_EQ(peers_.sent[0].second.job().id(), "job");
  EXPECT_EQ(peers_.sent[0].second.job().generation(), 1);
  for (int i = 0; i < 30; ++i) {
    clock_.Advance(absl::Milliseconds(100));
    jobs_->Tick();
    executor_.RunAll();
  }
  EXPECT_THAT(jobs_->SilentPeers(), ElementsAre(kOther));
}

TEST_F(JobDirectoryTest, TablesThatDoNotFitAreRefusedBeforeTheyAreMade) {
  Assignment assignment = Leading(1);
  assignment.setup.tables[0].kind = TableKind::kDense;
  assignment.setup.tables[0].keys = uint64_t{1} << 40;
  EXPECT_THAT(*Assign(assignment),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(
      Configure(1, {Order(0, 1, ReplicaDuty::kJoin, kOther)}, assignment.setup)
          .status(),
      StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace seraph
