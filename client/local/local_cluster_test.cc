// The launcher against daemons that behave badly: fake_daemon.cc.
#include "client/local/local_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class LocalClusterTest : public ::testing::Test {
 protected:
  LocalClusterTest() {
    const std::string daemon =
        std::filesystem::absolute("client/local/fake_daemon");
    options_.daemons = {daemon, daemon, daemon};
    options_.servers = 2;
    options_.workers = 1;
    options_.temporary_directory = folder_.path();
    options_.environment = {"PATH=/bin"};
    options_.start_timeout = absl::InfiniteDuration();
    options_.stop_timeout = absl::InfiniteDuration();
  }

  void Behave(const std::string& name, const std::string& behaviour) {
    options_.environment.push_back(absl::StrCat("FAKE_", name, "=", behaviour));
  }

  // What the daemons wrote, of a cluster whose folder was kept.
  std::string Log(const std::string& name) const {
    return folder_.Read(folder_.Names().front() + "/" + name + ".log");
  }

  // The processes that were started with files of this test.
  std::vector<std::string> Processes() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      // A process that ends meanwhile is a read error, which this takes as "".
      std::string line;
      std::getline(file, line);
      if (line.find(folder_.path()) != std::string::npos) found.push_back(line);
    }
    return found;
  }

  const TempFolder folder_;
  LocalClusterOptions options_;
  Interrupt interrupt_;
};

TEST_F(LocalClusterTest, StartsAllAndStopsAllInGoodOrder) {
  options_.sets = {"log.level=debug"};
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  EXPECT_THAT((*cluster)->scheduler_address(), StartsWith("127.0.0.1:2"));
  EXPECT_THAT((*cluster)->Check(), IsOk());
  EXPECT_THAT(Processes(), SizeIs(4));

  (*cluster)->KeepFolder();
  (*cluster)->Stop();
  EXPECT_THAT(Processes(), IsEmpty());
  for (const char* name : {"scheduler", "server-0", "server-1", "worker-0"}) {
    EXPECT_THAT(Log(name),
                AllOf(HasSubstr("--listen 127.0.0.1:0"),
                      HasSubstr(absl::StrCat("--exit-with-parent ", getpid())),
                      HasSubstr("--set log.level=debug"),
                      HasSubstr("stopped in good order")));
  }
  EXPECT_THAT(folder_.Read(folder_.Names().front() + "/order"),
              EndsWith("\nscheduler\n"))
      << "the others may want to say goodbye to it";
  const std::string scheduler =
      absl::StrCat("--scheduler ", (*cluster)->scheduler_address());
  EXPECT_THAT(Log("scheduler"), AllOf(Not(HasSubstr("--scheduler ")),
                                      HasSubstr("scheduler.state_directory=")));
  EXPECT_THAT(Log("server-1"), HasSubstr(scheduler));
  EXPECT_THAT(Log("worker-0"), AllOf(HasSubstr(scheduler),
                                     HasSubstr("worker.spool_directory=")));
}

TEST_F(LocalClusterTest, LeavesNoFolderBehind) {
  { ASSERT_THAT(LocalCluster::Start(options_, &interrupt_), IsOk()); }
  EXPECT_THAT(folder_.Names(), IsEmpty());
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalClusterTest, RemovesWhatAKilledProcessLeftAndNothingElse) {
  folder_.Write("seraph-run-stale/lock", "");
  folder_.Write("seraph-run-stale/server-0.log", "x");
  folder_.Write("seraph-run-kept/server-0.log", "x");
  folder_.Write("other/lock", "");
  auto first = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(first, IsOk());
  auto second = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(second, IsOk());
  EXPECT_TRUE(std::filesystem::exists((*first)->folder())) << "it is in use";
  first->reset();
  (*second)->KeepFolder();
  (*second)->Stop();
  EXPECT_THAT(LocalCluster::Start(options_, &interrupt_), IsOk());
  EXPECT_THAT(folder_.Names(),
              UnorderedElementsAre(
                  "seraph-run-kept", "other",
                  std::filesystem::path((*second)->folder()).filename()));
}

TEST_F(LocalClusterTest, StartsDaemonsAgainThatEndedBeforeTheirTime) {
  for (const char* name : {"SCHEDULER", "WORKER_0"}) {
    Behave(name, "late-death");
  }
  options_.restarts = 1;
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  const std::string folder = (*cluster)->folder();
  EXPECT_THAT((*cluster)->Revive(), IsOkAndHolds(IsEmpty()));

  std::ofstream(folder + "/die") << "now";
  while ((*cluster)->Check().ok() || Processes().size() > 2) {
  }
  std::filesystem::remove(folder + "/die");
  const auto notes = (*cluster)->Revive();
  EXPECT_THAT(notes,
              IsOkAndHolds(UnorderedElementsAre(
                  "scheduler ended with exit code 9; it is started again",
                  "worker-0 ended with exit code 9; it is started again")));
  // Where the others look for it.
  EXPECT_THAT(Processes(),
              Contains(AllOf(HasSubstr("scheduler.ready"),
                             HasSubstr((*cluster)->scheduler_address()))));
}

TEST_F(LocalClusterTest, OneThatIsKilledWhileItStartsIsStartedAgain) {
  Behave("SCHEDULER", "killed-once");
  Behave("SERVER_0", "killed-once");
  options_.restarts = 1;
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  EXPECT_THAT((*cluster)->Check(), IsOk());
  EXPECT_TRUE(std::filesystem::exists((*cluster)->folder() +
                                      "/scheduler.ready.killed"));
}

TEST_F(LocalClusterTest, GivesUpOnADaemonThatEndsAgainAndAgain) {
  Behave("SERVER_0", "late-death");
  options_.restarts = 2;
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  std::ofstream((*cluster)->folder() + "/die") << "now";
  absl::Status status;
  int restarts = 0;
  while (status.ok()) {
    const auto notes = (*cluster)->Revive();
    status = notes.status();
    if (notes.ok()) restarts += notes->size();
  }
  EXPECT_EQ(restarts, 2);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                               HasSubstr("server-0 of the local cluster ended "
                                         "with exit code 9")));
}

TEST_F(LocalClusterTest, ShowsTheLastWordsOfADaemonThatDiesAtItsStart) {
  Behave("SERVER_1", "dies");
  EXPECT_THAT(
      LocalCluster::Start(options_, &interrupt_),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("server-1 of the local cluster ended with exit "
                               "code 7; its last log lines:\n  line 11\n"),
                     HasSubstr("  line 30\n"), Not(HasSubstr("line 10\n")),
                     HasSubstr("server-1.log"))));
  EXPECT_THAT(Processes(), IsEmpty());
  EXPECT_THAT(Log("server-1"), HasSubstr("line 1\n")) << "the log is kept";
}

TEST_F(LocalClusterTest, TheSchedulerDiesAtItsStart) {
  Behave("SCHEDULER", "dies");
  EXPECT_THAT(LocalCluster::Start(options_, &interrupt_),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("scheduler of the local cluster ended")));
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalClusterTest, GivesUpOnADaemonThatNeverBecomesReady) {
  Behave("WORKER_0", "silent");
  options_.start_timeout = absl::Milliseconds(500);
  EXPECT_THAT(LocalCluster::Start(options_, &interrupt_),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("of the local cluster is not ready after "
                                 "500ms; its last log lines:\n")));
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalClusterTest, AnInterruptEndsTheWaitAtItsStart) {
  Behave("SCHEDULER", "silent");
  std::thread user([&] { interrupt_.Trigger(); });
  EXPECT_THAT(LocalCluster::Start(options_, &interrupt_),
              StatusIs(absl::StatusCode::kCancelled));
  user.join();
  EXPECT_THAT(folder_.Names(), IsEmpty());
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalClusterTest, KillsADaemonThatDoesNotEnd) {
  Behave("SERVER_0", "stubborn");
  Behave("SCHEDULER", "stubborn");
  options_.stop_timeout = absl::Milliseconds(100);
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  (*cluster)->Stop();
  EXPECT_THAT(Processes(), IsEmpty());
  EXPECT_THAT(folder_.Names(), IsEmpty());
}

TEST_F(LocalClusterTest, WhoAsksAgainNeedNotWaitForAStubbornDaemon) {
  Behave("SERVER_0", "stubborn");
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  interrupt_.Trigger();  // What led to the stop hurries nobody.
  std::atomic<bool> stopped = false;
  std::thread user([&] {
    while (!stopped) {
      interrupt_.Trigger();
      std::this_thread::yield();
    }
  });
  (*cluster)->Stop();
  stopped = true;
  user.join();
  EXPECT_THAT(Processes(), IsEmpty());
}

TEST_F(LocalClusterTest, NoticesADaemonThatDiesLater) {
  Behave("SERVER_1", "late-death");
  auto cluster = LocalCluster::Start(options_, &interrupt_);
  ASSERT_THAT(cluster, IsOk());
  EXPECT_THAT((*cluster)->Check(), IsOk());
  folder_.Write(folder_.Names().front() + "/die", "");
  absl::Status status;
  while (status.ok()) {
    status = (*cluster)->Check();
    interrupt_.WaitFor(absl::Milliseconds(1));
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("server-1 of the local cluster ended with "
                                 "exit code 9")));
  (*cluster)->Stop();
  EXPECT_THAT(Processes(), IsEmpty());
  EXPECT_THAT(Log("server-1"), HasSubstr("arguments"));
}

TEST_F(LocalClusterTest, NamesTheFolderThatCannotBeMade) {
  options_.temporary_directory = folder_.Path("none");
  EXPECT_THAT(
      LocalCluster::Start(options_, &interrupt_),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.Path("none"))));
}

TEST(LocalEnvironmentTest, LeavesOutWhatBelongsToAnotherCluster) {
  EXPECT_THAT(
      LocalEnvironment({"PATH=/bin", "SERAPH_CLUSTER__SCHEDULER=h:1",
                        "SERAPH_SERVER__LISTEN=h:2", "SERAPH_LOG__LEVEL=debug",
                        "SERAPH_WORKER__ADVERTISE=h:3", "SERAPH_LOG__FILE=/x",
                        "SERAPH_SCHEDULER__STATE_DIRECTORY=/y", "A=b=c"}),
      ElementsAre("PATH=/bin", "SERAPH_LOG__LEVEL=debug", "A=b=c"));
}

}  // namespace
}  // namespace seraph
