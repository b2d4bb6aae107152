#include "client/base/signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include "client/base/interrupt.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(SignalWatcherTest, ASignalTriggersTheInterrupt) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Interrupt interrupt;
    const SignalWatcher watcher(&interrupt);
    EXPECT_FALSE(interrupt.requested());
    kill(getpid(), number);
    EXPECT_TRUE(interrupt.WaitFor(absl::InfiniteDuration())) << number;
  }
}

TEST(SignalWatcherTest, EndsWithoutASignal) {
  Interrupt interrupt;
  { const SignalWatcher watcher(&interrupt); }
  EXPECT_FALSE(interrupt.requested());
}

TEST(SignalWatcherTest, WhoInsistsEndsTheProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Interrupt interrupt;
    const SignalWatcher watcher(&interrupt);
    for (int i = 1; i < SignalWatcher::kTimesToEnd; ++i) {
      kill(getpid(), SIGINT);
      interrupt.WaitFor(absl::InfiniteDuration(), i - 1);
    }
    kill(getpid(), SIGINT);
    while (true) pause();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

}  // namespace
}  // namespace seraph
