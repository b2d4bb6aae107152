// A local job with processes that stand for daemons (fake_daemon.cc) and a
// scheduler in the test.
#include "client/local/local_job.h"

#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/cli/test_environment.h"
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
using ::testing::SizeIs;

// Moves by ten seconds whenever somebody looks at it.
class HastyClock final : public MonotonicClock {
 public:
  int64_t NowNanos() const override { return now_ += 10'000'000'000; }

 private:
  mutable std::atomic<int64_t> now_ = 0;
};

class LocalJobTest : public ::testing::Test {
 protected:
  LocalJobTest() {
    const std::string daemon =
        std::filesystem::absolute("client/local/fake_daemon");
    options_.daemons = {daemon, daemon, daemon};
    options_.servers = 2;
    options_.temporary_directory = clusters_.path();
    options_.environment = {"PATH=/bin"};
    options_.start_timeout = absl::InfiniteDuration();
    options_.stop_timeout = absl::InfiniteDuration();
    for (const char* name : {"s0", "s1", "w0"}) {
      NodeView node;
      node.name = name;
      node.state = "ALIVE";
      env_.scheduler.cluster.nodes.push_back(node);
    }
    job_ =
        *LoadJobFile(folder_.Write("job.yaml",
                                   "name: small\n"
                                   "model: {kind: logistic_regression}\n"
                                   "data: {format: libsvm, train: [a.svm]}\n"),
                     {});
  }

  static JobView Status(JobState state) {
    JobView job;
    job.id = "new-job";
    job.name = "small";
    job.state = state;
    return job;
  }

  LocalJobResult Run(bool keep_folder = false) {
    return RunLocally(job_, options_, keep_folder, env_.env);
  }

  std::vector<std::string> Processes() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string line((std::istreambuf_iterator<char>(file)), {});
      if (line.find(clusters_.path()) != std::string::npos) {
        found.push_back(line);
      }
    }
    return found;
  }

  // Until one of our children has ended and waits to be seen.
  static void WaitForADeath() {
    siginfo_t info = {};
    waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
  }

  const TempFolder folder_;    // Of the job.
  const TempFolder clusters_;  // Where local clusters have their folders.
  TestEnvironment env_;
  LocalClusterOptions options_;
  JobFile job_;
};

TEST_F(LocalJobTest, TrainsAndLeavesNothingBehind) {
  env_.scheduler.watches = {
      {{Status(JobState::kRunning), Status(JobState::kSucceeded)},
       absl::OkStatus()}};
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.state, JobState::kSucceeded);
  EXPECT_FALSE(result.interrupted);
  EXPECT_THAT(env_.scheduler.submissions, SizeIs(1));
  EXPECT_THAT(env_.connected_to, HasSubstr("127.0.0.1:2"));
  EXPECT_THAT(env_.err(), HasSubstr("starting a local cluster: 1 scheduler, "
                                    "2 servers, 1 worker\n"));
  EXPECT_EQ(env_.out(), "");
  EXPECT_THAT(Processes(), IsEmpty());
  EXPECT_THAT(clusters_.Names(), IsEmpty());
}

TEST_F(LocalJobTest, AFailedJobIsTheJobsOwnFailure) {
  JobView failed = Status(JobState::kFailed);
  failed.error = "a.svm:7: bad";
  env_.scheduler.watches = {{{failed}, absl::OkStatus()}};
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.state, JobState::kFailed);
  EXPECT_EQ(result.job.error, "a.svm:7: bad");
  EXPECT_THAT(clusters_.Names(), IsEmpty());
}

TEST_F(LocalJobTest, TheFolderIsKeptOnRequest) {
  env_.scheduler.watches = {{{Status(JobState::kSucceeded)}, absl::OkStatus()}};
  Run(/*keep_folder=*/true);
  EXPECT_THAT(clusters_.Names(), SizeIs(1));
  EXPECT_THAT(env_.err(), HasSubstr(clusters_.Names()[0]));
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalJobTest, ADaemonThatDiesAtItsStartIsTheReason) {
  options_.environment.push_back("FAKE_SERVER_0=dies");
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.state, JobState::kFailed);
  EXPECT_EQ(result.job.name, "small");
  EXPECT_THAT(result.job.error,
              AllOf(HasSubstr("server-0"), HasSubstr("exit code 7"),
                    HasSubstr("line 30")));
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalJobTest, ASchedulerThatDiesInTheMiddleIsTheReason) {
  options_.environment.push_back("FAKE_SCHEDULER=late-death");
  env_.scheduler.watches = {
      {{Status(JobState::kRunning)}, absl::UnavailableError("broken"), [&] {
         clusters_.Write(clusters_.Names()[0] + "/die", "");
         WaitForADeath();
       }}};
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.state, JobState::kFailed);
  EXPECT_EQ(result.job.id, "new-job");
  EXPECT_THAT(result.job.error, HasSubstr("scheduler of the local cluster "
                                          "ended with exit code 9"));
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalJobTest, AConnectionThatBreaksIsMadeAgain) {
  env_.scheduler.watches = {
      {{Status(JobState::kRunning)}, absl::UnavailableError("broken")},
      {{Status(JobState::kSucceeded)}, absl::OkStatus()}};
  EXPECT_EQ(Run().job.state, JobState::kSucceeded);
}

TEST_F(LocalJobTest, ASchedulerThatStaysSilentIsGivenUp) {
  const HastyClock clock;
  env_.env.clock = &clock;
  options_.start_timeout = absl::Minutes(2);
  const LocalJobResult result = Run();  // There is nothing to watch.
  EXPECT_EQ(result.job.state, JobState::kFailed);
  EXPECT_EQ(result.job.error, "nothing to tell");
  EXPECT_FALSE(result.refused);
}

TEST_F(LocalJobTest, AFailureThatADaemonsDeathExplainsSaysSo) {
  options_.environment.push_back("FAKE_WORKER_0=late-death");
  JobView failed = Status(JobState::kFailed);
  failed.error = "worker w0 is silent";
  env_.scheduler.watches = {{{failed}, absl::OkStatus(), [&] {
                               clusters_.Write(clusters_.Names()[0] + "/die",
                                               "");
                               WaitForADeath();
                             }}};
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.error, "worker w0 is silent");
  EXPECT_THAT(env_.err(), HasSubstr("worker-0 of the local cluster ended with "
                                    "exit code 9"));
}

TEST_F(LocalJobTest, ARefusedJobIsAFailure) {
  // The cluster is described, and then it refuses.
  env_.scheduler.submit_failure = absl::InvalidArgumentError("too large");
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.state, JobState::kFailed);
  EXPECT_EQ(result.job.error, "too large");
  EXPECT_TRUE(result.refused);
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalJobTest, AnInterruptCancelsTheJobAndStopsAll) {
  env_.scheduler.watches = {{{Status(JobState::kRunning)},
                             absl::CancelledError("interrupted"),
                             [&] { env_.interrupt.Trigger(); }}};
  const LocalJobResult result = Run();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.job.state, JobState::kCancelled);
  EXPECT_THAT(env_.scheduler.cancelled, ElementsAre("new-job"));
  EXPECT_THAT(env_.err(), HasSubstr("interrupted: stopping"));
  EXPECT_THAT(Processes(), IsEmpty());
  EXPECT_THAT(clusters_.Names(), IsEmpty());
}

TEST_F(LocalJobTest, AnInterruptBeforeTheJobIsThere) {
  env_.interrupt.Trigger();
  const LocalJobResult result = Run();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.job.state, JobState::kCancelled);
  EXPECT_THAT(env_.scheduler.submissions, IsEmpty());
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalJobTest, NodesThatDoNotRegisterAreCounted) {
  env_.scheduler.cluster.nodes[1].state = "DEAD";
  const HastyClock clock;
  env_.env.clock = &clock;
  options_.start_timeout = absl::Minutes(2);
  const LocalJobResult result = Run();
  EXPECT_EQ(result.job.state, JobState::kFailed);
  EXPECT_THAT(result.job.error, AllOf(HasSubstr("only 2 of the 3 nodes"),
                                      HasSubstr(clusters_.Names()[0])));
  EXPECT_THAT(Processes(), IsEmpty());
}

}  // namespace
}  // namespace seraph
