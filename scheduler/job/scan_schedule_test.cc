#include "scheduler/job/scan_schedule.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

ResolvedFile FileOf(const std::string& path, uint64_t size,
                    bool splittable = true) {
  return {.file = {.data = {path, size, 1}, .labels = {}},
          .splittable = splittable};
}

Node MakeNode(const std::string& name) {
  Node node;
  node.name = name;
  node.incarnation = std::hash<std::string>()(name);
  return node;
}

std::vector<std::pair<uint64_t, uint64_t>> Ranges(
    const std::vector<ScanPiece>& pieces) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const ScanPiece& piece : pieces) {
    ranges.emplace_back(piece.begin, piece.end);
  }
  return ranges;
}

TEST(CutIntoPiecesTest, PiecesAreOfWholeBlocksAndTheLastHasTheRest) {
  EXPECT_THAT(
      Ranges(CutIntoPieces({FileOf("a", 100)}, false, 10, 35)),
      ElementsAre(Pair(0, 30), Pair(30, 60), Pair(60, 90), Pair(90, 0)));
  EXPECT_THAT(Ranges(CutIntoPieces({FileOf("a", 90)}, false, 10, 30)),
              ElementsAre(Pair(0, 30), Pair(30, 60), Pair(60, 0)));
  EXPECT_THAT(Ranges(CutIntoPieces({FileOf("a", 100)}, false, 64, 10)),
              ElementsAre(Pair(0, 64), Pair(64, 0)))
      << "a piece has one block at least";
}

TEST(CutIntoPiecesTest, WhatCannotBeCutIsOnePiece) {
  EXPECT_THAT(
      Ranges(CutIntoPieces({FileOf("a.gz", 1000, false)}, false, 10, 10)),
      ElementsAre(Pair(0, 0)));
  EXPECT_THAT(Ranges(CutIntoPieces({FileOf("empty", 0)}, false, 10, 10)),
              ElementsAre(Pair(0, 0)));
}

TEST(CutIntoPiecesTest, NamesFileAndPart) {
  const auto pieces =
      CutIntoPieces({FileOf("a", 5), FileOf("b", 5)}, true, 10, 10);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].file.data.path, "b");
  EXPECT_EQ(pieces[1].file_index, 1u);
  EXPECT_EQ(pieces[1].block_bytes, 10u);
  EXPECT_TRUE(pieces[1].validation);
}

TEST(ScanScheduleTest, TheLeastBusyWorkerGetsTheNextPiece) {
  ScanSchedule schedule(CutIntoPieces({FileOf("a", 50)}, false, 10, 10),
                        {MakeNode("w1"), MakeNode("w2")}, /*in_flight=*/2);
  std::vector<std::string> names;
  std::vector<ScanSchedule::Next> taken;
  while (auto next = schedule.TakeNext()) {
    names.push_back(next->worker.name);
    taken.push_back(*next);
  }
  EXPECT_THAT(names, ElementsAre("w1", "w2", "w1", "w2"));
  schedule.Finish(taken[1].piece, taken[1].worker, {});
  const auto next = schedule.TakeNext();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->worker.name, "w2");
  EXPECT_FALSE(schedule.TakeNext().has_value());
}

TEST(ScanScheduleTest, KeepsTheOrderOfThePiecesAndTellsPartsApart) {
  std::vector<ScanPiece> pieces =
      CutIntoPieces({FileOf("a", 30)}, false, 10, 10);
  for (ScanPiece& piece : CutIntoPieces({FileOf("v", 20)}, true, 10, 10)) {
    pieces.push_back(piece);
  }
  ScanSchedule schedule(std::move(pieces), {MakeNode("w")}, 9);
  std::vector<ScanSchedule::Next> taken;
  while (auto next = schedule.TakeNext()) taken.push_back(*next);
  ASSERT_EQ(taken.size(), 5u);
  for (int i : {4, 2, 0, 3, 1}) {
    EXPECT_FALSE(schedule.done());
    DatasetFacts facts;
    facts.lines = 100 + i;
    schedule.Finish(taken[i].piece, taken[i].worker, facts);
    if (i == 2) {
      EXPECT_DOUBLE_EQ(schedule.fraction(), 0.4);
    }
  }
  EXPECT_TRUE(schedule.done());
  EXPECT_DOUBLE_EQ(schedule.fraction(), 1);
  std::vector<uint64_t> lines;
  for (const DatasetFacts& part : schedule.TakeParts(false)) {
    lines.push_back(part.lines);
  }
  EXPECT_THAT(lines, ElementsAre(100, 101, 102));
  lines.clear();
  for (const DatasetFacts& part : schedule.TakeParts(true)) {
    lines.push_back(part.lines);
  }
  EXPECT_THAT(lines, ElementsAre(103, 104));
}

}  // namespace
}  // namespace seraph
