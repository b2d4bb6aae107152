#include "common/checkpoint/checkpoint_folder.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/checkpoint/example_checkpoint.h"
#include "common/io/memory_blob_folder.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::ReadPart;
using ::seraph::testing::StatusIs;
using ::seraph::testing::WriteExamplePart;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kJob[] = "job";

// A cut of one partition: whole, or on the base of another manifest.
absl::StatusOr<CheckpointManifest> WriteCut(BlobFolder* folder, uint64_t cut,
                                            const CheckpointManifest* base) {
  CheckpointManifest manifest;
  manifest.job_id = kJob;
  manifest.generation = 1;
  manifest.cut = cut;
  manifest.clocks = {{0, static_cast<uint32_t>(cut)}};
  manifest.tables.resize(1);
  CutPart& part = manifest.parts.emplace_back();
  part.rows = 12;
  if (base != nullptr) part.files = base->parts[0].files;
  PartHead head;
  head.job_id = kJob;
  head.generation = 1;
  head.cut = cut;
  head.base_cut = base == nullptr ? 0 : base->cut;
  head.range = {0, kMaxKey};
  head.row_cells = testing::kExampleRowCells;
  head.blocks = 4;
  head.rows = 12;
  head.clocks = manifest.clocks;
  auto writer = PartWriter::Create(folder, head);
  if (!writer.ok()) return writer.status();
  for (uint64_t number = base == nullptr ? 0 : 3; number < 4; ++number) {
    const PartBlock block = testing::ExampleBlock(number, cut);
    const absl::Status added =
        (*writer)->AddBlock(number, block.keys, block.cells);
    if (!added.ok()) return added;
  }
  auto file = (*writer)->Finish();
  if (!file.ok()) return file.status();
  part.files.push_back(*file);
  const auto written = CheckpointFolder(folder).Write(manifest);
  if (!written.ok()) return written.status();
  return manifest;
}

class CheckpointFolderTest : public ::testing::Test {
 protected:
  CheckpointManifest Cut(uint64_t cut, const CheckpointManifest* base) {
    auto manifest = WriteCut(&folder_, cut, base);
    EXPECT_THAT(manifest, IsOk());
    return *manifest;
  }

  std::vector<std::string> Names() {
    const auto files = folder_.List();
    std::vector<std::string> names;
    for (const BlobInfo& file : *files) names.push_back(file.name);
    return names;
  }

  void Put(const std::string& name) {
    auto writer = folder_.Create(name);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT((*writer)->Append("bytes"), IsOk());
  }

  void Flip(const std::string& name) {
    std::string bytes = folder_.Bytes(name);
    bytes[bytes.size() / 2] ^= 1;
    folder_.Replace(name, bytes);
  }

  MemoryBlobFolder folder_{"/c"};
  CheckpointFolder checkpoints_{&folder_};
};

TEST_F(CheckpointFolderTest, AnEmptyFolderHasNone) {
  EXPECT_THAT(checkpoints_.List(), IsOkAndHolds(IsEmpty()));
  const auto found = checkpoints_.FindNewest(kJob);
  ASSERT_THAT(found, IsOk());
  EXPECT_FALSE(found->file.has_value());
  EXPECT_THAT(found->refused, IsEmpty());
}

TEST_F(CheckpointFolderTest, TheNewestIsFoundAndReadBack) {
  for (uint64_t cut : {9, 10, 2}) Cut(cut, nullptr);
  EXPECT_THAT(checkpoints_.List(),
              IsOkAndHolds(ElementsAre("g1-c10.checkpoint", "g1-c9.checkpoint",
                                       "g1-c2.checkpoint")));
  const auto found = checkpoints_.FindNewest(kJob);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->file, "g1-c10.checkpoint");
  EXPECT_THAT(ReadPart(&folder_, found->manifest, found->manifest.parts[0]),
              IsOk());
}

TEST_F(CheckpointFolderTest, DamagedOnesAreRefusedByNameAndTheOneBeforeIsUsed) {
  const CheckpointManifest one = Cut(1, nullptr);
  Cut(2, nullptr);
  Cut(3, &one);
  Cut(4, nullptr);
  Cut(5, nullptr);
  Flip("g1-c5.checkpoint");
  Flip("g1-c4-t0-p0.part");
  ASSERT_THAT(folder_.Remove("g1-c3-t0-p0.part"), IsOk());
  folder_.Replace("g1-c2-t0-p0.part", folder_.Bytes("g1-c2-t0-p0.part") + "x");
  const auto found = checkpoints_.FindNewest(kJob);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->file, "g1-c1.checkpoint");
  EXPECT_THAT(found->refused,
              ElementsAre(HasSubstr("/c/g1-c5.checkpoint: the manifest is "),
                          HasSubstr("/c/g1-c4-t0-p0.part: is damaged"),
                          HasSubstr("/c/g1-c3-t0-p0.part: is missing"),
                          HasSubstr("/c/g1-c2-t0-p0.part: has ")));
}

TEST_F(CheckpointFolderTest, AnotherJobsManifestIsNotUsed) {
  Cut(1, nullptr);
  const auto found = checkpoints_.FindNewest("jib");
  ASSERT_THAT(found, IsOk());
  EXPECT_FALSE(found->file.has_value());
  EXPECT_THAT(found->refused, ElementsAre(HasSubstr("is of job 'job'")));
  EXPECT_EQ(checkpoints_.FindNewest("")->file, "g1-c1.checkpoint");
}

TEST_F(CheckpointFolderTest, AManifestUnderAnotherNameIsRefused) {
  Cut(1, nullptr);
  ASSERT_THAT(folder_.Rename("g1-c1.checkpoint", "g1-c7.checkpoint"), IsOk());
  EXPECT_THAT(checkpoints_.Read("g1-c7.checkpoint"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("is the manifest of g1-c1")));
}

TEST_F(CheckpointFolderTest, TheSearchEndsWhenItIsTold) {
  Cut(1, nullptr);
  EXPECT_THAT(checkpoints_.FindNewest(
                  kJob, [] { return absl::CancelledError("enough"); }),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(CheckpointFolderTest, AFileLivesAsLongAsAKeptManifestNamesIt) {
  const CheckpointManifest one = Cut(1, nullptr);
  const CheckpointManifest two = Cut(2, &one);
  const CheckpointManifest three = Cut(3, nullptr);
  Cut(4, &three);
  ASSERT_THAT(checkpoints_.Prune(kJob, 3, "g1-c4.checkpoint"), IsOk());
  EXPECT_THAT(Names(), ElementsAre("g1-c1-t0-p0.part", "g1-c2-t0-p0.part",
                                   "g1-c2.checkpoint", "g1-c3-t0-p0.part",
                                   "g1-c3.checkpoint", "g1-c4-t0-p0.part",
                                   "g1-c4.checkpoint"));
  ASSERT_THAT(checkpoints_.Prune(kJob, 1, "g1-c4.checkpoint"), IsOk());
  EXPECT_THAT(Names(), ElementsAre("g1-c3-t0-p0.part", "g1-c4-t0-p0.part",
                                   "g1-c4.checkpoint"));
  EXPECT_EQ(checkpoints_.FindNewest(kJob)->file, "g1-c4.checkpoint");
}

TEST_F(CheckpointFolderTest, TheNewestThatVerifiedStays) {
  for (uint64_t cut : {1, 2, 3, 4}) Cut(cut, nullptr);
  Flip("g1-c3-t0-p0.part");
  Flip("g1-c4-t0-p0.part");
  ASSERT_THAT(checkpoints_.Prune(kJob, 1, "g1-c2.checkpoint"), IsOk());
  EXPECT_EQ(checkpoints_.FindNewest(kJob)->file, "g1-c2.checkpoint");
  EXPECT_THAT(Names(), Contains("g1-c4.checkpoint"));
  EXPECT_THAT(Names(), Not(Contains("g1-c3.checkpoint")));
}

TEST_F(CheckpointFolderTest, LeftoversGoAndForeignFilesStay) {
  Cut(5, nullptr);
  const std::vector<std::string> leftovers = {
      "g1-c4-t0-p0.part", "g1-c4-t0-p0.part.tmp-0", "g1-c3.checkpoint.tmp-1"};
  const std::vector<std::string> others = {"notes.txt",
                                           "g1-c4-t0-p0.part.bak",
                                           "g01-c4-t0-p0.part",
                                           "g1-c6-t0-p0.part",
                                           "g2-c1-t0-p0.part",
                                           "g1-c5-t0-p1.part",
                                           "g1-c6-t0-p0.part.tmp-0"};
  for (const std::string& name : leftovers) Put(name);
  for (const std::string& name : others) Put(name);
  ASSERT_THAT(checkpoints_.Prune(kJob, 3, ""), IsOk());
  for (const std::string& name : leftovers) {
    EXPECT_THAT(Names(), Not(Contains(name)));
  }
  for (const std::string& name : others) EXPECT_THAT(Names(), Contains(name));
}

TEST_F(CheckpointFolderTest, NothingOfAnotherJobIsTouched) {
  for (uint64_t cut : {1, 2, 3}) Cut(cut, nullptr);
  const std::vector<std::string> before = Names();
  EXPECT_THAT(checkpoints_.Prune("jib", 1, ""), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(Names(), before);
}

TEST_F(CheckpointFolderTest, ADamagedManifestCountsForNothing) {
  for (uint64_t cut : {1, 2, 3}) Cut(cut, nullptr);
  Flip("g1-c2.checkpoint");
  ASSERT_THAT(checkpoints_.Prune(kJob, 2, "g1-c3.checkpoint"), IsOk());
  EXPECT_THAT(Names(), ElementsAre("g1-c1-t0-p0.part", "g1-c1.checkpoint",
                                   "g1-c3-t0-p0.part", "g1-c3.checkpoint"));
}

// Cuts are written and pruned; the power goes at some step. Whatever is left,
// the newest cut whose writing returned OK, or a newer one, is found and whole.
TEST(CheckpointFolderCrashTest, WhatWasOnceCompleteIsNeverLost) {
  int crashes = 0;
  int unreported = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    bool finished = false;
    for (uint64_t step = 0; !finished; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step));
      MemoryBlobFolder folder;
      folder.SetFault([&](uint64_t at, absl::string_view, const std::string&) {
        return at < step ? absl::OkStatus() : absl::InternalError("no power");
      });
      uint64_t complete = 0;
      CheckpointManifest last;
      for (uint64_t cut = 1; cut <= 5; ++cut) {
        auto manifest = WriteCut(&folder, cut, cut % 3 == 1 ? nullptr : &last);
        if (!manifest.ok()) break;
        complete = cut;
        last = *manifest;
        if (!CheckpointFolder(&folder)
                 .Prune(kJob, 1, ToString(ManifestName{1, cut}))
                 .ok()) {
          break;
        }
        finished = cut == 5;
      }
      uint64_t draws = 0;
      folder.Crash([&](uint64_t n) {
        return ToBelow(Draw(seed, {step, ++draws}), n);
      });
      folder.SetFault(nullptr);
      const auto found = CheckpointFolder(&folder).FindNewest(kJob);
      ASSERT_THAT(found, IsOk());
      if (complete == 0 && !found->file.has_value()) continue;
      ASSERT_TRUE(found->file.has_value()) << complete;
      ASSERT_GE(found->manifest.cut, complete);
      if (found->manifest.cut > complete) ++unreported;
      ++crashes;
      const auto rows =
          ReadPart(&folder, found->manifest, found->manifest.parts[0]);
      ASSERT_THAT(rows, IsOk());
      EXPECT_EQ(rows->at(300)[0], found->manifest.cut);
    }
  }
  EXPECT_GT(crashes, 500);
  EXPECT_GT(unreported, 0);
}

}  // namespace
}  // namespace seraph
