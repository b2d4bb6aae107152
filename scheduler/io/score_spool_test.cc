#include "scheduler/io/score_spool.h"

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<ScoreCount> ReadAll(AucRunSource source) {
  std::vector<ScoreCount> all;
  while (true) {
    const auto next = source();
    EXPECT_THAT(next, IsOk());
    if (!next.ok() || !next->has_value()) return all;
    all.push_back(**next);
  }
}

TEST(ScoreSpoolTest, GivesTheRunsBackInOrder) {
  const TempFolder folder;
  ScoreSpool spool(folder.Path("scores"));
  ASSERT_THAT(spool.Append({{0.1, 1, 0}, {0.5, 2, 3}}), IsOk());
  ASSERT_THAT(spool.Append({{0.7, 0, 1}}), IsOk());  // The same run goes on.
  ASSERT_THAT(spool.Append({{0.7, 4, 4}, {0.9, 5, 5}, {0.2, 6, 6}}), IsOk());
  ASSERT_THAT(spool.Finish(), IsOk());
  auto sources = OpenSpool(spool.path());
  ASSERT_THAT(sources, IsOk());
  ASSERT_THAT(*sources, SizeIs(3));
  EXPECT_THAT(ReadAll((*sources)[0]),
              ElementsAre(ScoreCount{0.1, 1, 0}, ScoreCount{0.5, 2, 3},
                          ScoreCount{0.7, 0, 1}));
  EXPECT_THAT(ReadAll((*sources)[1]),
              ElementsAre(ScoreCount{0.7, 4, 4}, ScoreCount{0.9, 5, 5}));
  EXPECT_THAT(ReadAll((*sources)[2]), ElementsAre(ScoreCount{0.2, 6, 6}));
}

// More records than a buffer, read in the interleaved order of a merge.
TEST(ScoreSpoolTest, TheMergeOverFilesIsThatOfTheScoresInMemory) {
  const TempFolder folder;
  std::vector<AucRunSource> sources;
  std::vector<AucRunSource> in_memory;
  for (int rank = 0; rank < 3; ++rank) {
    ScoreSpool spool(folder.Path(std::to_string(rank)));
    for (uint64_t run = 0; run < 4; ++run) {
      AucRun scores;
      for (uint64_t i = 0; i < 3000; ++i) {
        const uint64_t draw = Draw(7, {static_cast<uint64_t>(rank), run, i});
        scores.push_back(
            {static_cast<double>(i) + ToUnit(draw), draw % 3, (draw >> 8) % 3});
      }
      ASSERT_THAT(spool.Append(scores), IsOk());
      in_memory.push_back(SourceOf(std::move(scores)));
    }
    ASSERT_THAT(spool.Finish(), IsOk());
    auto opened = OpenSpool(spool.path());
    ASSERT_THAT(opened, IsOk());
    for (AucRunSource& source : *opened) sources.push_back(std::move(source));
  }
  ASSERT_THAT(sources, SizeIs(12));
  const auto merged = MergeAuc(std::move(sources));
  const auto expected = MergeAuc(std::move(in_memory));
  ASSERT_THAT(merged, IsOk());
  EXPECT_EQ(merged->auc, expected->auc);
  EXPECT_EQ(merged->positives, expected->positives);
  EXPECT_TRUE(merged->auc.has_value());
}

TEST(ScoreSpoolTest, AFileThatIsNotFinishedGoesWithTheSpool) {
  const TempFolder folder;
  {
    ScoreSpool spool(folder.Path("scores"));
    ASSERT_THAT(spool.Append({{0.1, 1, 0}}), IsOk());
    EXPECT_TRUE(std::filesystem::exists(spool.path()));
  }
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(ScoreSpoolTest, NoScoresAreNoRuns) {
  const TempFolder folder;
  ScoreSpool spool(folder.Path("scores"));
  ASSERT_THAT(spool.Finish(), IsOk());
  const auto sources = OpenSpool(spool.path());
  ASSERT_THAT(sources, IsOk());
  EXPECT_THAT(*sources, IsEmpty());
}

TEST(ScoreSpoolTest, RefusesWhatIsNoScoreAndSaysWhereTheDiskFails) {
  const TempFolder folder;
  ScoreSpool spool(folder.Path("scores"));
  EXPECT_THAT(spool.Append({{std::numeric_limits<double>::quiet_NaN(), 1, 0}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ScoreSpool nowhere(folder.Path("missing/scores"));
  EXPECT_THAT(nowhere.Append({{0.5, 1, 0}}).ToString(),
              HasSubstr("missing/scores"));
  // A link, because a spool removes its file.
  std::filesystem::create_symlink("/dev/full", folder.Path("full"));
  ScoreSpool full(folder.Path("full"));
  ASSERT_THAT(full.Append({{0.5, 1, 0}}), IsOk()) << "still in the buffer";
  EXPECT_THAT(full.Finish(), StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr(folder.Path("full"))));
}

TEST(ScoreSpoolTest, RefusesFilesThatAreNone) {
  const TempFolder folder;
  EXPECT_THAT(OpenSpool(folder.Path("none")),
              StatusIs(absl::StatusCode::kNotFound));
  for (const std::string& bytes :
       {std::string(), std::string(7, 'x'), std::string(8, '\xff'),
        std::string(20, '\0')}) {
    EXPECT_THAT(OpenSpool(folder.Write("bad", bytes)),
                StatusIs(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace seraph
