// Random job files: good ones survive being written and read, spoilt ones end
// with a message.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/draw.h"
#include "common/job/job_spec.h"
#include "common/job/job_tables.h"
#include "common/job/job_text.h"
#include "common/metrics/metric_sums.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::kFullJob;

// Draws in order, from a seed that a failure prints.
class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}

  uint64_t Bits() { return Draw(seed_, {count_++}); }
  uint64_t Below(uint64_t n) { return ToBelow(Bits(), n); }
  bool Flip() { return Below(2) == 1; }
  double Unit() { return ToUnit(Bits()); }
  template <typename T>
  T Of(const std::vector<T>& values) {
    return values[Below(values.size())];
  }
  // A size that may be very small or very large.
  double Magnitude() { return Unit() * (Flip() ? 1e-12 : 1e3); }
  std::string Text() {
    static const std::vector<std::string> pieces = {
        "a", "B",    "7",  "/",        ".", "-",    " ", ":",
        "#", "'",    "\"", "\\",       "[", "*",    "&", "{",
        "~", "null", "\t", "\xc3\xa9", "%", "true", ", "};
    std::string text = "x";
    for (uint64_t i = Below(6); i > 0; --i) text += Of(pieces);
    return text;
  }
  std::vector<std::string> Texts(uint64_t least) {
    std::vector<std::string> texts(least + Below(3));
    for (std::string& text : texts) text = Text();
    return texts;
  }

 private:
  const uint64_t seed_;
  uint64_t count_ = 0;
};

ModelSpec DrawModel(Dice& dice) {
  ModelSpec model;
  model.kind = *ParseModelKind(dice.Of(ModelKindNames()));
  if (dice.Flip()) model.keys = 1 + dice.Below(uint64_t{1} << 40);
  model.bias = dice.Of<BiasKind>(
      {BiasKind::kFree, BiasKind::kRegularized, BiasKind::kNone});
  if (model.kind == ModelKind::kSoftmax && dice.Flip()) {
    model.classes = 2 + dice.Below(1000);
  }
  model.loss = dice.Of(LossesOf(model.kind));
  if (model.loss == LossKind::kHuber) model.huber_delta += dice.Magnitude();
  return model;
}

DataSpec DrawData(Dice& dice) {
  DataSpec data;
  data.format = *DataFormatFromName(
      DataFormatNames()[dice.Below(DataFormatNames().size())]);
  data.train = dice.Texts(1);
  if (dice.Flip()) {
    data.validation = dice.Texts(1);
  } else if (dice.Flip()) {
    data.validation_fraction = dice.Unit();
  }
  DataOptions& options = data.options;
  options.on_bad_record =
      dice.Flip() ? BadRecordAction::kFail : BadRecordAction::kSkip;
  if (dice.Flip()) options.block_bytes = 64 + dice.Below(1 << 30);
  options.group_bytes = 4096 + dice.Below(1 << 30);
  if (data.format == DataFormat::kCsv) {
    options.label_column = dice.Text();
    options.delimiter = dice.Of<char>({',', ';', '\t', ' ', '|', ':', '#'});
    options.header =
        dice.Of<CsvHeader>({CsvHeader::kAuto, CsvHeader::kYes, CsvHeader::kNo});
    options.skip_lines = dice.Below(100);
    options.columns = dice.Texts(0);
    options.categorical = dice.Texts(0);
    options.hash_bits = 1 + dice.Below(62);
    options.missing = dice.Texts(0);
  } else if (data.format == DataFormat::kIdx) {
    options.scale = -dice.Magnitude() - 1e-9;
    options.labels = dice.Texts(0);
  } else if (dice.Flip()) {
    options.index_base = dice.Below(2);
  }
  return data;
}

TrainSpec DrawTrain(Dice& dice, const JobSpec& job) {
  TrainSpec train;
  train.epochs = 1 + dice.Below(1000);
  train.batch_size = 1 + dice.Below(1 << 20);
  train.shuffle = dice.Flip();
  const OptimizerKind kind =
      OptimizerKinds()[dice.Below(OptimizerKinds().size())].first;
  OptimizerSpec& optimizer = train.optimizer = DefaultOptimizer(kind);
  if (UsesKey(kind, OptimizerKey::kLearningRate)) {
    optimizer.learning_rate = 1e-9 + dice.Unit() * 0.5;
  }
  if (UsesKey(kind, OptimizerKey::kEpsilon)) optimizer.epsilon = dice.Unit();
  if (UsesKey(kind, OptimizerKey::kBeta1)) optimizer.beta1 = dice.Unit();
  if (UsesKey(kind, OptimizerKey::kL2)) {
    optimizer.l1 = dice.Magnitude();
    optimizer.l2 = dice.Unit();
    train.clip_norm = dice.Flip() ? 0 : dice.Magnitude();
  }
  train.schedule.kind = dice.Of<ScheduleKind>(
      {ScheduleKind::kConstant, ScheduleKind::kInverseSquareRoot,
       ScheduleKind::kExponential, ScheduleKind::kStep, ScheduleKind::kCosine});
  train.schedule.warmup_steps = dice.Bits();
  if (train.schedule.kind == ScheduleKind::kCosine) {
    train.schedule.min_factor = dice.Unit();
    train.schedule.total_steps = dice.Bits();
  }
  if (train.schedule.kind == ScheduleKind::kStep) {
    train.schedule.decay_rate = 1 - dice.Unit();
    train.schedule.decay_steps = dice.Bits();
  }
  if (job.data.HasValidation() && dice.Flip()) {
    const auto names = MetricNames(job.model.kind);
    train.stop = StopSpec{std::string(dice.Of(names)),
                          static_cast<uint32_t>(1 + dice.Below(100))};
  }
  return train;
}

JobSpec DrawJob(uint64_t seed) {
  Dice dice(seed);
  JobSpec job;
  job.name = absl::StrCat("job-", dice.Bits(), ".x");
  job.seed = dice.Flip() ? dice.Bits() : std::numeric_limits<uint64_t>::max();
  job.ranks = 1 + dice.Below(10000);
  job.model = DrawModel(dice);
  job.data = DrawData(dice);
  job.train = DrawTrain(dice, job);
  job.sync.mode =
      dice.Of<SyncMode>({SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp});
  if (job.sync.mode == SyncMode::kSsp) job.sync.staleness = dice.Below(100);
  if (job.sync.mode != SyncMode::kBsp) job.sync.pipeline = dice.Below(100);
  if (dice.Flip()) job.sync.combine = Combine::kSum;
  if (dice.Flip()) job.tables.partitions = 1 + dice.Below(4096);
  job.tables.scramble = !job.model.keys.has_value() && dice.Flip();
  if (!job.model.keys.has_value()) {
    job.tables.admit_after = 1 + dice.Below(255);
    job.tables.expire_after_epochs = dice.Below(5);
  }
  job.tables.transport =
      dice.Of<ValueKind>({ValueKind::kFloat32, ValueKind::kFloat16,
                          ValueKind::kBfloat16, ValueKind::kInt8});
  if (dice.Flip()) job.init_model = dice.Text();
  job.output_directory = dice.Text();
  return job;
}

TEST(JobSpecRandomTest, WhatIsWrittenReadsBackEqual) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const JobSpec job = DrawJob(seed);
    const std::string text = ToYaml(job);
    const auto back = ParseJobSpec(text, "canonical", {});
    ASSERT_THAT(back, IsOk()) << "seed " << seed << "\n" << text;
    ASSERT_TRUE(*back == job) << "seed " << seed << "\n"
                              << text << "\n"
                              << ToYaml(*back);
    // What the reader lets through, the tables' own checks do too.
    ASSERT_THAT(JobTables(*back, 3, 8), IsOk()) << "seed " << seed;
    ASSERT_THAT(back->data.options.Validate(), IsOk()) << "seed " << seed;
  }
}

// Cuts, repeats, swaps and overwrites pieces of a text.
std::string Spoil(std::string text, Dice& dice) {
  static const std::vector<std::string> pieces = {":",
                                                  ": ",
                                                  "\n",
                                                  "  ",
                                                  "\t",
                                                  "[",
                                                  "]",
                                                  "{",
                                                  "}",
                                                  "'",
                                                  "\"",
                                                  "#",
                                                  "&a ",
                                                  "*a",
                                                  "!",
                                                  "---",
                                                  "\n---\n",
                                                  "-1",
                                                  "1e999",
                                                  "~",
                                                  "? ",
                                                  "|\n",
                                                  ",",
                                                  "%",
                                                  "\xff",
                                                  std::string(1, '\0'),
                                                  "18446744073709551616",
                                                  "nan",
                                                  "- ",
                                                  "\xef\xbb\xbf",
                                                  "\r"};
  for (uint64_t i = 1 + dice.Below(4); i > 0; --i) {
    const size_t at = dice.Below(text.size() + 1);
    const size_t length = dice.Below(12);
    switch (dice.Below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, dice.Of(pieces));
        break;
      case 2:
        text.replace(at, length, dice.Of(pieces));
        break;
      default:
        text.insert(dice.Below(text.size() + 1), text.substr(at, length * 4));
    }
  }
  return text;
}

TEST(JobSpecRandomTest, SpoiltFilesEndWithOneLinePerProblem) {
  int refused = 0, accepted = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    Dice dice(seed);
    const std::string text = Spoil(kFullJob, dice);
    const auto job = ParseJobSpec(text, "job.yaml", {});
    if (job.ok()) {
      ++accepted;
      const auto back = ParseJobSpec(ToYaml(*job), "canonical", {});
      ASSERT_THAT(back, IsOk()) << "seed " << seed << "\n" << text;
      ASSERT_TRUE(*back == *job) << "seed " << seed << "\n" << text;
      continue;
    }
    ++refused;
    ASSERT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
    for (const absl::string_view line :
         absl::StrSplit(job.status().message(), '\n')) {
      ASSERT_TRUE(absl::StartsWith(line, "job.yaml:") ||
                  absl::StartsWith(line, "... and "))
          << line << " seed " << seed;
      for (const char c : line) {
        ASSERT_FALSE(absl::ascii_iscntrl(c)) << line << " seed " << seed;
      }
    }
  }
  EXPECT_GT(refused, 2500);
  EXPECT_GT(accepted, 100) << "only junk was drawn";
}

}  // namespace
}  // namespace seraph
