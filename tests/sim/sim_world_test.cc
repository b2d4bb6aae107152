// The simulated world itself: a simulation that cheats proves nothing.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sim/sim_executor.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_network.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

TEST(SimLoopTest, RunsEventsByTime) {
  SimLoop loop(1);
  const int a = loop.AddMachine("a");
  std::string order;
  loop.After(Milliseconds(3), a, "third", [&] { order += "3"; });
  loop.After(Milliseconds(1), a, "first", [&] {
    order += "1";
    loop.After(Milliseconds(1), a, "second", [&] { order += "2"; });
  });
  while (loop.RunOne()) {
  }
  EXPECT_EQ(order, "123");
}

TEST(SimLoopTest, ACrashTakesTheEventsOfThatLife) {
  SimLoop loop(1);
  const int a = loop.AddMachine("a");
  int ran = 0;
  loop.After(Milliseconds(5), a, "old", [&] { ++ran; });
  loop.Crash(a);
  loop.Restart(a);
  loop.After(Milliseconds(5), a, "new", [&] { ran += 10; });
  while (loop.RunOne()) {
  }
  EXPECT_EQ(ran, 10);
}

TEST(SimLoopTest, AStoppedMachineKeepsItsEventsWhileTimePasses) {
  SimLoop loop(1);
  const int a = loop.AddMachine("a");
  absl::Duration ran;
  loop.After(Milliseconds(5), a, "event", [&] { ran = loop.now(); });
  loop.Stop(a);
  loop.RunUntil(Seconds(9));
  EXPECT_EQ(ran, absl::ZeroDuration());
  loop.GoOn(a);
  loop.RunUntil(Seconds(10));
  EXPECT_EQ(ran, Seconds(9));
}

TEST(SimLoopTest, ClocksOfMachinesDiffer) {
  SimLoop loop(1);
  const int a = loop.AddMachine("a"), b = loop.AddMachine("b");
  const MonotonicClock* before = loop.ClockOf(a);
  EXPECT_NE(before->Now(), loop.ClockOf(b)->Now());
  loop.Crash(a);
  loop.Restart(a);
  EXPECT_NE(before->Now(), loop.ClockOf(a)->Now());
  const absl::Duration read = loop.ClockOf(b)->Now();
  loop.RunUntil(Seconds(2));
  EXPECT_EQ(loop.ClockOf(b)->Now() - read, Seconds(1));
}

TEST(SimNetworkTest, LosesRepeatsAndReorders) {
  SimLoop loop(3);
  SimNetwork network(&loop);
  network.SetWeather({.lose = 0.2, .duplicate = 0.2, .late = 0.2});
  const int a = loop.AddMachine("a"), b = loop.AddMachine("b");
  std::vector<int> seen(100);
  bool overtaken = false;
  int highest = -1;
  for (int i = 0; i < 100; ++i) {
    network.Send(a, b, "message", [&, i] {
      ++seen[i];
      overtaken = overtaken || i < highest;
      highest = std::max(highest, i);
    });
  }
  loop.RunUntil(Seconds(3));
  int lost = 0, repeated = 0;
  for (int n : seen) {
    lost += n == 0;
    repeated += n > 1;
  }
  EXPECT_GT(lost, 5);
  EXPECT_GT(repeated, 5);
  EXPECT_TRUE(overtaken);
}

TEST(SimNetworkTest, ACutHoldsInItsDirection) {
  SimLoop loop(1);
  SimNetwork network(&loop);
  const int a = loop.AddMachine("a"), b = loop.AddMachine("b");
  network.Cut(a, b);
  int there = 0, back = 0;
  network.Send(a, b, "message", [&] { ++there; });
  network.Send(b, a, "message", [&] { ++back; });
  loop.RunUntil(Seconds(2));
  EXPECT_EQ(there, 0);
  EXPECT_EQ(back, 1);
  network.Mend(a, b);
  network.Send(a, b, "message", [&] { ++there; });
  loop.RunUntil(Seconds(3));
  EXPECT_EQ(there, 1);
}

TEST(SimNetworkTest, ACallEndsExactlyOnce) {
  SimLoop loop(7);
  SimNetwork network(&loop);
  network.SetWeather({.lose = 0.3, .duplicate = 0.3});
  const int a = loop.AddMachine("a"), b = loop.AddMachine("b");
  std::vector<int> ended(200);
  int answered = 0, served = 0;
  for (int i = 0; i < 200; ++i) {
    network.Call<int>(
        a, b, "call", Milliseconds(100),
        [&](SimNetwork::Answer<int> answer) {
          ++served;
          answer(5);
        },
        [&, i](absl::StatusOr<int> reply) {
          ++ended[i];
          answered += reply.ok();
        });
  }
  loop.RunUntil(Seconds(3));
  EXPECT_EQ(ended, std::vector<int>(200, 1));
  EXPECT_GT(answered, 50);
  EXPECT_LT(answered, 150);
  EXPECT_GT(served, answered);
}

TEST(SimNetworkTest, ADeadMachineRefusesAndAnswersNothing) {
  SimLoop loop(1);
  SimNetwork network(&loop);
  const int a = loop.AddMachine("a"), b = loop.AddMachine("b");
  std::vector<absl::StatusCode> ends;
  SimNetwork::Answer<int> late;
  const auto done = [&](absl::StatusOr<int> reply) {
    ends.push_back(reply.status().code());
  };
  network.Call<int>(
      a, b, "call", Seconds(1),
      [&](SimNetwork::Answer<int> answer) { late = answer; }, done);
  loop.RunUntil(loop.now() + Milliseconds(10));
  loop.Crash(b);
  loop.Restart(b);
  late(1);  // Of a life that is over.
  loop.RunUntil(loop.now() + Seconds(2));
  loop.Crash(b);
  network.Call<int>(
      a, b, "call", Seconds(1), [&](auto answer) { answer(1); }, done);
  loop.RunUntil(loop.now() + Seconds(2));
  EXPECT_EQ(ends, (std::vector{absl::StatusCode::kDeadlineExceeded,
                               absl::StatusCode::kUnavailable}));
}

TEST(SimExecutorTest, WorkRunsLaterAndDiesWithTheMachine) {
  SimLoop loop(1);
  const int a = loop.AddMachine("a");
  SimExecutor executor(&loop, a);
  std::string order;
  executor.Schedule([&] { order += "1"; });
  executor.Schedule([&] { order += "2"; });
  EXPECT_EQ(order, "");
  loop.RunUntil(Seconds(2));
  EXPECT_EQ(order, "12");
  executor.Schedule([&] { order += "3"; });
  loop.Crash(a);
  loop.RunUntil(Seconds(3));
  EXPECT_EQ(order, "12");
  executor.Close();  // What waits for it must come to an end.
  EXPECT_EQ(order, "123");
}

TEST(SimFaultsTest, BreakAndMendAndReplay) {
  const auto run = [](uint64_t seed) {
    SimLoop loop(seed);
    SimNetwork network(&loop);
    std::vector<int> machines;
    for (int i = 0; i < 4; ++i) machines.push_back(loop.AddMachine("m"));
    SimFaults faults(&loop, &network,
                     {.crash = [&](int machine) { loop.Crash(machine); },
                      .restart = [&](int machine) { loop.Restart(machine); }});
    faults.Plan({.crashes = 3, .stops = 3, .cuts = 5, .isolations = 2},
                machines);
    loop.RunUntil(Seconds(10));
    for (int machine : machines) {
      EXPECT_TRUE(loop.IsUp(machine));
      EXPECT_FALSE(loop.IsStopped(machine));
      for (int other : machines) EXPECT_FALSE(network.IsCut(machine, other));
    }
    EXPECT_GT(faults.counts().crashes, 0);
    EXPECT_GT(faults.counts().cuts, 0);
    return loop.hash();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace seraph::testing
