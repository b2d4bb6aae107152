#include "common/dataset/dataset_facts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<InputFile> Files(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) files.push_back({{path, 100, 0}, {}});
  return files;
}

DatasetFacts Part(uint32_t file, uint64_t begin, uint64_t end) {
  DatasetFacts part;
  part.blocks = {{file, begin, end, 2, 1, 0}};
  part.lines = 10;
  return part;
}

TEST(MergeFactsTest, CountsLinesAndKeepsFirstOccurrences) {
  DatasetFacts a = Part(0, 0, 50), b = Part(0, 50, 100), c = Part(1, 0, 100);
  a.labels = {{1, "", 0, 3}};
  b.labels = {{2, "", 0, 1}, {1, "", 0, 2}};
  b.bad_examples = {{0, 4, "odd"}};
  c.labels = {{3, "", 1, 5}};
  a.has_keys = c.has_keys = true;
  a.min_key = a.max_key = 7;
  c.min_key = 3;
  c.max_key = 5;
  c.repeated_index_records = 2;

  const auto merged = MergeFacts(Files({"x", "y"}), {c, b, a});
  ASSERT_THAT(merged, IsOk());
  EXPECT_THAT(merged->labels,
              ElementsAre(SeenLabel{1, "", 0, 3}, SeenLabel{2, "", 0, 11},
                          SeenLabel{3, "", 1, 5}));
  EXPECT_THAT(merged->bad_examples, ElementsAre(BadRecord{0, 14, "odd"}));
  EXPECT_EQ(merged->min_key, 3);
  EXPECT_EQ(merged->max_key, 7);
  EXPECT_EQ(merged->lines, 30);
  EXPECT_EQ(TrainRecords(*merged), 6);
  EXPECT_EQ(ValidationRecords(*merged), 3);
  EXPECT_THAT(MergeFacts(Files({"x", "y"}), {a, b, c}), IsOkAndHolds(*merged))
      << "the order of the parts is of no matter";
}

TEST(MergeFactsTest, AnEmptyFileHasNoPart) {
  const auto merged =
      MergeFacts(Files({"empty", "y"}), {DatasetFacts(), Part(1, 0, 100)});
  ASSERT_THAT(merged, IsOk());
  EXPECT_THAT(merged->blocks, SizeIs(1));
}

TEST(MergeFactsTest, RefusesGapsOverlapsAndStrangers) {
  const auto status = [](std::vector<DatasetFacts> parts) {
    return MergeFacts(Files({"x"}), std::move(parts)).status();
  };
  EXPECT_THAT(status({Part(0, 0, 50), Part(0, 50, 100)}), IsOk());
  constexpr auto kInternal = absl::StatusCode::kInternal;
  EXPECT_THAT(status({Part(0, 0, 50), Part(0, 51, 100)}), StatusIs(kInternal));
  EXPECT_THAT(status({Part(0, 0, 50), Part(0, 0, 50)}), StatusIs(kInternal));
  EXPECT_THAT(status({Part(0, 10, 50)}), StatusIs(kInternal));
  EXPECT_THAT(status({Part(1, 0, 50)}), StatusIs(kInternal));
}

TEST(MergeFactsTest, LabelsAreCappedTheSameHoweverTheDataIsCut) {
  constexpr int kLabels = DatasetFacts::kMaxLabels;
  // 1.5 times as many labels as are kept, in three parts, each in the cap; or
  // in one that has reached it.
  std::vector<DatasetFacts> three;
  for (int p = 0; p < 3; ++p) {
    DatasetFacts part = Part(0, p * 10, p * 10 + 10);
    part.lines = kLabels / 2;
    for (int i = 0; i < kLabels / 2; ++i) {
      part.labels.push_back({1.0 * p * kLabels / 2 + i, "", 0, i + 1ul});
    }
    three.push_back(part);
  }
  DatasetFacts one = Part(0, 0, 10);
  one.blocks = {three[0].blocks[0], three[1].blocks[0], three[2].blocks[0]};
  one.lines = kLabels / 2 * 3;
  one.labels_capped = true;
  for (int i = 0; i < kLabels; ++i) {
    one.labels.push_back({1.0 * i, "", 0, i + 1ul});
  }
  const auto from_three = MergeFacts(Files({"x"}), three);
  const auto from_one = MergeFacts(Files({"x"}), {one});
  ASSERT_THAT(from_three, IsOk());
  EXPECT_TRUE(from_three->labels_capped);
  EXPECT_THAT(from_one, IsOkAndHolds(*from_three));
}

TEST(MergeFactsTest, FilesMustHaveTheSameColumns) {
  DatasetFacts a = Part(0, 0, 100), b = Part(1, 0, 100);
  a.columns = 2;
  b.columns = 3;
  EXPECT_THAT(MergeFacts(Files({"x", "y"}), {a, b}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'y' has 3 feature columns where 'x' has 2")));
  b.columns = 2;
  a.column_names = {"age", "pay"};
  b.column_names = {"pay", "age"};
  EXPECT_THAT(MergeFacts(Files({"x", "y"}), {a, b}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'pay' in 'y' and 'age' in 'x'")));
  b.column_names = {};
  const auto merged = MergeFacts(Files({"x", "y"}), {a, b});
  ASSERT_THAT(merged, IsOk()) << "no header stands beside a header";
  EXPECT_THAT(merged->column_names, ElementsAre("age", "pay"));
}

TEST(WarningsTest, BadAndRepeatedRecordsAreSaidOnce) {
  DatasetFacts facts = Part(0, 0, 100);
  facts.files = Files({"x"});
  EXPECT_THAT(Warnings(facts), SizeIs(0));
  facts.blocks[0].bad_records = 12;
  facts.bad_examples = {{0, 4, "odd"}, {0, 9, "even"}};
  facts.repeated_index_records = 82;
  EXPECT_THAT(
      Warnings(facts),
      ElementsAre("skipped 12 bad records: x:4: odd; x:9: even; ...",
                  AllOf(HasSubstr("82 records repeat"), HasSubstr("added"))));
}

}  // namespace
}  // namespace seraph
