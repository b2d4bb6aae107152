#include "client/local/child_process.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/base/interrupt.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ChildProcessTest : public ::testing::Test {
 protected:
  std::unique_ptr<ChildProcess> Shell(const std::string& script) {
    auto child = ChildProcess::Start({"child",
                                      {"/bin/sh", "-c", script},
                                      folder_.Path("log"),
                                      {"PATH=/usr/bin:/bin", "COLOUR=blue"}});
    EXPECT_THAT(child, IsOk());
    return *std::move(child);
  }

  // Waits for the child's end, however long that takes.
  static std::string End(ChildProcess* child) {
    const Interrupt never;
    while (!child->Poll().has_value()) never.WaitFor(absl::Milliseconds(1));
    return *child->Poll();
  }

  const TempFolder folder_;
};

TEST_F(ChildProcessTest, SaysHowItEnded) {
  EXPECT_EQ(End(Shell("exit 0").get()), "ended with exit code 0");
  EXPECT_EQ(End(Shell("exit 3").get()), "ended with exit code 3");
  EXPECT_EQ(End(Shell("kill -9 $$").get()), "was killed by signal 9 (Killed)");
}

TEST_F(ChildProcessTest, WritesItsLogAndHasItsOwnEnvironment) {
  const auto child = Shell("echo one; echo two >&2; echo $COLOUR $HOME; cat");
  End(child.get());
  EXPECT_EQ(folder_.Read("log"), "one\ntwo\nblue\n");
  EXPECT_EQ(child->LogTail(2), "  two\n  blue\n");
  EXPECT_EQ(child->LogTail(9), "  one\n  two\n  blue\n");
}

TEST_F(ChildProcessTest, TheTailOfAnEmptyAndOfAMissingLog) {
  const auto child = Shell("true");
  End(child.get());
  EXPECT_EQ(child->LogTail(5), "  (nothing)\n");
  unlink(folder_.Path("log").c_str());
  EXPECT_EQ(child->LogTail(5), "  (no log)\n");
}

TEST_F(ChildProcessTest, IsInAProcessGroupOfItsOwn) {
  const auto child = Shell("sleep 100");
  EXPECT_EQ(getpgid(child->pid()), child->pid());
  child->Signal(SIGTERM);
  EXPECT_EQ(End(child.get()), "was killed by signal 15 (Terminated)");
  child->Signal(SIGTERM);  // Nothing happens to it, or to anybody else.
}

TEST_F(ChildProcessTest, ItsSignalsAreThoseOfAFreshShell) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  signal(SIGPIPE, SIG_IGN);
  const auto child = Shell("kill -PIPE $$; exit 5");
  EXPECT_THAT(End(child.get()), HasSubstr("signal 13"));
  const auto other = Shell("kill -TERM $$; exit 5");
  EXPECT_THAT(End(other.get()), HasSubstr("signal 15"));
  signal(SIGPIPE, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(ChildProcessTest, DoesNotOutliveItsObject) {
  auto child = Shell("trap '' TERM; while true; do sleep 0.01; done");
  const pid_t pid = child->pid();
  EXPECT_EQ(kill(pid, 0), 0);
  child.reset();
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(ChildProcessTest, NamesAProgramThatCannotBeStarted) {
  EXPECT_THAT(
      ChildProcess::Start(
          {"server-0", {folder_.Path("none")}, folder_.Path("log"), {}}),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("cannot start server-0"),
                     HasSubstr(folder_.Path("none")))));
}

}  // namespace
}  // namespace seraph
