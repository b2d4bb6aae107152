#include "scheduler/io/model_transfer.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/part_writer.h"
#include "common/io/posix_blob_folder.h"
#include "common/model_file/loaded_model.h"
#include "common/model_file/model_metadata.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/placement/partition_placer.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

using Table = std::map<Key, std::vector<float>>;  // By original key.

// Partitions in memory, by (table, partition).
class MemoryPartitions final : public PartitionRows {
 public:
  std::unique_ptr<RowSource> Read(
      const PartitionPlacement& placement) override {
    return std::make_unique<Source>(
        &tables[{placement.table, placement.partition}], &reading);
  }

  absl::Status Write(const PartitionPlacement& placement,
                     const Rows& rows) override {
    if (!write_error.ok()) return write_error;
    const size_t width = rows.values.size() / rows.keys.size();
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      const auto value = rows.values.begin() + i * width;
      tables[{placement.table, placement.partition}][rows.keys[i]] = {
          value, value + width};
    }
    return absl::OkStatus();
  }

  std::map<std::pair<uint32_t, uint32_t>, Table> tables;
  absl::Status write_error;
  int reading = 0;  // Sources that have begun and not ended.

 private:
  class Source final : public RowSource {
   public:
    Source(const Table* table, int* reading)
        : table_(*table), reading_(*reading) {}

    absl::StatusOr<bool> Next(Rows* rows) override {
      if (next_ == 0) ++reading_;
      rows->keys.clear();
      rows->values.clear();
      auto row = table_.begin();
      std::advance(row, std::min(next_, table_.size()));
      for (; row != table_.end() && rows->keys.size() < 3; ++row, ++next_) {
        rows->keys.push_back(row->first);
        rows->values.insert(rows->values.end(), row->second.begin(),
                            row->second.end());
      }
      if (rows->keys.empty()) --reading_;
      return !rows->keys.empty();
    }

   private:
    const Table& table_;
    int& reading_;
    size_t next_ = 0;
  };
};

JobPlan PlanOf(uint32_t partitions, bool scramble, uint32_t width = 2) {
  JobPlan plan;
  plan.job = {"id", 1};
  plan.spec.name = "job";
  plan.spec.model.kind = ModelKind::kSoftmax;
  plan.spec.model.classes = width;
  plan.labels = {.task = TaskKind::kMulticlass, .classes = width};
  TableSpec& bias = plan.tables.emplace_back();
  bias.name = "bias";
  bias.kind = TableKind::kDense;
  bias.keys = 1;
  bias.width = width;
  TableSpec& weights = plan.tables.emplace_back();
  weights.name = "weights";
  weights.kind = TableKind::kSparse;
  weights.width = width;
  weights.partitions = partitions;
  weights.scramble = scramble;
  Node server;
  server.name = "s";
  plan.partitions = PlacePartitions({server}, plan.tables, 0);
  return plan;
}

void Fill(const JobPlan& plan, int rows, MemoryPartitions* partitions) {
  for (const PartitionPlacement& placement : plan.partitions) {
    const TableSpec& table = plan.tables[placement.table];
    Table& into = partitions->tables[{placement.table, placement.partition}];
    for (uint64_t i = 0; i < rows; ++i) {
      const Key key =
          table.kind == TableKind::kDense ? 0 : i * 0x9e3779b97f4a7c15 + i;
      if (!placement.range.Contains(ToMixedKey(table, key))) continue;
      into[key] = std::vector<float>(table.width, 0.5f * i);
    }
  }
}

absl::Status Watch(double) { return absl::OkStatus(); }

std::string DigestOf(const JobPlan& plan, const std::string& path,
                     MemoryPartitions* partitions) {
  auto writer = ExportRows(plan, path, partitions, Watch);
  EXPECT_THAT(writer, IsOk());
  if (!writer.ok()) return "";
  auto summary = (*writer)->Finish();
  EXPECT_THAT(summary, IsOk());
  return summary.ok() ? summary->digest : "";
}

// A checkpoint of the plan's tables, with a row of `key` in `weights`.
void WriteCheckpoint(const JobPlan& plan, const std::string& path, Key key) {
  PosixBlobFolder folder(path);
  CheckpointManifest manifest;
  manifest.job_id = "before";
  manifest.generation = 1;
  manifest.cut = 1;
  manifest.tables = plan.tables;
  manifest.model = ModelMetadataToJson(MetadataOf(plan));
  for (uint32_t table = 0; table < plan.tables.size(); ++table) {
    const uint32_t width = plan.tables[table].width;
    PartHead head;
    head.job_id = manifest.job_id;
    head.generation = 1;
    head.cut = 1;
    head.table = table;
    head.range = {0, table == 0 ? 0 : kMaxKey};
    head.row_cells = width + 1;  // A slot that no model has.
    head.blocks = 1;
    head.rows = 1;
    auto writer = PartWriter::Create(&folder, head);
    ASSERT_THAT(writer, IsOk());
    std::vector<float> cells(width + 1, 0.25f);
    cells.back() = 77;
    const Key mixed = ToMixedKey(plan.tables[table], table == 0 ? 0 : key);
    ASSERT_THAT((*writer)->AddBlock(0, {mixed}, cells), IsOk());
    const auto file = (*writer)->Finish();
    ASSERT_THAT(file, IsOk());
    manifest.parts.push_back({table, 0, head.range, 1, {*file}});
  }
  ASSERT_THAT(CheckpointFolder(&folder).Write(manifest), IsOk());
}

TEST(ModelTransferTest, ACheckpointGivesItsWeights) {
  const TempFolder folder;
  WriteCheckpoint(PlanOf(1, true), folder.Path("c"), 4711);
  const JobPlan plan = PlanOf(7, true);
  MemoryPartitions partitions;
  ASSERT_THAT(LoadRows(plan, folder.Path("c"), &partitions, Watch), IsOk());
  Table weights;
  for (const auto& [place, rows] : partitions.tables) {
    if (place.first == 1) weights.insert(rows.begin(), rows.end());
  }
  EXPECT_EQ(weights, (Table{{4711, {0.25f, 0.25f}}}));
  EXPECT_THAT(
      LoadRows(PlanOf(1, true, 3), folder.Path("c"), &partitions, Watch),
      StatusIs(kInvalid,
               AllOf(HasSubstr("g1-c1.checkpoint"), HasSubstr("width"))));
  EXPECT_THAT(
      LoadRows(plan, folder.Path("."), &partitions, Watch),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no checkpoint")));
}

TEST(ModelTransferTest, TheModelDoesNotDependOnPartitionsOrScramble) {
  const TempFolder folder;
  std::string digest;
  for (uint32_t partitions : {1, 7, 64}) {
    for (bool scramble : {false, true}) {
      SCOPED_TRACE(absl::StrCat(partitions, scramble ? " scrambled" : ""));
      const JobPlan plan = PlanOf(partitions, scramble);
      MemoryPartitions rows;
      Fill(plan, 1000, &rows);
      const std::string now = DigestOf(plan, folder.Path("model"), &rows);
      if (digest.empty()) digest = now;
      EXPECT_EQ(now, digest);
    }
  }
  EXPECT_THAT(digest, HasSubstr("sha256:"));
}

TEST(ModelTransferTest, ReadsOnePartitionAfterTheOtherWhereItCan) {
  const TempFolder folder;
  const JobPlan plan = PlanOf(16, /*scramble=*/false);
  MemoryPartitions rows;
  Fill(plan, 200, &rows);
  std::vector<double> fractions;
  auto writer = ExportRows(plan, folder.Path("model"), &rows, [&](double f) {
    fractions.push_back(f);
    EXPECT_THAT(rows.reading, Le(1));
    return absl::OkStatus();
  });
  ASSERT_THAT(writer, IsOk());
  EXPECT_EQ(fractions.size(), 17u);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_EQ(fractions.back(), 1);
}

TEST(ModelTransferTest, WhatIsNotFinishedLeavesNothing) {
  const TempFolder folder;
  const JobPlan plan = PlanOf(4, false);
  MemoryPartitions rows;
  Fill(plan, 100, &rows);
  ASSERT_THAT(ExportRows(plan, folder.Path("model"), &rows, Watch), IsOk());
  EXPECT_THAT(folder.Names(), IsEmpty());
  EXPECT_THAT(ExportRows(plan, folder.Path("model"), &rows,
                         [](double) { return absl::CancelledError("stop"); }),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(ModelTransferTest, AModelSaysHowToPredictWithIt) {
  const TempFolder folder;
  const JobPlan plan = PlanOf(4, false);
  MemoryPartitions rows;
  DigestOf(plan, folder.Path("model"), &rows);
  const auto model = LoadModel(folder.Path("model"));
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->metadata.model.kind, plan.spec.model.kind);
  EXPECT_EQ(model->metadata.model.classes, plan.spec.model.classes);
  EXPECT_EQ(model->metadata.labels, plan.labels);
  EXPECT_EQ(model->metadata.job_id, "id");
}

TEST(ModelTransferTest, LoadingPutsEveryRowWhereItBelongs) {
  const TempFolder folder;
  const JobPlan from = PlanOf(3, false);
  MemoryPartitions saved;
  Fill(from, 1000, &saved);
  const std::string digest = DigestOf(from, folder.Path("model"), &saved);
  for (bool scramble : {false, true}) {
    const JobPlan plan = PlanOf(11, scramble);
    MemoryPartitions loaded;
    double last = 0;
    ASSERT_THAT(LoadRows(plan, folder.Path("model"), &loaded,
                         [&](double f) {
                           last = f;
                           return absl::OkStatus();
                         }),
                IsOk());
    EXPECT_GT(last, 0.5);
    for (const PartitionPlacement& placement : plan.partitions) {
      const TableSpec& table = plan.tables[placement.table];
      for (const auto& [key, values] :
           loaded.tables[{placement.table, placement.partition}]) {
        ASSERT_TRUE(placement.range.Contains(ToMixedKey(table, key)));
      }
    }
    EXPECT_EQ(DigestOf(plan, folder.Path("again"), &loaded), digest);
  }
}

TEST(ModelTransferTest, RefusesModelsOfAnotherShape) {
  const TempFolder folder;
  const JobPlan from = PlanOf(3, false, /*width=*/3);
  MemoryPartitions rows;
  Fill(from, 10, &rows);
  DigestOf(from, folder.Path("model"), &rows);
  EXPECT_THAT(
      LoadRows(PlanOf(3, false, 2), folder.Path("model"), &rows, Watch),
      StatusIs(kInvalid,
               AllOf(HasSubstr(folder.Path("model")), HasSubstr("table 'bias'"),
                     HasSubstr("width 3"), HasSubstr("width 2"))));
  JobPlan without_bias = from;
  without_bias.tables.erase(without_bias.tables.begin());
  EXPECT_THAT(LoadRows(without_bias, folder.Path("model"), &rows, Watch),
              StatusIs(kInvalid, HasSubstr("no table 'bias'")));
  JobPlan with_more = from;
  with_more.tables.push_back(from.tables[1]);
  with_more.tables.back().name = "zz";
  EXPECT_THAT(LoadRows(with_more, folder.Path("model"), &rows, Watch),
              StatusIs(kInvalid, HasSubstr("no table 'zz'")));
  EXPECT_THAT(LoadRows(from, folder.Path("nothing"), &rows, Watch),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(LoadRows(from, folder.Write("text", "no model, but some text"),
                       &rows, Watch),
              StatusIs(kInvalid));
}

TEST(ModelTransferTest, ErrorsOfPartitionsEndTheLoad) {
  const TempFolder folder;
  const JobPlan plan = PlanOf(3, false);
  MemoryPartitions rows;
  Fill(plan, 10, &rows);
  DigestOf(plan, folder.Path("model"), &rows);
  rows.write_error = absl::UnavailableError("gone");
  EXPECT_THAT(LoadRows(plan, folder.Path("model"), &rows, Watch),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace seraph
