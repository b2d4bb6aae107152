#include "common/concurrent/thread_pool.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/concurrent/notification.h"
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
  Mutex mu;
  std::set<std::string> names;
  std::barrier barrier(kThreads);  // Nobody passes before all are there.
  {
    ThreadPool pool("test", kThreads);
    EXPECT_EQ(pool.threads(), kThreads);
    for (int i = 0; i < kThreads; ++i) {
      pool.Schedule([&] {
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof(name));
        {
          MutexLock lock(&mu);
          names.insert(name);
        }
        barrier.arrive_and_wait();
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
  Notification later;
  pool.Schedule([&] {
    EXPECT_TRUE(weak.expired());
    later.Notify();
  });
  later.Wait();
}

TEST(ThreadPoolTest, ItsThreadsStandBackAsFarAsAsked) {
  const int own = getpriority(PRIO_PROCESS, 0);
  int priority = 0;
  {
    ThreadPool pool("test", 1, 7);
    pool.Schedule([&] { priority = getpriority(PRIO_PROCESS, 0); });
  }
  EXPECT_EQ(priority, std::max(own, 7));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
}

TEST(ThreadsOrCoresTest, ZeroMeansTheMachinesCores) {
  EXPECT_EQ(ThreadsOrCores(3), 3);
  EXPECT_GE(ThreadsOrCores(0), 1);
}

}  // namespace
}  // namespace seraph
