#include "common/concurrent/serial_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/concurrent/thread_pool.h"
#include "common/testing/manual_executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::ManualExecutor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SerialQueueTest, RunsInOrderAndNeverInsideOfPost) {
  ManualExecutor executor;
  SerialQueue queue(&executor);
  std::vector<int> ran;
  queue.Post([&] {
    ran.push_back(1);
    queue.Post([&] { ran.push_back(3); });
    ran.push_back(2);
  });
  EXPECT_THAT(ran, IsEmpty());
  executor.RunAll();
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST(SerialQueueTest, IsOnceAtTheExecutorHoweverMuchIsPosted) {
  ManualExecutor executor;
  SerialQueue queue(&executor);
  for (int i = 0; i < 5; ++i) queue.Post([] {});
  EXPECT_EQ(executor.RunAll(), 1);
  queue.Post([] {});
  EXPECT_EQ(executor.RunAll(), 1);
}

TEST(SerialQueueTest, ABusyQueueLetsOthersHaveTheirTurn) {
  ManualExecutor executor;
  SerialQueue busy(&executor);
  SerialQueue other(&executor);
  std::vector<char> ran;
  busy.Post([&] {
    ran.push_back('a');
    busy.Post([&] { ran.push_back('b'); });
  });
  other.Post([&] { ran.push_back('x'); });
  executor.RunAll();
  EXPECT_THAT(ran, ElementsAre('a', 'x', 'b'));
}

TEST(SerialQueueTest, ManyThreadsPostAndEachThreadsOrderHolds) {
  constexpr int kPosters = 4;
  constexpr int kPosts = 2000;
  ThreadPool pool("test", 3);
  // Neither is guarded: the queue is what keeps the closures apart.
  std::vector<int> next(kPosters, 0);
  int running = 0;
  int out_of_order = 0;
  {
    SerialQueue queue(&pool);
    std::vector<std::thread> posters;
    for (int p = 0; p < kPosters; ++p) {
      posters.emplace_back([&, p] {
        for (int i = 0; i < kPosts; ++i) {
          queue.Post([&, p, i] {
            if (++running != 1 || next[p] != i) ++out_of_order;
            next[p] = i + 1;
            --running;
          });
        }
      });
    }
    for (std::thread& poster : posters) poster.join();
  }
  EXPECT_EQ(out_of_order, 0);
  EXPECT_THAT(next, ElementsAre(kPosts, kPosts, kPosts, kPosts));
}

TEST(SerialQueueTest, AFreeQueueRunsWorkAtOnceABusyOneNever) {
  ManualExecutor executor;
  SerialQueue queue(&executor);
  std::vector<int> ran;
  const auto try_run = [&](int number) {
    return queue.TryRun([&] {
      ran.push_back(number);
      return true;
    });
  };
  EXPECT_TRUE(try_run(1));
  EXPECT_TRUE(try_run(2));
  EXPECT_EQ(executor.RunAll(), 0);
  queue.Post([&] {
    EXPECT_FALSE(try_run(0)) << "in a closure of the same queue";
    ran.push_back(3);
  });
  EXPECT_FALSE(try_run(0)) << "ahead of what was posted";
  executor.RunAll();
  EXPECT_TRUE(try_run(4));
  EXPECT_THAT(ran, ElementsAre(1, 2, 3, 4));
}

TEST(SerialQueueTest, WhatIsPostedDuringWorkThatRunsAtOnceHasTheNextTurn) {
  ManualExecutor executor;
  SerialQueue queue(&executor);
  std::vector<int> ran;
  EXPECT_FALSE(queue.TryRun([&] {
    queue.Post([&] { ran.push_back(2); });
    EXPECT_FALSE(queue.TryRun([] { return true; }));
    ran.push_back(1);
    return false;  // Is what TryRun returns.
  }));
  EXPECT_THAT(ran, ElementsAre(1));
  EXPECT_EQ(executor.RunAll(), 1);
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(SerialQueueTest, ManyThreadsPostOrRunAndEachThreadsOrderHolds) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  ThreadPool pool("test", 2);
  // Neither is guarded: the queue is what keeps the work apart.
  std::vector<int> next(kThreads, 0);
  int running = 0;
  int out_of_order = 0;
  {
    SerialQueue queue(&pool);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const auto work = [&, t, i] {
            if (++running != 1 || next[t] != i) ++out_of_order;
            next[t] = i + 1;
            --running;
            return true;
          };
          if (i % 3 == 0 || !queue.TryRun(work)) queue.Post(work);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(out_of_order, 0);
  EXPECT_THAT(next, ElementsAre(kEach, kEach, kEach, kEach));
}

TEST(SerialQueueTest, DrainWaitsForWhatClosuresPost) {
  ThreadPool pool("test", 2);
  SerialQueue queue(&pool);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) {
    queue.Post([&] {
      ++ran;
      queue.Post([&] { ++ran; });
    });
  }
  queue.Drain();
  EXPECT_EQ(ran, 200);
  queue.Drain();  // Of an idle queue: at once.
}

TEST(SerialQueueTest, TheDestructorRunsWhatWasPosted) {
  ThreadPool pool("test", 2);
  std::atomic<int> ran = 0;
  for (int round = 0; round < 500; ++round) {
    SerialQueue queue(&pool);
    for (int i = 0; i < 3; ++i) queue.Post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1500);
}

TEST(SerialQueueTest, AClosureIsFreedBeforeTheNextOneRuns) {
  ManualExecutor executor;
  SerialQueue queue(&executor);
  auto held = std::make_shared<int>(7);
  const std::weak_ptr<int> weak = held;
  queue.Post([held = std::move(held)] { EXPECT_EQ(*held, 7); });
  bool freed = false;
  queue.Post([&] { freed = weak.expired(); });
  executor.RunAll();
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace seraph
