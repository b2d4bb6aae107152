#include "common/checkpoint/manifest.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xxhash.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

CheckpointManifest Example() {
  CheckpointManifest manifest;
  manifest.seraph_version = "1.0";
  manifest.job_id = "j-1";
  manifest.job_name = "größer \"than\"\n";
  manifest.generation = 3;
  manifest.cut = 17;
  manifest.time = absl::FromUnixMillis(1'700'000'000'123);
  manifest.clocks = {{2, 0}, {1, 4'000'000'000}};
  TableSpec w;
  w.name = "w";
  w.kind = TableKind::kDense;
  w.keys = 10;
  w.width = 3;
  w.partitions = 2;
  w.seed = ~uint64_t{0};
  w.admit_after = 4;
  w.expire_after_epochs = 5;
  w.transport = ValueKind::kInt8;
  w.initializer = {InitializerKind::kNormal, 0.1, 1.0 / 3};
  w.optimizer.kind = OptimizerKind::kAdamw;
  w.optimizer.learning_rate = 1e-300;
  w.schedule.kind = ScheduleKind::kCosine;
  w.schedule.total_steps = uint64_t{1} << 60;
  TableSpec x;
  x.name = "x";
  x.scramble = true;
  manifest.tables = {w, x};
  manifest.parts = {
      {0, 0, {0, 7}, 8, {{"a", 1, 2}, {"b", 3, ~uint64_t{0}}}},
      {0, 1, {8, 9}, 2, {{"c", 5, 0}}},
      {1, 0, {0, kMaxKey}, 0, {{"d", 6, 7}}},
  };
  manifest.job_yaml = "name: x\nseed: 1\n";
  manifest.model = "{\"seraph\": 1}";
  manifest.state = std::string("\0\xff any bytes", 12);
  return manifest;
}

// `text` with `from` in place of `to`, and the checksum made to fit.
std::string Edited(std::string text, absl::string_view from,
                   absl::string_view to) {
  const std::string edited = absl::StrReplaceAll(text, {{from, to}});
  EXPECT_NE(edited, text) << from;
  const size_t body = edited.rfind(",\n \"checksum\"");
  std::string hex = absl::StrCat(
      absl::Hex(XXH3_64bits(edited.data(), body), absl::kZeroPad16));
  return absl::StrCat(edited.substr(0, body), ",\n \"checksum\": \"", hex,
                      "\"\n}\n");
}

TEST(ManifestTest, ComesBackAsItWas) {
  const auto manifest = ManifestFromText(ManifestToText(Example()));
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(*manifest, Example());
}

TEST(ManifestTest, EveryCutAndEveryChangedByteIsRefused) {
  const std::string text = ManifestToText(Example());
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_THAT(ManifestFromText(text.substr(0, i)),
                StatusIs(absl::StatusCode::kDataLoss))
        << i;
    for (const char flip : {1, 32, 128}) {
      std::string damaged = text;
      damaged[i] ^= flip;
      EXPECT_THAT(ManifestFromText(damaged),
                  StatusIs(absl::StatusCode::kDataLoss))
          << i;
    }
  }
  EXPECT_THAT(ManifestFromText(text + "\n"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(ManifestTest, WhatNoManifestSaysIsRefusedByKey) {
  const std::string text = ManifestToText(Example());
  EXPECT_THAT(ManifestFromText(Edited(text, "1.0", "1.1")), IsOk());
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } cases[] = {
      {"\"seraph_checkpoint\": 1", "\"seraph_checkpoint\": 2",
       "seraph_checkpoint: is 2, which this build cannot read"},
      {"\"generation\"", "\"generatio\"", "generation: is missing"},
      {"\"cut\": 17", "\"cut\": -1", "cut: is no whole number"},
      {"\"cut\": 17", "\"cut\": 17, \"more\": 1", "more: is not known"},
      {"\"adamw\"", "\"adamx\"", "tables[0].optimizer.kind: is 'adamx'"},
      {"\"name\": \"b\"", "\"name\": \"../b\"", "parts[0].files[1].name"},
      {"\"table\": 1", "\"table\": 2", "parts[2].table"},
      {"4000000000", "5000000000", "clocks[1].step: is too large"},
      {"2023-11", "2023-13", "time"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(
        ManifestFromText(Edited(text, one.from, one.to)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(one.message)))
        << one.to;
  }
}

TEST(ManifestTest, NamesAreOrderedByGenerationThenCut) {
  EXPECT_EQ(ToString(ManifestName{2, 17}), "g2-c17.checkpoint");
  EXPECT_EQ(ParseManifestName("g2-c17.checkpoint"), (ManifestName{2, 17}));
  for (const char* name : {"g2-c17-t0-p0.part", "2-c17.checkpoint",
                           "g2-c.checkpoint", "g2.checkpoint", "g2-c1x"}) {
    EXPECT_FALSE(ParseManifestName(name).has_value()) << name;
  }
  EXPECT_LT((ManifestName{1, 20}), (ManifestName{2, 3}));
  EXPECT_LT((ManifestName{2, 9}), (ManifestName{2, 10}));
}

}  // namespace
}  // namespace seraph
