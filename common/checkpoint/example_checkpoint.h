// A small checkpoint for tests.
#ifndef SERAPH_COMMON_CHECKPOINT_EXAMPLE_CHECKPOINT_H_
#define SERAPH_COMMON_CHECKPOINT_EXAMPLE_CHECKPOINT_H_

#include <map>
#include <string>
#include <vector>

#include "common/checkpoint/manifest.h"
#include "common/checkpoint/part_reader.h"
#include "common/checkpoint/part_writer.h"
#include "common/io/blob_folder.h"
#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph::testing {

inline constexpr uint32_t kExampleRowCells = 2;

// Block `number` as it is in `cut`: three rows, whose cells tell the cut.
inline PartBlock ExampleBlock(uint64_t number, uint64_t cut) {
  PartBlock block;
  block.number = number;
  for (uint64_t i = 0; i < 3; ++i) {
    block.keys.push_back(100 * number + i);
    block.cells.push_back(static_cast<float>(cut));
    block.cells.push_back(static_cast<float>(1.5 * block.keys.back()));
  }
  return block;
}

// Writes the file of partition `partition` of a job's cut, of 4 blocks; with a
// base only those of `changed`. Two partitions share the keys evenly.
inline CutFile WriteExamplePart(BlobFolder* folder, const std::string& job_id,
                                uint64_t cut, uint64_t base_cut,
                                uint32_t partition,
                                const std::vector<uint64_t>& changed) {
  PartHead head;
  head.job_id = job_id;
  head.generation = 1;
  head.cut = cut;
  head.base_cut = base_cut;
  head.layout = 7;
  head.partition = partition;
  head.range = {0, kMaxKey};
  head.row_cells = kExampleRowCells;
  head.blocks = 4;
  head.rows = 12;
  head.clocks = {{0, static_cast<uint32_t>(cut)}};
  auto writer = PartWriter::Create(folder, head);
  EXPECT_THAT(writer, IsOk());
  for (const uint64_t number : changed) {
    const PartBlock block = ExampleBlock(number, cut);
    EXPECT_THAT((*writer)->AddBlock(number, block.keys, block.cells), IsOk());
  }
  auto file = (*writer)->Finish();
  EXPECT_THAT(file, IsOk());
  return *file;
}

// Two partitions, each a chain: cut 1 whole, cut 2 with two of the blocks.
inline CheckpointManifest WriteExample(BlobFolder* folder,
                                       const std::string& job_id) {
  CheckpointManifest manifest;
  manifest.job_id = job_id;
  manifest.generation = 1;
  manifest.cut = 2;
  manifest.clocks = {{0, 2}};
  manifest.tables.resize(1);
  for (uint32_t partition = 0; partition < 2; ++partition) {
    CutPart& part = manifest.parts.emplace_back();
    part.partition = partition;
    part.rows = 12;
    part.files = {
        WriteExamplePart(folder, job_id, 1, 0, partition, {0, 1, 2, 3}),
        WriteExamplePart(folder, job_id, 2, 1, partition, {3, 1})};
  }
  return manifest;
}

// All rows of a part, by key.
inline absl::StatusOr<std::map<Key, std::vector<float>>> ReadPart(
    BlobFolder* folder, const CheckpointManifest& manifest,
    const CutPart& part) {
  auto reader = PartReader::Open(folder, manifest, part);
  if (!reader.ok()) return reader.status();
  std::map<Key, std::vector<float>> rows;
  PartBlock block;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&block);
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    for (size_t i = 0; i < block.keys.size(); ++i) {
      const auto cells = block.cells.begin() + i * kExampleRowCells;
      rows[block.keys[i]] = {cells, cells + kExampleRowCells};
    }
  }
}

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_CHECKPOINT_EXAMPLE_CHECKPOINT_H_
