// The verbs that ask a scheduler, against one in the test.
#include <string>
#include <vector>

#include "client/cli/test_environment.h"
#include "client/render/documents.h"
#include "client/verbs/verbs.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::TempFolder;
using ::seraph::testing::TestEnvironment;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kJob[] =
    "name: small\n"
    "model: {kind: logistic_regression}\n"
    "data: {format: libsvm, train: [elsewhere.svm]}\n";

JobView Job(const std::string& id, const std::string& name, JobState state) {
  JobView job;
  job.id = id;
  job.name = name;
  job.state = state;
  return job;
}

class SchedulerVerbsTest : public ::testing::Test {
 protected:
  SchedulerVerbsTest() {
    env_.scheduler.jobs = {Job("abc1", "lr", JobState::kRunning),
                           Job("def2", "svm", JobState::kFailed)};
    env_.scheduler.jobs[1].error = "a.svm:7: bad";
  }

  int Run(std::vector<std::string> arguments) {
    return env_.Run(MakeVerbs(), std::move(arguments));
  }

  Document Json() const { return Document::parse(env_.out()); }

  void WillEnd(JobState state, const std::string& error = "") {
    JobView job = Job("abc1", "lr", state);
    job.error = error;
    env_.scheduler.watches = {
        {{Job("abc1", "lr", JobState::kRunning), job}, absl::OkStatus()}};
  }

  const TempFolder folder_;
  TestEnvironment env_;
};

TEST_F(SchedulerVerbsTest, JobsAreListed) {
  EXPECT_EQ(Run({"jobs"}), 0);
  EXPECT_THAT(env_.out(),
              AllOf(HasSubstr("ID"), HasSubstr("abc1"), HasSubstr("RUNNING")));
  EXPECT_EQ(Run({"jobs", "-o", "json", "--scheduler", "h:1"}), 0);
  EXPECT_EQ(Json()["jobs"].size(), 2);
  EXPECT_EQ(env_.connected_to, "h:1");
}

TEST_F(SchedulerVerbsTest, AJobIsDescribedByAPartOfItsId) {
  EXPECT_EQ(Run({"job", "de", "-o", "json"}), 0) << "a failed job is an answer";
  EXPECT_EQ(Json()["job"]["name"], "svm");
  EXPECT_EQ(Json()["job"]["error"], "a.svm:7: bad");
  EXPECT_EQ(Run({"job", "svm", "-o", "yaml"}), 0);
  EXPECT_THAT(env_.out(), HasSubstr("  name: \"svm\"\n"));
  EXPECT_EQ(Run({"job", "zzz"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("there is no job 'zzz' at fake:7400"));
}

TEST_F(SchedulerVerbsTest, AWatchEndsAsTheJobDoes) {
  WillEnd(JobState::kSucceeded);
  EXPECT_EQ(Run({"watch", "lr", "-o", "json"}), 0);
  EXPECT_EQ(Json()["job"]["state"], "SUCCEEDED");
  WillEnd(JobState::kFailed, "worker w1 is gone");
  EXPECT_EQ(Run({"watch", "lr", "-o", "json"}), 1);
  EXPECT_EQ(Json()["job"]["error"], "worker w1 is gone");
  EXPECT_THAT(env_.err(),
              HasSubstr("seraphctl: job 'lr' failed: worker w1 is gone"));
  WillEnd(JobState::kCancelled);
  EXPECT_EQ(Run({"watch", "lr"}), 1);
  EXPECT_THAT(env_.out(), HasSubstr("CANCELLED"));
}

// The document is one for whoever parses it, however the watching ends.
TEST_F(SchedulerVerbsTest, AnInterruptEndsTheWatchAndNotTheJob) {
  const auto interrupted = [&] {
    env_.scheduler.watches = {{{Job("abc1", "lr", JobState::kRunning)},
                               absl::CancelledError("interrupted"),
                               [&] { env_.interrupt.Trigger(); }}};
  };
  interrupted();
  EXPECT_EQ(Run({"watch", "abc1", "-o", "json"}), 130);
  EXPECT_THAT(env_.err(), HasSubstr("the job goes on; 'seraphctl watch abc1'"));
  EXPECT_EQ(Json()["job"]["state"], "RUNNING");
  EXPECT_THAT(env_.scheduler.cancelled, IsEmpty());
  interrupted();
  EXPECT_EQ(Run({"watch", "abc1"}), 130);
  EXPECT_EQ(env_.out(), "");
}

TEST_F(SchedulerVerbsTest, ALostSchedulerIsThreeAndStillADocument) {
  const auto lost = [&] {
    env_.scheduler.watches = {{{Job("abc1", "lr", JobState::kRunning)},
                               absl::UnavailableError("cannot reach h:1")}};
  };
  lost();
  EXPECT_EQ(Run({"watch", "abc1", "-o", "json"}), 3);
  EXPECT_EQ(Json()["job"]["id"], "abc1");
  EXPECT_EQ(Json()["job"]["state"], "RUNNING");
  EXPECT_THAT(env_.err(), HasSubstr("cannot reach h:1"));
  lost();
  const std::string file = folder_.Write("job.yaml", kJob);
  EXPECT_EQ(Run({"submit", file, "--watch", "-o", "json"}), 3);
  EXPECT_EQ(Json()["job"]["state"], "RUNNING");
}

TEST_F(SchedulerVerbsTest, AWatchRidesOverARestartOfTheScheduler) {
  env_.env.scheduler_patience = absl::InfiniteDuration();
  env_.scheduler.watches = {
      {{Job("abc1", "lr", JobState::kRunning)},
       absl::UnavailableError("cannot reach h:1")},
      {{}, absl::UnavailableError("not yet")},
      {{Job("abc1", "lr", JobState::kSucceeded)}, absl::OkStatus()}};
  EXPECT_EQ(Run({"watch", "lr", "-o", "json"}), 0);
  EXPECT_EQ(Json()["job"]["state"], "SUCCEEDED");
}

TEST_F(SchedulerVerbsTest, LogsAreLinesOrOneDocument) {
  env_.scheduler.log = {{"12:00", "job.started"}, {"12:01", "job.ended"}};
  EXPECT_EQ(Run({"logs", "lr", "--follow"}), 0);
  EXPECT_EQ(env_.out(), "12:00 job.started\n12:01 job.ended\n");
  EXPECT_EQ(Run({"logs", "lr", "-o", "json"}), 0);
  EXPECT_EQ(Json()["lines"][1]["text"], "job.ended");
}

TEST_F(SchedulerVerbsTest, AJobIsCancelled) {
  EXPECT_EQ(Run({"cancel", "lr", "-o", "json"}), 0);
  EXPECT_THAT(env_.scheduler.cancelled, ElementsAre("abc1"));
  EXPECT_EQ(Json()["job"]["state"], "CANCELLED");
}

TEST_F(SchedulerVerbsTest, AJobIsPausedAndResumed) {
  EXPECT_EQ(Run({"pause", "lr", "-o", "json"}), 0);
  EXPECT_EQ(Json()["job"]["state"], "PAUSED");
  EXPECT_EQ(Run({"resume", "lr"}), 0);
  EXPECT_THAT(env_.out(), HasSubstr("RUNNING"));
  EXPECT_THAT(env_.scheduler.asked, ElementsAre("pause abc1", "resume abc1"));
  env_.scheduler.refusal = absl::FailedPreconditionError("job lr has ended");
  EXPECT_EQ(Run({"pause", "lr"}), 1);
  EXPECT_EQ(env_.err(), "seraphctl: job lr has ended\n");
}

TEST_F(SchedulerVerbsTest, ACheckpointSaysWhereItIs) {
  EXPECT_EQ(Run({"checkpoint", "lr", "-o", "json"}), 0);
  EXPECT_EQ(Json()["checkpoint"]["path"], "/ckpt/m-1");
  EXPECT_EQ(Run({"checkpoint", "lr"}), 0);
  EXPECT_THAT(env_.out(), HasSubstr("/ckpt/m-1, 3 epochs"));
  env_.scheduler.refusal = absl::FailedPreconditionError("it does not train");
  EXPECT_EQ(Run({"checkpoint", "lr"}), 1);
}

NodeView ServerWith(uint32_t primaries, uint32_t backups,
                    const std::string& state = "DRAINING") {
  NodeView node;
  node.name = "s:1";
  node.role = "server";
  node.state = state;
  node.primaries = primaries;
  node.backups = backups;
  return node;
}

TEST_F(SchedulerVerbsTest, ADrainWaitsUntilNothingIsLeft) {
  env_.scheduler.clusters = {{.nodes = {ServerWith(3, 2)}},
                             {.nodes = {ServerWith(0, 2)}},
                             {.nodes = {ServerWith(0, 0)}}};
  EXPECT_EQ(Run({"drain", "s:1", "-o", "json"}), 0);
  EXPECT_EQ(Json()["drained"], true);
  EXPECT_EQ(Json()["node"]["state"], "DRAINING");
  EXPECT_THAT(env_.scheduler.asked, ElementsAre("drain s:1"));
}

TEST_F(SchedulerVerbsTest, ADrainIsAskedForAgainOfASchedulerThatForgotIt) {
  env_.scheduler.clusters = {{.nodes = {ServerWith(3, 2, "ALIVE")}},
                             {.nodes = {ServerWith(0, 0)}}};
  EXPECT_EQ(Run({"drain", "s:1"}), 0);
  EXPECT_EQ(env_.out(), "s:1: nothing is left there\n");
  EXPECT_THAT(env_.scheduler.asked, ElementsAre("drain s:1", "drain s:1"));
}

TEST_F(SchedulerVerbsTest, ADrainMayBeLeftAlone) {
  env_.scheduler.cluster.nodes = {ServerWith(3, 2)};
  EXPECT_EQ(Run({"drain", "s:1", "--no-wait", "-o", "json"}), 0);
  EXPECT_EQ(Json()["drained"], false);

  env_.scheduler.clusters = {{.nodes = {ServerWith(3, 2)}}};
  env_.scheduler.on_describe = [&] { env_.interrupt.Trigger(); };
  EXPECT_EQ(Run({"drain", "s:1", "-o", "json"}), 130);
  EXPECT_EQ(Json()["drained"], false);
  EXPECT_THAT(env_.err(), HasSubstr("the node goes on draining"));
}

TEST_F(SchedulerVerbsTest, ADrainThatCannotBeIsRefused) {
  env_.scheduler.refusal = absl::FailedPreconditionError("no other server");
  EXPECT_EQ(Run({"drain", "s:1"}), 1);
  env_.scheduler.refusal = absl::NotFoundError("no node x");
  env_.scheduler.cluster.nodes = {ServerWith(3, 2)};
  EXPECT_EQ(Run({"drain", "x"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("the nodes are s:1"));
}

TEST_F(SchedulerVerbsTest, TheClusterIsDescribed) {
  env_.scheduler.cluster.name = "seraph";
  EXPECT_EQ(Run({"cluster", "-o", "json"}), 0);
  EXPECT_EQ(Json()["cluster"]["name"], "seraph");
  EXPECT_EQ(Run({"cluster"}), 0);
  EXPECT_THAT(env_.out(), HasSubstr("cluster 'seraph'"));
}

TEST_F(SchedulerVerbsTest, AJobIsSubmittedWithItsFolder) {
  const std::string file = folder_.Write("job.yaml", kJob);
  EXPECT_EQ(
      Run({"submit", file, "--set", "train.epochs=3", "--submission-id", "s1"}),
      0)
      << "its data is on another machine: " << env_.err();
  EXPECT_EQ(env_.out(), "new-job\n");
  ASSERT_EQ(env_.scheduler.submissions.size(), 1);
  const JobSubmission& submission = env_.scheduler.submissions[0];
  EXPECT_THAT(submission.yaml, HasSubstr("epochs: 3"));
  EXPECT_EQ(submission.base_directory, folder_.path());
  EXPECT_EQ(submission.file_name, file);
  EXPECT_EQ(submission.submission_id, "s1");

  EXPECT_EQ(Run({"submit", file, "-o", "json"}), 0);
  EXPECT_EQ(Json()["job"]["id"], "new-job");
  EXPECT_EQ(Json()["job"]["name"], "small");
  EXPECT_EQ(Json()["job"]["state"], "PENDING");
}

TEST_F(SchedulerVerbsTest, ASubmittedJobIsWatched) {
  const std::string file = folder_.Write("job.yaml", kJob);
  WillEnd(JobState::kSucceeded);
  EXPECT_EQ(Run({"submit", file, "--watch", "-o", "json"}), 0);
  EXPECT_EQ(Json()["job"]["state"], "SUCCEEDED");
  EXPECT_THAT(env_.err(), HasSubstr("submitted as new-job"));
  WillEnd(JobState::kFailed);
  EXPECT_EQ(Run({"submit", file, "--watch"}), 1);
}

TEST_F(SchedulerVerbsTest, AnInvalidJobFileIsNotSubmitted) {
  const std::string file = folder_.Write(
      "job.yaml", std::string(kJob) + "train: {epochs: 0}\nseeds: 1\n");
  EXPECT_EQ(Run({"submit", file}), 2);
  EXPECT_THAT(env_.err(), AllOf(HasSubstr(file + ":4:17: "),
                                HasSubstr(file + ":5:1: unknown key 'seeds'")));
  EXPECT_THAT(env_.scheduler.submissions, IsEmpty());
  EXPECT_EQ(Run({"submit", folder_.Path("none.yaml")}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("none.yaml"));
}

TEST_F(SchedulerVerbsTest, AnUnreachableSchedulerIsThree) {
  const std::string file = folder_.Write("job.yaml", kJob);
  env_.scheduler.failure = absl::UnavailableError("cannot reach h:1");
  const std::vector<std::vector<std::string>> calls = {
      {"jobs"},        {"job", "x"},        {"watch", "x"},   {"logs", "x"},
      {"cancel", "x"}, {"cluster"},         {"submit", file}, {"pause", "x"},
      {"resume", "x"}, {"checkpoint", "x"}, {"drain", "x"}};
  for (const std::vector<std::string>& call : calls) {
    EXPECT_EQ(Run(call), 3) << call[0];
    EXPECT_EQ(env_.err(), "seraphctl: cannot reach h:1\n");
    EXPECT_EQ(env_.out(), "");
  }
}

TEST_F(SchedulerVerbsTest, CallAsksAndPrintsWhatCameBack) {
  env_.scheduler.result = {.table = "w",
                           .version = 2,
                           .combine = CombineRule::kSum,
                           .values = {0.1}};
  EXPECT_EQ(Run({"call", "abc", "f", "7", "0.5", "keys:1,2", "-3", "--table",
                 "w", "--column", "4"}),
            0)
      << env_.err();
  EXPECT_EQ(env_.out(), "0.1\n");
  EXPECT_THAT(env_.scheduler.asked,
              ElementsAre("call abc1 w[4] f int double keys int"));
  EXPECT_EQ(Run({"call", "lr", "f", "-o", "json"}), 0);
  EXPECT_EQ(Json()["value"], 0.1);
  EXPECT_EQ(Run({"call", "lr", "f", "keys:x"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("'x' is no key"));
  EXPECT_EQ(Run({"call", "lr"}), 2);
  env_.scheduler.refusal = absl::InvalidArgumentError("it is f(k: int)");
  EXPECT_EQ(Run({"call", "lr", "f"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("it is f(k: int)"));
}

TEST_F(SchedulerVerbsTest, AnAddressThatIsNoneIsTwo) {
  EXPECT_EQ(Run({"jobs", "--scheduler", "nowhere"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("--scheduler, or SERAPH_SCHEDULER: "));
  EXPECT_EQ(env_.connected_to, "");
}

TEST_F(SchedulerVerbsTest, ARefusedSubmissionIsTwo) {
  env_.scheduler.failure =
      absl::InvalidArgumentError("job.yaml: the cluster has no worker for it");
  EXPECT_EQ(Run({"submit", folder_.Write("job.yaml", kJob)}), 2);
}

}  // namespace
}  // namespace seraph
