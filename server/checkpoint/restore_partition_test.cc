#include "server/checkpoint/restore_partition.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/checkpoint_model.h"
#include "common/io/memory_blob_folder.h"
#include "common/io/posix_blob_folder.h"
#include "common/model_file/model_metadata.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/checkpoint/part_chain.h"
#include "server/store/make_row_store.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Key kKeys = 24000;
constexpr double kEta = 0.05;

// The partitions of a table as servers hold them, with the model of what is in
// them: all rows in one store.
class Partitions {
 public:
  struct One {
    KeyRange range;
    std::unique_ptr<RowStore> store;
    LazySums sums;
    PartChain chain;
  };

  Partitions(const TableSpec& table, BlobFolder* folder)
      : table_(table), folder_(folder) {
    const Partitioning partitioning(table);
    for (uint32_t i = 0; i < partitioning.partitions(); ++i) {
      One& one = all_.emplace_back();
      one.range = partitioning.PartitionRange(i);
      one.store = *MakeRowStore(table, one.range);
    }
  }

  // A step of some keys in one partition; `seed` decides which.
  void Push(uint32_t partition, uint64_t seed) {
    One& one = all_[partition];
    std::vector<Key> keys;
    const Key first = ToBelow(Draw(seed, {1}), kKeys / 2);
    for (Key key = first; key < first + kKeys / 3; ++key) {
      const Key mixed = ToMixedKey(table_, key);
      if (Draw(seed, {2, key}) % 3 == 0 && one.range.Contains(mixed)) {
        keys.push_back(mixed);
      }
    }
    std::sort(keys.begin(), keys.end());
    std::vector<float> gradients;
    for (const Key key : keys) {
      for (uint32_t j = 0; j < table_.width; ++j) {
        gradients.push_back(
            static_cast<float>(ToUnit(Draw(seed, {3, key, j})) - 0.5));
      }
    }
    // asp: partitions take entries of different rates in different orders.
    const double eta = kEta * (1 + seed % 3);
    const StepContext step = one.store->rule().NextStep(one.sums, eta);
    one.store->Apply(keys, gradients, step, nullptr);
    one.sums = step.after;
  }

  // A step of the first row of a partition's first block.
  void PushOneRow(uint32_t partition) {
    One& one = all_[partition];
    std::vector<Key> keys;
    std::vector<float> cells;
    one.store->CopyBlock(0, &keys, &cells);
    const StepContext step = one.store->rule().NextStep(one.sums, kEta);
    one.store->Apply({keys[0]}, std::vector<float>(table_.width, 1.f), step,
                     nullptr);
    one.sums = step.after;
  }

  CheckpointManifest Cut(uint64_t cut, uint64_t base) {
    CheckpointManifest manifest;
    manifest.job_id = "job";
    manifest.generation = 1;
    manifest.cut = cut;
    manifest.clocks = {{0, static_cast<uint32_t>(cut)}, {1, 0}};
    manifest.tables = {table_};
    for (uint32_t i = 0; i < all_.size(); ++i) {
      One& one = all_[i];
      PartitionCopy copy;
      copy.partition = i;
      copy.range = one.range;
      copy.cut = CutOf(i);
      for (size_t rank = 0; rank < 2; ++rank) {
        copy.cut.ranks[rank].clock = manifest.clocks[rank];
      }
      CopyRows(one.sums, one.chain.SinceOf(base).version, one.store.get(),
               &copy);
      auto part = one.chain.Write(folder_, {"job", 1, cut}, copy, base);
      EXPECT_THAT(part, IsOk());
      manifest.parts.push_back(*part);
    }
    return manifest;
  }

  PartitionCut CutOf(uint32_t partition) const {
    PartitionCut cut;
    cut.sums = all_[partition].sums;
    cut.ranks.resize(2);
    if (partition == 0) {
      cut.ranks[1].ledger = {{{0, 9}, 0, 77, {0.1, -2}}, {{0, 8}, 0, 70, {}}};
      cut.ranks[1].epoch_ends = {{{0, 9}, 1, 0, {3}}};
    }
    cut.sessions = {{17, 3 + partition}, {100 + partition, 1}};
    cut.skipped_rows = 10 + partition;
    const Key first = all_[partition].range.first;
    cut.sightings = {{first, first + 3}, {1, 7}};
    return cut;
  }

  // What a pull of each original key gives.
  std::vector<float> ReadAll() const {
    std::vector<float> out;
    std::vector<float> row(table_.width);
    for (Key key = 0; key < kKeys; ++key) {
      const Key mixed = ToMixedKey(table_, key);
      for (const One& one : all_) {
        if (!one.range.Contains(mixed)) continue;
        one.store->Read({mixed}, one.sums, absl::MakeSpan(row));
        out.insert(out.end(), row.begin(), row.end());
      }
    }
    return out;
  }

  // Goes back to a cut with so many partitions.
  absl::Status Restore(const CheckpointManifest& manifest, uint32_t partitions,
                       bool bsp) {
    table_.partitions = partitions;
    const Partitioning partitioning(table_);
    all_.clear();
    cuts_.clear();
    for (uint32_t i = 0; i < partitioning.partitions(); ++i) {
      auto restored = RestorePartition(
          folder_, manifest,
          {0, table_, partitioning.PartitionRange(i), i == 0, bsp});
      if (!restored.ok()) return restored.status();
      One& one = all_.emplace_back();
      one.range = partitioning.PartitionRange(i);
      one.store = std::move(restored->store);
      one.sums = restored->cut.sums;
      cuts_.push_back(std::move(restored->cut));
    }
    return absl::OkStatus();
  }

  std::map<Key, std::vector<uint32_t>> AllCells() const {
    std::map<Key, std::vector<uint32_t>> rows;
    std::vector<Key> keys;
    std::vector<float> cells;
    for (const One& one : all_) {
      const size_t row_cells = one.store->rule().row_cells();
      for (size_t block = 0; block < one.store->blocks(); ++block) {
        one.store->CopyBlock(block, &keys, &cells);
        for (size_t i = 0; i < keys.size(); ++i) {
          std::vector<uint32_t>& row = rows[keys[i]];
          row.resize(row_cells);
          std::memcpy(row.data(), cells.data() + i * row_cells,
                      row_cells * sizeof(float));
        }
      }
    }
    return rows;
  }

  size_t count() const { return all_.size(); }
  One& one(size_t i) { return all_[i]; }
  const std::vector<PartitionCut>& cuts() const { return cuts_; }

 private:
  TableSpec table_;
  BlobFolder* const folder_;
  std::vector<One> all_;
  std::vector<PartitionCut> cuts_;  // Of the last restore.
};

TableSpec Table(TableKind kind, OptimizerKind optimizer) {
  return {.name = "w",
          .kind = kind,
          .keys = kind == TableKind::kDense ? kKeys : 0,
          .width = 2,
          .scramble = kind == TableKind::kSparse,
          .partitions = 3,
          .seed = 5,
          .initializer = {.kind = InitializerKind::kUniform, .scale = 0.5},
          .optimizer = {.kind = optimizer,
                        .learning_rate = kEta,
                        .weight_decay = 0.1,
                        .l1 = 1e-3,
                        .l2 = 0.05}};
}

struct Variant {
  TableKind kind;
  OptimizerKind optimizer;
};

class RestorePartitionTest : public ::testing::TestWithParam<Variant> {
 protected:
  RestorePartitionTest()
      : table_(Table(GetParam().kind, GetParam().optimizer)),
        partitions_(table_, &folder_) {}

  // One step of every partition (bsp).
  void Step(uint64_t seed) {
    for (uint32_t i = 0; i < partitions_.count(); ++i) {
      partitions_.Push(i, seed);
    }
  }

  MemoryBlobFolder folder_{"/c"};
  TableSpec table_;
  Partitions partitions_;
};

INSTANTIATE_TEST_SUITE_P(
    Tables, RestorePartitionTest,
    ::testing::Values(Variant{TableKind::kDense, OptimizerKind::kSgd},
                      Variant{TableKind::kDense, OptimizerKind::kAdamw},
                      Variant{TableKind::kSparse, OptimizerKind::kSgd},
                      Variant{TableKind::kSparse, OptimizerKind::kFtrl}));

TEST_P(RestorePartitionTest, AnyPartitionsHaveTheSameBytesAndGoOnTheSame) {
  Partitions reference(table_, &folder_);
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Step(seed);
    for (uint32_t i = 0; i < 3; ++i) reference.Push(i, seed);
  }
  const CheckpointManifest manifest = partitions_.Cut(1, 0);
  const auto cells = reference.AllCells();
  EXPECT_EQ(partitions_.AllCells(), cells) << "a copy changed its store";
  for (const uint32_t count : {3, 1, 2, 7, 3}) {
    SCOPED_TRACE(count);
    ASSERT_THAT(partitions_.Restore(manifest, count, /*bsp=*/true), IsOk());
    EXPECT_EQ(partitions_.AllCells(), cells);
    EXPECT_EQ(partitions_.ReadAll(), reference.ReadAll());
  }
  Step(5);
  Step(6);
  for (const uint64_t seed : {5, 6}) {
    for (uint32_t i = 0; i < 3; ++i) reference.Push(i, seed);
  }
  EXPECT_EQ(partitions_.AllCells(), reference.AllCells());
}

TEST_P(RestorePartitionTest, WhatIsNoRowComesBackOnce) {
  Step(1);
  const CheckpointManifest manifest = partitions_.Cut(1, 0);
  const PartitionCut ledger = partitions_.CutOf(0);
  Sightings all;
  for (uint32_t i = 0; i < 3; ++i) {
    const Sightings some = partitions_.CutOf(i).sightings;
    all.keys.insert(all.keys.end(), some.keys.begin(), some.keys.end());
    all.counts.insert(all.counts.end(), some.counts.begin(), some.counts.end());
  }
  for (const uint32_t count : {1, 2, 3, 5}) {
    SCOPED_TRACE(count);
    ASSERT_THAT(partitions_.Restore(manifest, count, /*bsp=*/true), IsOk());
    uint64_t skipped = 0;
    for (size_t i = 0; i < partitions_.cuts().size(); ++i) {
      const PartitionCut& cut = partitions_.cuts()[i];
      skipped += cut.skipped_rows;
      ASSERT_EQ(cut.ranks.size(), 2);
      for (size_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(cut.ranks[rank].clock, manifest.clocks[rank]);
        EXPECT_EQ(cut.ranks[rank].ledger, i == 0 ? ledger.ranks[rank].ledger
                                                 : std::vector<LedgerRecord>{});
        EXPECT_EQ(cut.ranks[rank].epoch_ends,
                  i == 0 ? ledger.ranks[rank].epoch_ends
                         : std::vector<LedgerRecord>{});
      }
    }
    EXPECT_EQ(skipped, 10 + 11 + 12);
    // Each goes where its key is.
    Sightings sightings;
    for (size_t i = 0; i < partitions_.cuts().size(); ++i) {
      const Sightings& some = partitions_.cuts()[i].sightings;
      ASSERT_EQ(some.keys.size(), some.counts.size());
      for (size_t j = 0; j < some.keys.size(); ++j) {
        EXPECT_TRUE(partitions_.one(i).range.Contains(some.keys[j]));
        sightings.keys.push_back(some.keys[j]);
        sightings.counts.push_back(some.counts[j]);
      }
    }
    EXPECT_EQ(sightings, all);
  }
  ASSERT_THAT(partitions_.Restore(manifest, 1, /*bsp=*/true), IsOk());
  EXPECT_EQ(
      partitions_.cuts()[0].sessions,
      (std::map<uint64_t, uint64_t>{{17, 5}, {100, 1}, {101, 1}, {102, 1}}));
}

TEST_P(RestorePartitionTest, AnIncrementHoldsWhatChangedAndNoMore) {
  CheckpointFolder checkpoints(&folder_);
  for (uint64_t seed = 1; seed <= 6; ++seed) Step(seed);
  CheckpointManifest manifest = partitions_.Cut(1, 0);
  const uint64_t whole = manifest.parts[0].files[0].bytes;
  ASSERT_GT(partitions_.one(0).store->blocks(), 1);
  // A cut that is void: its changes belong to the next one.
  Step(10);
  partitions_.Cut(2, 1);
  partitions_.Push(0, 11);
  manifest = partitions_.Cut(3, 1);
  for (const CutPart& part : manifest.parts) EXPECT_EQ(part.files.size(), 2);
  const auto cells = partitions_.AllCells();
  partitions_.PushOneRow(0);
  manifest = partitions_.Cut(4, 3);
  for (const CutPart& part : manifest.parts) {
    ASSERT_EQ(part.files.size(), 3);
    if (part.partition == 0) {
      EXPECT_LT(part.files[2].bytes, whole);
    } else {
      EXPECT_LT(part.files[2].bytes, 1000) << "nothing has changed";
    }
  }
  EXPECT_NE(partitions_.AllCells(), cells);
  EXPECT_THAT(checkpoints.Verify(manifest), IsOk());
  const auto last = partitions_.AllCells();
  ASSERT_THAT(partitions_.Restore(manifest, 3, /*bsp=*/false), IsOk());
  EXPECT_EQ(partitions_.AllCells(), last);
  // A restored replica has another layout: its first file is whole.
  manifest = partitions_.Cut(5, 4);
  for (const CutPart& part : manifest.parts) EXPECT_EQ(part.files.size(), 1);
}

// Rows leave a block of a sparse store: an increment has what is left of it,
// and the block that they are in now.
TEST_P(RestorePartitionTest, AnIncrementOfABlockThatWasDividedHasEachRowOnce) {
  if (GetParam().kind == TableKind::kDense) return;
  Step(1);
  const RowStore& store = *partitions_.one(0).store;
  std::vector<Key> whole;
  std::vector<float> cells;
  store.CopyBlock(0, &whole, &cells);
  ASSERT_EQ(store.blocks(), 1);
  partitions_.Cut(1, 0);

  for (uint64_t seed = 2; store.blocks() == 1; ++seed) Step(seed);
  std::vector<Key> left;
  store.CopyBlock(0, &left, &cells);
  ASSERT_FALSE(
      std::includes(left.begin(), left.end(), whole.begin(), whole.end()))
      << "no row has left the block";
  const CheckpointManifest manifest = partitions_.Cut(2, 1);
  ASSERT_EQ(manifest.parts[0].files.size(), 2);
  EXPECT_EQ(manifest.parts[0].rows, store.rows());
  EXPECT_THAT(CheckpointFolder(&folder_).Verify(manifest), IsOk());

  const auto last = partitions_.AllCells();
  for (const uint32_t count : {3, 1, 2}) {
    ASSERT_THAT(partitions_.Restore(manifest, count, /*bsp=*/true), IsOk());
    EXPECT_EQ(partitions_.AllCells(), last);
  }
}

TEST_P(RestorePartitionTest, DifferentSumsKeepWhatIsPending) {
  for (uint64_t seed = 1; seed <= 4; ++seed) Step(seed);
  partitions_.Push(0, 5);
  partitions_.Push(1, 6);
  partitions_.Push(1, 7);
  const CheckpointManifest manifest = partitions_.Cut(1, 0);
  const std::vector<float> before = partitions_.ReadAll();
  for (const uint32_t count : {3, 1, 4}) {
    ASSERT_THAT(partitions_.Restore(manifest, count, /*bsp=*/false), IsOk());
    const std::vector<float> after = partitions_.ReadAll();
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < after.size(); ++i) {
      ASSERT_NEAR(after[i], before[i], 1e-6) << count << " " << i;
    }
  }
  const bool has_lazy_terms = GetParam().optimizer != OptimizerKind::kFtrl;
  EXPECT_EQ(
      partitions_.Restore(manifest, 1, /*bsp=*/true).code(),
      has_lazy_terms ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk);
}

TEST_P(RestorePartitionTest, ARepeatedWriteIsOnlyConfirmed) {
  Step(1);
  PartitionCopy copy;
  Partitions::One& one = partitions_.one(0);
  copy.range = one.range;
  copy.cut.ranks.resize(2);
  CopyRows(one.sums, 0, one.store.get(), &copy);
  const auto first = one.chain.Write(&folder_, {"job", 1, 1}, copy, 0);
  ASSERT_THAT(first, IsOk());
  const uint64_t steps = folder_.steps();
  EXPECT_EQ(*one.chain.Write(&folder_, {"job", 1, 1}, copy, 0), *first);
  EXPECT_EQ(folder_.steps(), steps);
}

TEST_P(RestorePartitionTest, ACopyWithoutTheBlocksItNeedsIsRefused) {
  Step(1);
  partitions_.Cut(1, 0);
  PartitionCopy copy;
  Partitions::One& one = partitions_.one(0);
  CopyRows(one.sums, one.chain.SinceOf(1).version, one.store.get(), &copy);
  EXPECT_THAT(one.chain.Write(&folder_, {"job", 1, 2}, copy, 0),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("take a copy of all")));
  EXPECT_THAT(one.chain.Write(&folder_, {"job", 1, 2}, copy, 1), IsOk());
}

TEST_P(RestorePartitionTest, AFullDiskIsNamedAndTheNextCutIsWhole) {
  Step(1);
  partitions_.Cut(1, 0);
  Step(2);
  PartitionCopy copy;
  Partitions::One& one = partitions_.one(0);
  copy.range = one.range;
  copy.cut.ranks.resize(2);
  CopyRows(one.sums, 0, one.store.get(), &copy);
  const size_t files = folder_.List()->size();
  folder_.SetFault([](uint64_t, absl::string_view what, const std::string&) {
    return what == "sync" ? absl::ResourceExhaustedError("'/c/x': disk full")
                          : absl::OkStatus();
  });
  EXPECT_THAT(one.chain.Write(&folder_, {"job", 1, 2}, copy, 1),
              StatusIs(absl::StatusCode::kResourceExhausted));
  folder_.SetFault(nullptr);
  EXPECT_EQ(folder_.List()->size(), files);
  EXPECT_THAT(one.chain.Write(&folder_, {"job", 1, 2}, copy, 1), IsOk());
}

TEST_P(RestorePartitionTest, AManifestThatCannotBeIsRefused) {
  Step(1);
  const CheckpointManifest right = partitions_.Cut(1, 0);
  CheckpointManifest manifest = right;
  manifest.parts.erase(manifest.parts.begin() + 1);
  EXPECT_THAT(partitions_.Restore(manifest, 1, true),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("/c/g1-c1.checkpoint"),
                             HasSubstr("leave keys out"))));
  manifest = right;
  manifest.parts.pop_back();
  EXPECT_THAT(partitions_.Restore(manifest, 3, true),
              StatusIs(absl::StatusCode::kDataLoss));
  manifest = right;
  manifest.parts.push_back(manifest.parts[2]);
  EXPECT_THAT(partitions_.Restore(manifest, 3, true),
              StatusIs(absl::StatusCode::kDataLoss));
  manifest = right;
  manifest.tables[0].optimizer.l2 = 0.06;
  EXPECT_THAT(
      partitions_.Restore(manifest, 3, true),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table 'w'")));
}

// Another job takes the weights alone; they are those that a pull gives.
TEST_P(RestorePartitionTest, AModelOfACheckpointIsWhatAPullGives) {
  const testing::TempFolder temp;
  PosixBlobFolder folder(temp.Path("job"));
  Partitions partitions(table_, &folder);
  for (const uint64_t seed : {1, 2, 3}) {
    for (uint32_t i = 0; i < 3; ++i) partitions.Push(i, seed);
  }
  partitions.Push(1, 4);
  CheckpointManifest manifest = partitions.Cut(1, 0);
  ModelMetadata metadata;
  metadata.labels.task = TaskKind::kBinary;
  metadata.job_name = "first";
  manifest.model = ModelMetadataToJson(metadata);
  ASSERT_THAT(CheckpointFolder(&folder).Write(manifest), IsOk());
  const std::vector<float> pulled = partitions.ReadAll();
  for (const char* path : {"job", "job/g1-c1.checkpoint"}) {
    ASSERT_TRUE(CheckpointModel::IsCheckpoint(temp.Path(path)));
    auto model = CheckpointModel::Open(temp.Path(path));
    ASSERT_THAT(model, IsOk());
    EXPECT_EQ((*model)->metadata().job_name, "first");
    const auto header = (*model)->NextTable();
    ASSERT_THAT(header, IsOk());
    EXPECT_EQ((**header).name, "w");
    std::vector<Key> keys;
    std::vector<float> values;
    size_t rows = 0;
    while (true) {
      const auto more = (*model)->NextRows(&keys, &values);
      ASSERT_THAT(more, IsOk());
      if (!*more) break;
      rows += keys.size();
      ASSERT_EQ(values.size(), keys.size() * table_.width);
      for (size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(std::memcmp(values.data() + i * table_.width,
                              pulled.data() + keys[i] * table_.width,
                              table_.width * sizeof(float)),
                  0);
      }
    }
    EXPECT_EQ(rows, manifest.parts[0].rows + manifest.parts[1].rows +
                        manifest.parts[2].rows);
    EXPECT_GT(rows, 1000);
    EXPECT_EQ((*model)->fraction(), 1.0);
    EXPECT_EQ(*(*model)->NextTable(), std::nullopt);
    EXPECT_THAT((*model)->refused(), ::testing::IsEmpty());
  }
  // A newer one that is no good: the folder's one before is used, and says so.
  temp.Write("job/g1-c2.checkpoint", "damaged");
  const auto older = CheckpointModel::Open(temp.Path("job"));
  ASSERT_THAT(older, IsOk());
  EXPECT_EQ((*older)->path(), temp.Path("job/g1-c1.checkpoint"));
  EXPECT_THAT((*older)->refused(),
              ::testing::ElementsAre(HasSubstr("g1-c2.checkpoint")));
  temp.Write("job/" + manifest.parts[0].files[0].name, "damaged");
  EXPECT_THAT(CheckpointModel::Open(temp.Path("job")),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(manifest.parts[0].files[0].name)));
  EXPECT_THAT(CheckpointModel::Open(temp.Path("job/g1-c1.checkpoint")),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST_P(RestorePartitionTest, DamageIsRefusedByName) {
  Step(1);
  const CheckpointManifest manifest = partitions_.Cut(1, 0);
  const std::string name = manifest.parts[1].files[0].name;
  std::string bytes = folder_.Bytes(name);
  for (uint64_t at = 0; at < 200; ++at) {
    std::string damaged = bytes;
    damaged[ToBelow(Draw(1, {at}), bytes.size())] ^= 4;
    folder_.Replace(name, damaged);
    const absl::Status status = partitions_.Restore(manifest, 1, true);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr("/c/" + name));
  }
}

}  // namespace
}  // namespace seraph
