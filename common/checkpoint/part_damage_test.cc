// Whatever happens to the files of a checkpoint: it is refused, by name, or the
// rows are right.
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/checkpoint/example_checkpoint.h"
#include "common/checkpoint/part_format.h"
#include "common/io/memory_blob_folder.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xxhash.h"

namespace seraph {
namespace {

using ::seraph::testing::ExampleBlock;
using ::seraph::testing::IsOk;
using ::seraph::testing::ReadPart;
using ::seraph::testing::StatusIs;
using ::seraph::testing::WriteExample;
using ::seraph::testing::WriteExamplePart;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PartDamageTest : public ::testing::Test {
 protected:
  PartDamageTest() : manifest_(WriteExample(&folder_, "job")) {}

  absl::Status Read(size_t part) {
    return ReadPart(&folder_, manifest_, manifest_.parts[part]).status();
  }

  // Lets the manifest name the file as it is: what is left are the checks of
  // its contents.
  void Fit(CutFile* file) {
    const std::string bytes = folder_.Bytes(file->name);
    file->bytes = bytes.size();
    file->checksum = XXH3_64bits(bytes.data(), bytes.size());
  }

  MemoryBlobFolder folder_{"/c"};
  CheckpointManifest manifest_;
};

TEST_F(PartDamageTest, WholeFilesGiveTheNewestOfEachBlock) {
  std::map<Key, std::vector<float>> expected;
  for (uint64_t number = 0; number < 4; ++number) {
    const PartBlock block = ExampleBlock(number, number % 2 == 1 ? 2 : 1);
    for (size_t i = 0; i < block.keys.size(); ++i) {
      expected[block.keys[i]] = {block.cells[2 * i], block.cells[2 * i + 1]};
    }
  }
  for (const CutPart& part : manifest_.parts) {
    const auto rows = ReadPart(&folder_, manifest_, part);
    ASSERT_THAT(rows, IsOk());
    EXPECT_EQ(*rows, expected);
  }
}

TEST_F(PartDamageTest, EveryTruncationIsRefused) {
  for (CutFile& file : manifest_.parts[0].files) {
    const std::string bytes = folder_.Bytes(file.name);
    const CutFile whole = file;
    for (size_t size = 0; size < bytes.size(); ++size) {
      folder_.Replace(file.name, bytes.substr(0, size));
      EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss,
                                    AllOf(HasSubstr("/c/" + file.name),
                                          HasSubstr("offset"))));
      Fit(&file);
      EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss)) << size;
      file = whole;
    }
    folder_.Replace(file.name, bytes + "x");
    EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
    Fit(&file);
    EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
    file = whole;
    folder_.Replace(file.name, bytes);
  }
  EXPECT_THAT(Read(0), IsOk());
}

TEST_F(PartDamageTest, EveryFlippedBitIsRefusedEvenWithoutTheWholeChecksum) {
  for (CutFile& file : manifest_.parts[0].files) {
    const std::string bytes = folder_.Bytes(file.name);
    const CutFile whole = file;
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] ^= 1 << (at % 8);
      folder_.Replace(file.name, damaged);
      EXPECT_FALSE(Read(0).ok()) << at;
      Fit(&file);
      EXPECT_FALSE(Read(0).ok()) << at;
      file = whole;
    }
    folder_.Replace(file.name, bytes);
  }
  EXPECT_THAT(Read(0), IsOk());
}

TEST_F(PartDamageTest, SwappedPiecesOfEqualLengthAreRefused) {
  // Blocks of one file, and the same block of two partitions.
  CutFile& file = manifest_.parts[0].files[0];
  const std::string bytes = folder_.Bytes(file.name);
  const std::string other = folder_.Bytes(manifest_.parts[1].files[0].name);
  std::vector<size_t> blocks;
  for (size_t at = bytes.find(std::string(kPartBlockTag));
       at != std::string::npos;
       at = bytes.find(std::string(kPartBlockTag), at + 1)) {
    blocks.push_back(at);
  }
  ASSERT_EQ(blocks.size(), 4);
  const size_t length = blocks[1] - blocks[0];
  ASSERT_EQ(blocks[2] - blocks[1], length);
  std::string swapped = bytes;
  swapped.replace(blocks[0], length, bytes, blocks[1], length);
  swapped.replace(blocks[1], length, bytes, blocks[0], length);
  folder_.Replace(file.name, swapped);
  Fit(&file);
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));

  ASSERT_EQ(other.size(), bytes.size());
  std::string mixed = bytes;
  mixed.replace(blocks[2], length, other, blocks[2], length);
  folder_.Replace(file.name, mixed);
  Fit(&file);
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(PartDamageTest, FilesThatChangedPlacesAreRefused) {
  for (const auto& [a, b] : std::vector<std::pair<CutFile*, CutFile*>>{
           {&manifest_.parts[0].files[0], &manifest_.parts[1].files[0]},
           {&manifest_.parts[0].files[1], &manifest_.parts[1].files[1]},
           {&manifest_.parts[0].files[0], &manifest_.parts[0].files[1]}}) {
    const std::string bytes = folder_.Bytes(a->name);
    folder_.Replace(a->name, folder_.Bytes(b->name));
    const CutFile whole = *a;
    EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
    Fit(a);
    EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
    *a = whole;
    folder_.Replace(a->name, bytes);
  }
  EXPECT_THAT(Read(0), IsOk());
}

TEST_F(PartDamageTest, AMissingFileIsNamed) {
  const std::string name = manifest_.parts[0].files[0].name;
  ASSERT_THAT(folder_.Remove(name), IsOk());
  EXPECT_THAT(Read(0),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/c/" + name)));
}

TEST_F(PartDamageTest, FilesOfAnotherJobAreRefused) {
  MemoryBlobFolder other;
  CheckpointManifest foreign = WriteExample(&other, "jab");
  for (CutFile& file : manifest_.parts[0].files) {
    const std::string bytes = folder_.Bytes(file.name);
    folder_.Replace(file.name, other.Bytes(file.name));
    Fit(&file);
    EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss,
                                  HasSubstr("another job ('jab')")));
    folder_.Replace(file.name, bytes);
    Fit(&file);
  }
}

TEST_F(PartDamageTest, AChainWithAGapIsRefused) {
  CutPart& part = manifest_.parts[0];
  const std::vector<CutFile> files = part.files;
  part.files = {files[1]};
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss,
                                HasSubstr("goes on from cut 1")));
  part.files = {files[0]};
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
  part.files = {files[0], files[0], files[1]};
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
  part.files = {files[1], files[0]};
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
  part.files = {};
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(PartDamageTest, AManifestThatSaysSomethingElseIsRefused) {
  const CheckpointManifest right = manifest_;
  manifest_.clocks = {{0, 3}};
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
  manifest_ = right;
  manifest_.generation = 2;
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
  manifest_ = right;
  manifest_.parts[0].rows = 13;
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
  manifest_ = right;
  manifest_.parts[0].range.last -= 1;
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(PartDamageTest, BlocksThatNoFileHasAreMissed) {
  folder_.Remove(manifest_.parts[0].files[0].name).IgnoreError();
  manifest_.parts[0].files[0] =
      WriteExamplePart(&folder_, "job", 1, 0, 0, {0, 1, 3});
  EXPECT_THAT(Read(0), StatusIs(absl::StatusCode::kDataLoss,
                                HasSubstr("3 blocks and 9 rows of 4 and 12")));
}

TEST(PartFormatTest, BlocksComeBackBitForBitPackedOrNot) {
  for (const auto& [random, tried] :
       {std::pair(false, true), {true, true}, {false, false}, {true, false}}) {
    std::vector<Key> keys;
    std::vector<float> cells;
    for (uint64_t i = 0; i < 1000; ++i) {
      keys.push_back(random ? Draw(1, {i}) : i);
      for (uint64_t j = 0; j < 3; ++j) {
        const uint32_t bits = random ? Draw(2, {i, j}) : 0x7fc00001;
        float cell;
        std::memcpy(&cell, &bits, sizeof(cell));
        cells.push_back(cell);
      }
    }
    const std::string payload = EncodePartBlock(5, keys, cells, tried);
    EXPECT_EQ(payload.size() < 10000, tried && !random);
    EXPECT_EQ(IsPacked(payload), tried && !random);
    const auto block = DecodePartBlock(payload, 3);
    ASSERT_THAT(block, IsOk());
    EXPECT_EQ(block->number, 5);
    EXPECT_EQ(block->keys, keys);
    ASSERT_EQ(block->cells.size(), cells.size());
    EXPECT_EQ(std::memcmp(block->cells.data(), cells.data(),
                          cells.size() * sizeof(float)),
              0);
  }
}

}  // namespace
}  // namespace seraph
