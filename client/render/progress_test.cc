#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "client/render/progress_line.h"
#include "client/render/progress_renderer.h"
#include "client/render/terminal.h"
#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeClock;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Terminal kPipe = {false, false, 80};
constexpr Terminal kTty = {true, false, 80};

// What was written since the last call.
std::string Take(std::ostringstream* stream) {
  const std::string text = stream->str();
  stream->str("");
  return text;
}

JobView Training(uint64_t examples) {
  JobView job;
  job.name = "lr";
  job.state = JobState::kRunning;
  job.phase = "training";
  job.epochs_total = 3;
  job.epoch_examples = examples;
  job.epoch_examples_total = 1000;
  job.examples_per_second = 100;
  return job;
}

EpochView Epoch(uint32_t epoch) {
  return {epoch, 1000, 0.5, {{"log_loss", 0.5}}, {{"log_loss", 0.25}}};
}

TEST(BarTest, FillsUp) {
  EXPECT_EQ(Bar(0, 12), "[>         ]");
  EXPECT_EQ(Bar(0.5, 12), "[=====>    ]");
  EXPECT_EQ(Bar(1, 12), "[==========]");
  EXPECT_EQ(Bar(7, 12), "[==========]");
}

TEST(ProgressLineTest, ATerminalsLineIsDrawnOverAndTakenAway) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressLine line(&stream, kTty, &clock);
  line.Show("predict", 0.5, "10 MB");
  EXPECT_EQ(Take(&stream),
            "\r\x1b[Kpredict  [===========>          ]  50%  10 MB");
  line.Show("predict", 0.6, "");
  EXPECT_EQ(Take(&stream), "") << "too soon";
  clock.Advance(ProgressLine::kRedrawInterval);
  line.Show("predict", std::nullopt, "");
  EXPECT_EQ(Take(&stream), "\r\x1b[Kpredict");
  line.Print("done");
  EXPECT_EQ(Take(&stream), "\r\x1b[Kdone\n");
  line.Clear();
  EXPECT_EQ(Take(&stream), "");
}

TEST(ProgressLineTest, ATerminalsLineIsNoWiderThanTheTerminal) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressLine line(&stream, {true, true, 20}, &clock);
  line.Show("a long label with more", 0.5, "");
  EXPECT_EQ(Take(&stream), "\r\x1b[Ka long label with m");
}

TEST(ProgressLineTest, ColoursTheBarOnlyWhereThereIsColour) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressLine line(&stream, {true, true, 80}, &clock);
  line.Show("x", 0, "");
  EXPECT_EQ(Take(&stream),
            "\r\x1b[Kx  \x1b[36m[>                     ]\x1b[0m   0%");
}

TEST(ProgressLineTest, ElsewhereItIsALineNowAndThen) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressLine line(&stream, kPipe, &clock);
  line.Show("predict", 0.1, "");
  EXPECT_EQ(Take(&stream), "") << "short work needs no lines";
  clock.Advance(ProgressLine::kPlainInterval);
  line.Show("predict", 0.5, "10 MB");
  EXPECT_EQ(Take(&stream), "predict   50%  10 MB\n");
  clock.Advance(ProgressLine::kPlainInterval - absl::Milliseconds(1));
  line.Show("predict", 0.6, "");
  EXPECT_EQ(Take(&stream), "");
  line.Clear();
  EXPECT_EQ(Take(&stream), "");
}

TEST(ProgressRendererTest, PlainLinesForPhasesEpochsAndWarnings) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressRenderer progress(&stream, kPipe, &clock);
  JobView job = Training(0);
  job.state = JobState::kPending;
  job.phase = "";
  progress.Update(job);
  EXPECT_EQ(Take(&stream), "");
  job.phase = "scanning";
  progress.Update(job);
  progress.Update(job);
  EXPECT_EQ(Take(&stream), "lr: scanning\n");

  JobView first = Training(10);
  first.epochs = {Epoch(1)};
  std::ostringstream other;
  ProgressRenderer hasty(&other, kPipe, &clock);
  hasty.Update(first);
  EXPECT_THAT(Take(&other), StartsWith("lr: training\nlr: epoch 1/3"));

  job = Training(10);
  job.warnings = {"2 bad records"};
  progress.Update(job);
  EXPECT_EQ(Take(&stream), "warning: 2 bad records\nlr: training\n");
  job.epochs = {Epoch(1)};
  progress.Update(job);
  EXPECT_EQ(Take(&stream),
            "lr: epoch 1/3: 1,000 examples in 0.50s (2,000/s), "
            "train log_loss 0.5, validation log_loss 0.25\n");
  clock.Advance(ProgressLine::kPlainInterval);
  job.epoch_examples = 250;
  progress.Update(job);
  EXPECT_EQ(Take(&stream),
            "lr: epoch 2/3   25%  100 examples/s  log_loss 0.25  ETA 18s\n");

  job.epochs.push_back(Epoch(2));
  job.phase = "exporting";
  progress.Update(job);
  EXPECT_THAT(Take(&stream), AllOf(StartsWith("lr: epoch 2/3"),
                                   EndsWith("\nlr: exporting\n")));
  job.epochs.push_back(Epoch(3));
  job.state = JobState::kSucceeded;
  progress.Update(job);
  EXPECT_THAT(Take(&stream), HasSubstr("epoch 3/3"));
  progress.Finish();
  EXPECT_EQ(Take(&stream), "");
}

TEST(ProgressRendererTest, ABarOnATerminal) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressRenderer progress(&stream, kTty, &clock);
  progress.Update(Training(500));
  EXPECT_EQ(Take(&stream),
            "lr: training\n"
            "\r\x1b[Klr: epoch 1/3  [===========>          ]  50%  "
            "100 examples/s  ETA 25s");
  progress.Note("hello");
  EXPECT_EQ(Take(&stream), "\r\x1b[Khello\n");

  JobView job = Training(0);
  job.phase = "exporting";
  job.phase_fraction = 0.25;
  progress.Update(job);
  EXPECT_THAT(Take(&stream), HasSubstr("lr: exporting  [=====>"));
  job.state = JobState::kCancelled;
  progress.Update(job);
  EXPECT_EQ(Take(&stream), "\r\x1b[K");
}

TEST(ProgressRendererTest, OfManyEpochsAtOnceOnlyTheLast) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressRenderer progress(&stream, kPipe, &clock);
  JobView job = Training(0);
  for (uint32_t epoch = 1; epoch <= 100; ++epoch) {
    job.epochs.push_back(Epoch(epoch));
  }
  progress.Update(job);
  const std::string text = Take(&stream);
  EXPECT_THAT(text, HasSubstr("epoch 100/3"));
  EXPECT_THAT(text, Not(HasSubstr("epoch 99/3")));
}

TEST(ProgressRendererTest, AJobThatWentBackPrintsItsEpochsAgain) {
  FakeClock clock;
  std::ostringstream stream;
  ProgressRenderer progress(&stream, kPipe, &clock);
  JobView job = Training(0);
  job.epochs = {Epoch(1), Epoch(2)};
  progress.Update(job);
  job.epochs = {Epoch(1)};
  progress.Update(job);
  Take(&stream);
  job.epochs = {Epoch(1), Epoch(2)};
  progress.Update(job);
  EXPECT_THAT(Take(&stream), HasSubstr("epoch 2/3"));
}

TEST(TimeLeftTest, IsUnknownWithoutARate) {
  EXPECT_EQ(TimeLeft(Training(0)), absl::Seconds(30));
  JobView job = Training(0);
  job.examples_per_second = 0;
  EXPECT_EQ(TimeLeft(job), std::nullopt);
  job = Training(0);
  job.epoch_examples_total = 0;
  EXPECT_EQ(TimeLeft(job), std::nullopt);
  job = Training(1000);
  job.epochs = {Epoch(1), Epoch(2), Epoch(3)};
  EXPECT_EQ(TimeLeft(job), absl::ZeroDuration());
}

TEST(TerminalTest, APipeIsNoTerminalAndHasNoColour) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Terminal terminal =
      DescribeTerminal(ends[1], [](const char*) { return nullptr; });
  EXPECT_FALSE(terminal.interactive);
  EXPECT_FALSE(terminal.colour);
  close(ends[0]);
  close(ends[1]);
}

// A pseudo-terminal is one; NO_COLOR and a dumb terminal are respected.
TEST(TerminalTest, ATerminalHasColourUnlessSomebodyObjects) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  const auto describe = [&](const char* name, const char* value) {
    return DescribeTerminal(terminal, [=](const char* wanted) {
      return std::string(wanted) == name ? value : nullptr;
    });
  };
  EXPECT_TRUE(describe("", "").interactive);
  EXPECT_TRUE(describe("", "").colour);
  EXPECT_TRUE(describe("NO_COLOR", "").colour);
  EXPECT_FALSE(describe("NO_COLOR", "1").colour);
  EXPECT_TRUE(describe("NO_COLOR", "1").interactive);
  EXPECT_FALSE(describe("TERM", "dumb").interactive);
  close(terminal);
}

}  // namespace
}  // namespace seraph
