// Orders that fail, and answers that come late, twice, or from another life.
#include <functional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kStale = absl::StatusCode::kFailedPrecondition;

JobSpec FullJob() {
  JobSpec spec = SmallJob();
  spec.ranks = 2;
  spec.init_model = "before/model";
  spec.data.validation = {"validation"};
  return spec;
}

class JobOrdersTest : public ::testing::Test {
 protected:
  JobOrdersTest() {
    cluster_.AddServers(2);
    cluster_.AddWorkers(2);
    cluster_.files.validation = cluster_.files.train;
  }

  void ToTheEnd(const std::string& job) {
    cluster_.TrainEpoch(job, 0);
    cluster_.TrainEpoch(job, 1);
    cluster_.EndRanks(job);
    cluster_.Pass(absl::Seconds(3));
  }

  void ExpectFailedAndFreed(const std::string& job) {
    EXPECT_EQ(cluster_.StateOf(job), JobState::kFailed);
    cluster_.Pass(absl::Seconds(3));
    EXPECT_TRUE(cluster_.HoldsNothing(job));
    EXPECT_THAT(cluster_.models, IsEmpty());
  }

  FakeCluster cluster_;
};

// Orders that fail --------------------------------------------------------

struct Failure {
  std::string name;
  std::function<void(FakeCluster&, const absl::Status&)> fail_next;
  std::function<void(FakeCluster&, const absl::Status&)> fail_always;
};

template <typename Body>
Failure FailureOf(const std::string& name) {
  return {name,
          [](FakeCluster& c, const absl::Status& s) { c.FailNext<Body>(s); },
          [](FakeCluster& c, const absl::Status& s) { c.FailAlways<Body>(s); }};
}

class NodeOrderTest : public JobOrdersTest,
                      public ::testing::WithParamInterface<Failure> {};

TEST_P(NodeOrderTest, IsRepeatedWhileTheNodeIsOutOfReach) {
  for (const absl::Status& status : {absl::UnavailableError("no connection"),
                                     absl::DeadlineExceededError("no answer"),
                                     absl::UnavailableError("no connection")}) {
    GetParam().fail_next(cluster_, status);
  }
  const std::string job = cluster_.Submit(FullJob());
  cluster_.Pass(absl::Seconds(3));
  ToTheEnd(job);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded)
      << cluster_.View(job).error;
  EXPECT_TRUE(cluster_.HoldsNothing(job));
}

INSTANTIATE_TEST_SUITE_P(
    Orders, NodeOrderTest,
    ::testing::Values(
        FailureOf<ScanPiece>("Scan"), FailureOf<AssignPartitions>("Assign"),
        FailureOf<RunRanks>("RunRanks"), FailureOf<ReadLedger>("ReadLedger"),
        FailureOf<StopJob>("StopJob"), FailureOf<DropJob>("DropJob")),
    [](const auto& info) { return info.param.name; });

class FatalOrderTest : public JobOrdersTest,
                       public ::testing::WithParamInterface<Failure> {};

TEST_P(FatalOrderTest, AnErrorFailsTheJobAndFreesAll) {
  GetParam().fail_next(cluster_, absl::InternalError("the reason"));
  const std::string job = cluster_.Submit(FullJob());
  if (cluster_.StateOf(job) == JobState::kRunning) ToTheEnd(job);
  EXPECT_THAT(cluster_.View(job).error, HasSubstr("the reason"));
  ExpectFailedAndFreed(job);
}

INSTANTIATE_TEST_SUITE_P(
    Orders, FatalOrderTest,
    ::testing::Values(
        FailureOf<ResolveFiles>("Resolve"), FailureOf<ScanPiece>("Scan"),
        FailureOf<AssignPartitions>("Assign"), FailureOf<LoadInitModel>("Load"),
        FailureOf<RunRanks>("RunRanks"), FailureOf<ReadLedger>("ReadLedger"),
        FailureOf<MergeScores>("MergeScores"), FailureOf<ExportModel>("Export"),
        FailureOf<PublishModel>("Publish")),
    [](const auto& info) { return info.param.name; });

// A node that sends heartbeats from a place where nobody can reach it.
TEST_F(JobOrdersTest, ANodeOutOfReachForLongFailsTheJob) {
  cluster_.FailAlways<AssignPartitions>(absl::UnavailableError("no route"));
  const std::string job = cluster_.Submit(FullJob());
  cluster_.Pass(absl::Seconds(50));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  cluster_.Pass(absl::Seconds(15));
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("server s"), HasSubstr("no route"),
                    HasSubstr("check its address")));
  ExpectFailedAndFreed(job);
}

TEST_F(JobOrdersTest, ABadRecordIsNamedAsTheWorkerNamesIt) {
  cluster_.FailNext<ScanPiece>(
      absl::InvalidArgumentError("/data/train:17: 'x' is no number"));
  const std::string job = cluster_.Submit(FullJob());
  EXPECT_EQ(cluster_.View(job).error, "/data/train:17: 'x' is no number");
  ExpectFailedAndFreed(job);
}

TEST_F(JobOrdersTest, AFileThatOneWorkerCannotSeeIsNamedWithTheWorker) {
  cluster_.FailNext<ScanPiece>(
      absl::NotFoundError("/data/train: no such file"));
  const std::string job = cluster_.Submit(FullJob());
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("worker w"), HasSubstr("/data/train"),
                    HasSubstr("every worker")));
}

TEST_F(JobOrdersTest, DataThatFitsNoModelFailsBeforeAnythingIsPlaced) {
  cluster_.scan = [](const ScanPiece& piece) {
    DatasetFacts facts;
    facts.blocks = {{.end = 1000, .train_records = 10}};
    facts.labels = {{.value = 7, .text = "", .file = 0, .line = 1}};
    facts.lines = 10;
    return facts;
  };
  const std::string job = cluster_.Submit(FullJob());
  EXPECT_THAT(cluster_.View(job).error, HasSubstr("7"));
  ExpectFailedAndFreed(job);
  for (const Order& order : cluster_.carried_out) {
    EXPECT_FALSE(std::holds_alternative<AssignPartitions>(order.body));
  }
}

TEST_F(JobOrdersTest, AFullDiskAtTheExportSaysWhatToDo) {
  cluster_.FailNext<ExportModel>(absl::ResourceExhaustedError(
      "cannot write '/out/model': No space left on device"));
  const std::string job = cluster_.Submit(FullJob());
  ToTheEnd(job);
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("/out/model"), HasSubstr("No space left"),
                    HasSubstr("submit the job again")));
  ExpectFailedAndFreed(job);
}

TEST_F(JobOrdersTest, APartitionThatCannotGoOnFailsTheJob) {
  const std::string job = cluster_.Submit(FullJob());
  cluster_.ledgers[job].failure =
      "table weights, key 17, rank 3, clock (0, 4): nan is not finite";
  cluster_.Pass(absl::Seconds(1));
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("table weights"), HasSubstr("key 17"),
                    HasSubstr("rank 3"), HasSubstr("clock (0, 4)")));
  ExpectFailedAndFreed(job);
}

TEST_F(JobOrdersTest, UpdatesThatWereLeftOutAreAWarning) {
  const std::string job = cluster_.Submit(FullJob());
  cluster_.ledgers[job].skipped_rows = 3;
  cluster_.Pass(absl::Seconds(1));
  cluster_.ledgers[job].skipped_rows = 5;
  cluster_.Pass(absl::Seconds(1));
  EXPECT_THAT(cluster_.View(job).warnings,
              ElementsAre(HasSubstr("5 updates of rows were left out")));
}

TEST_F(JobOrdersTest, ARankThatFailsFailsTheJobWithItsWords) {
  const std::string job = cluster_.Submit(FullJob());
  EXPECT_THAT(cluster_.EndRank(job, 1, absl::InternalError("out of memory")),
              IsOk());
  EXPECT_EQ(cluster_.View(job).error, "rank 1 on worker w2: out of memory");
  ExpectFailedAndFreed(job);
}

TEST_F(JobOrdersTest, ARecordThatCannotBeWrittenIsAWarning) {
  cluster_.Hold<PublishModel>();
  const std::string job = cluster_.Submit(FullJob());
  ToTheEnd(job);
  ASSERT_EQ(cluster_.HeldOf<PublishModel>(), 1);
  Reply reply;
  reply.order = cluster_.held()[0].id;
  reply.body = Published{"sha256:1", "result.json: no space"};
  cluster_.Handle(OrderReplied{reply});
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_THAT(cluster_.View(job).warnings, ElementsAre(HasSubstr("no space")));
}

// Late, repeated and foreign answers ------------------------------------------

TEST_F(JobOrdersTest, EveryAnswerTwiceIsAsGoodAsOnce) {
  const std::string job = cluster_.Submit(FullJob());
  const auto repeat_all = [&] {
    for (OrderId id = 1; id < 200; ++id) {
      Reply reply;
      reply.order = id;
      cluster_.Handle(OrderReplied{reply});
      reply.status = absl::InternalError("late");
      cluster_.Handle(OrderReplied{reply});
    }
    cluster_.Run();
  };
  repeat_all();
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  ToTheEnd(job);
  repeat_all();
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded)
      << cluster_.View(job).error;
}

TEST_F(JobOrdersTest, AConfirmationOfAnotherLifeDoesNotCount) {
  cluster_.Hold<AssignPartitions>();
  const std::string job = cluster_.Submit(FullJob());
  const std::deque<Order> held = cluster_.held();
  ASSERT_THAT(held, SizeIs(2));
  for (const Order& order : held) {
    Reply reply;
    reply.order = order.id;
    reply.body = Placed{order.to->incarnation + 1, 1};
    cluster_.Handle(OrderReplied{reply});
  }
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kPlacing);
  cluster_.Pass(absl::Seconds(1));
  EXPECT_GE(cluster_.HeldOf<AssignPartitions>(), 4) << "it is asked again";
  cluster_.LetGo<AssignPartitions>();
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
}

TEST_F(JobOrdersTest, ALedgerOfAnotherGenerationIsNotRead) {
  cluster_.Hold<ReadLedger>();
  const std::string job = cluster_.Submit(FullJob());
  cluster_.Pass(absl::Seconds(1));
  ASSERT_EQ(cluster_.HeldOf<ReadLedger>(), 1) << "one at a time";
  Reply reply;
  reply.order = cluster_.held()[0].id;
  LedgerReading reading;
  reading.generation = 2;
  reading.failure = "of another life";
  reply.body = reading;
  cluster_.Handle(OrderReplied{reply});
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
}

TEST_F(JobOrdersTest, RanksOfAnotherLifeAreRefused) {
  const std::string job = cluster_.Submit(FullJob());
  RankEnded ended;
  ended.job = {job, 1};
  ended.rank = {0, 1};
  ended.incarnation = cluster_.node("w1").incarnation;
  ended.status = absl::InternalError("must not count");

  RankEnded other = ended;
  other.job.generation = 2;
  EXPECT_THAT(cluster_.Handle(other).status, StatusIs(kStale));
  other = ended;
  other.rank.attempt = 2;
  EXPECT_THAT(cluster_.Handle(other).status, StatusIs(kStale));
  other = ended;
  other.rank.rank = 2;
  EXPECT_THAT(cluster_.Handle(other).status, StatusIs(kStale));
  other = ended;
  other.incarnation = cluster_.node("w2").incarnation;
  EXPECT_THAT(cluster_.Handle(other).status, StatusIs(kStale));
  other = ended;
  other.job.id = "nobody";
  EXPECT_THAT(cluster_.Handle(other).status,
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
}

TEST_F(JobOrdersTest, ARankThatEndsTwiceEndsOnce) {
  const std::string job = cluster_.Submit(FullJob());
  cluster_.TrainEpoch(job, 0);
  cluster_.TrainEpoch(job, 1);
  EXPECT_THAT(cluster_.EndRank(job, 0), IsOk());
  EXPECT_THAT(cluster_.EndRank(job, 0), IsOk());
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining)
      << "rank 1 has not ended";
  // The repeat of an end is no failure, whatever it says.
  EXPECT_THAT(cluster_.EndRank(job, 0, absl::InternalError("late")), IsOk());
  EXPECT_THAT(cluster_.EndRank(job, 1), IsOk());
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_THAT(cluster_.EndRank(job, 1), IsOk()) << "or it would repeat it";
}

// The answer to "run ranks" is lost, and while it is asked again they end.
TEST_F(JobOrdersTest, RanksMayEndBeforeTheirStartIsConfirmed) {
  cluster_.Hold<RunRanks>();
  const std::string job = cluster_.Submit(FullJob());
  const std::deque<Order> held = cluster_.held();
  cluster_.Hold<ExportModel>();
  cluster_.TrainEpoch(job, 0);
  cluster_.TrainEpoch(job, 1);
  for (const Order& order : held) {
    for (const RankRef& rank : std::get<RunRanks>(order.body).ranks) {
      RankEnded ended;
      ended.job = {job, 1};
      ended.rank = rank;
      ended.incarnation = order.to->incarnation;
      EXPECT_THAT(cluster_.Handle(ended).status, IsOk());
      cluster_.Run();
    }
  }
  ASSERT_EQ(cluster_.PhaseOf(job), JobPhase::kExporting);
  for (const Order& order : held) {
    Reply reply;
    reply.order = order.id;
    reply.status = absl::UnavailableError("no connection");
    cluster_.Handle(OrderReplied{reply});
  }
  const int asked = cluster_.HeldOf<RunRanks>();
  cluster_.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster_.HeldOf<RunRanks>(), asked) << "it is not asked again";
  cluster_.LetGo<ExportModel>();
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
}

TEST_F(JobOrdersTest, ARankCannotEndBeforeItWasStarted) {
  cluster_.Hold<AssignPartitions>();
  const std::string job = cluster_.Submit(FullJob());
  RankEnded ended;
  ended.job = {job, 1};
  ended.rank = {0, 1};
  ended.incarnation = cluster_.node("w1").incarnation;
  EXPECT_THAT(cluster_.Handle(ended).status, StatusIs(kStale));
}

}  // namespace
}  // namespace seraph
