#include "common/concurrent/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

TEST(ThreadPoolTest, OneThreadRunsWorkInOrder) {
  std::vector<int> ran;
  {
    ThreadPool pool("test", 1);
    for (int i = 0; i < 5; ++i) pool.Schedule([&ran, i] { ran.push_back(i); });
  }
  EXPECT_THAT(ran, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ThreadPoolTest, AllThreadsWorkAtOnceUnderTheirNames) {
  constexpr int kThreads = 4;
  absl::Mutex mu;
  std::set<std::string> names;
  {
    ThreadPool pool("test", kThreads);
    EXPECT_EQ(pool.threads(), kThreads);
    // Nobody passes the barrier before all four are there.
    auto* barrier = new absl::Barrier(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      pool.Schedule([&, barrier] {
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof(name));
        {
          absl::MutexLock lock(&mu);
          names.insert(name);
        }
        if (barrier->Block()) delete barrier;
      });
    }
  }
  EXPECT_THAT(names, ElementsAre("test-0", "test-1", "test-2", "test-3"));
}

TEST(ThreadPoolTest, TheDestructorRunsWhatIsThereAndWhatThatAdds) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool("test", 3);
    for (int i = 0; i < 100; ++i) {
      pool.Schedule([&] {
        ++ran;
        pool.Schedule([&] {
          ++ran;
          pool.Schedule([&] { ++ran; });
        });
      });
    }
  }
  EXPECT_EQ(ran, 300);
}

TEST(ThreadPoolTest, WorkIsFreedWhenItHasRun) {
  ThreadPool pool("test", 1);
  auto held = std::make_shared<int>(7);
  const std::weak_ptr<int> weak = held;
  pool.Schedule([held = std::move(held)] { EXPECT_EQ(*held, 7); });
  absl::Notification later;
  pool.Schedule([&] {
    EXPECT_TRUE(weak.expired());
    later.Notify();
  });
  later.WaitForNotification();
}

TEST(ThreadsOrCoresTest, ZeroMeansTheMachinesCores) {
  EXPECT_EQ(ThreadsOrCores(3), 3);
  EXPECT_GE(ThreadsOrCores(0), 1);
}

}  // namespace
}  // namespace seraph
