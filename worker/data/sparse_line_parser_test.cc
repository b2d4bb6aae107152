#include "worker/data/sparse_line_parser.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecordRules Libsvm() { return {.format = DataFormat::kLibsvm}; }
RecordRules Libffm() { return {.format = DataFormat::kLibffm}; }

RecordBlock ParseOk(const RecordRules& rules, absl::string_view line) {
  RecordBlock block;
  EXPECT_THAT(SparseLineParser(rules).Parse(line, &block), IsOkAndHolds(true))
      << line;
  return block;
}

absl::Status ParseError(const RecordRules& rules, absl::string_view line) {
  RecordBlock block;
  const absl::Status status =
      SparseLineParser(rules).Parse(line, &block).status();
  EXPECT_THAT(block.records.row_starts, ElementsAre(0)) << line;
  EXPECT_THAT(block.records.labels, IsEmpty()) << line;
  return status;
}

struct Line {
  std::string name;
  std::string line;
  double label;
  std::vector<Key> keys;
  std::vector<float> values;
};

class LibsvmLines : public ::testing::TestWithParam<Line> {};

TEST_P(LibsvmLines, AreRead) {
  const Line& want = GetParam();
  const Batch records = ParseOk(Libsvm(), want.line).records;
  EXPECT_THAT(records.labels, ElementsAre(want.label));
  EXPECT_EQ(records.keys, want.keys);
  EXPECT_EQ(records.values, want.values);
  EXPECT_THAT(records.row_starts, ElementsAre(0, want.keys.size()));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, LibsvmLines,
    ::testing::Values(
        Line{"Plain", "1 1:0.5 7:-2", 1, {1, 7}, {0.5f, -2}},
        Line{"SignedLabel", "+1 1:1", 1, {1}, {1}},
        Line{"FractionLabel", "-1.0 1:1", -1, {1}, {1}},
        Line{"Exponent",
             "2.5e1 2:1.234567890123456e10",
             25,
             {2},
             {1.234567890123456e10f}},
        Line{"CarriageReturn", "1 3:4\r", 1, {3}, {4}},
        Line{"TrailingBlanks", "1 3:4 \t ", 1, {3}, {4}},
        Line{"TabsAndLeadingBlanks", " 1\t3:4 \t   11:5", 1, {3, 11}, {4, 5}},
        Line{"Comment", "1 3:4 # and 5:6", 1, {3}, {4}},
        Line{"CommentAtOnce", "1 3:4#5:6", 1, {3}, {4}},
        Line{"LabelAlone", "1", 1, {}, {}},
        Line{"LabelAndComment", "1     # all zeros", 1, {}, {}},
        Line{"ExplicitZero", "2 3:0", 2, {3}, {0}},
        Line{"Unsorted",
             "1 5:2.5 2:-5.2 15:1.5",
             1,
             {2, 5, 15},
             {-5.2f, 2.5f, 1.5f}},
        Line{"Repeated", "1 5:1 2:8 5:2 5:4", 1, {2, 5}, {8, 7}},
        Line{"AllOf64Bits",
             "1 18446744073709551615:1 10702345678901234567:2",
             1,
             {10702345678901234567u, 18446744073709551615u},
             {2, 1}},
        Line{"LeadingZeros", "1 00000000000000000000000000012:1", 1, {12}, {1}},
        Line{"TooSmallForFloat", "1 1:1e-60", 1, {1}, {0}}),
    [](const auto& info) { return info.param.name; });

struct BadLine {
  std::string name;
  std::string line;
  std::string reason;
};

class BadLibsvmLines : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLibsvmLines, SayWhy) {
  EXPECT_THAT(ParseError(Libsvm(), GetParam().line),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().reason)));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadLibsvmLines,
    ::testing::Values(
        BadLine{"WordLabel", "python 2:2.5", "label 'python' is not a number"},
        BadLine{"Multilabel", "1,0 2:2.5", "label '1,0' is a list"},
        BadLine{"NoLabel", " 2:3.5 11:26", "label '2:3.5' is not a number"},
        BadLine{"NanLabel", "nan 1:1", "label 'nan' is not finite"},
        BadLine{"HugeLabel", "1e999 1:1", "is too large"},
        BadLine{"NanValue", "1 3:nan", "value 'nan' of index 3 is not finite"},
        BadLine{"InfValue", "1 3:-inf", "is not finite"},
        BadLine{"ValueBeyondFloat", "1 3:1e39", "'1e39' of index 3 is too"},
        BadLine{"WordValue", "1 3:x", "value 'x' of index 3 is not a number"},
        BadLine{"NoValue", "1 3:", "value '' of index 3 is not a number"},
        BadLine{"NoColon", "1 3", "'3' is not index:value"},
        BadLine{"Word", "1 |features", "'|features' is not index:value"},
        BadLine{"NoIndex", "1 :3", "index '' is not a whole number"},
        BadLine{"NegativeIndex", "1 -2:3", "index '-2' is not a whole"},
        BadLine{"FractionIndex", "1 2.5:3", "index '2.5' is not a whole"},
        BadLine{"IndexBeyond64Bits", "1 18446744073709551616:3",
                "index '18446744073709551616' does not fit 64 bits"},
        BadLine{"LongIndex", "1 99999999999999999999999:3",
                "does not fit 64 bits"},
        BadLine{"IndexZero", "1 0:3", "data.options.index_base: 0"},
        BadLine{"LibffmLine", "1 1:2:0.5", "is this data.format: libffm?"},
        BadLine{"BadGroup", "1 qid:x 1:1", "group 'qid:x'"},
        BadLine{"RepeatsOverflow", "1 3:3e38 3:3e38", "more than a float"}),
    [](const auto& info) { return info.param.name; });

TEST(SparseLineParserTest, BlankLinesAndCommentsAreNoRecords) {
  for (const char* line : {"", " ", "\r", " \t\r", "# 1 2:3", "  # x"}) {
    RecordBlock block;
    EXPECT_THAT(SparseLineParser(Libsvm()).Parse(line, &block),
                IsOkAndHolds(false))
        << line;
    EXPECT_EQ(block.records.size(), 0);
  }
}

TEST(SparseLineParserTest, CountsRecordsWithRepeatedIndices) {
  EXPECT_EQ(ParseOk(Libsvm(), "1 5:1 5:1 5:1").repeated_index_records, 1);
  EXPECT_EQ(ParseOk(Libsvm(), "1 5:1 2:1").repeated_index_records, 0);
}

TEST(SparseLineParserTest, KeepsTheGroup) {
  EXPECT_THAT(ParseOk(Libsvm(), "3 qid:12 1:1").records.groups,
              ElementsAre(12));
  EXPECT_THAT(ParseOk(Libsvm(), "3 1:1").records.groups, IsEmpty());
}

TEST(SparseLineParserTest, IndicesFromZeroOnRequest) {
  RecordRules rules = Libsvm();
  rules.options.index_base = 0;
  EXPECT_THAT(ParseOk(rules, "1 0:3 4:5").records.keys, ElementsAre(0, 4));
}

TEST(SparseLineParserTest, DenseTablesCountFromTheBase) {
  RecordRules rules = Libsvm();
  rules.dense_keys = 123;
  EXPECT_THAT(ParseOk(rules, "1 1:1 123:1").records.keys, ElementsAre(0, 122));
  EXPECT_THAT(ParseError(rules, "1 1:1 124:1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.keys: 123")));
  EXPECT_THAT(ParseError(rules, "1 0:1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("options.index_base")));
  rules.options.index_base = 0;
  EXPECT_THAT(ParseOk(rules, "1 0:1 122:1").records.keys, ElementsAre(0, 122));
  EXPECT_THAT(ParseError(rules, "1 123:1"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SparseLineParserTest, WithoutLabelsForPredictionOnly) {
  RecordRules rules = Libsvm();
  rules.labels_optional = true;
  const Batch without = ParseOk(rules, "2:3.5 11:26").records;
  EXPECT_TRUE(std::isnan(without.labels[0]));
  EXPECT_THAT(without.keys, ElementsAre(2, 11));
  EXPECT_THAT(ParseOk(rules, "1 2:3.5").records.labels, ElementsAre(1));
}

TEST(SparseLineParserTest, LibffmKeepsTheFieldAndTellsEntriesApartByIt) {
  const RecordBlock block = ParseOk(Libffm(), "1\t2:9:0.5 0:0:1 7:9:2 2:9:1");
  EXPECT_THAT(block.records.keys, ElementsAre(0, 9, 9));
  EXPECT_THAT(block.records.fields, ElementsAre(0, 2, 7));
  EXPECT_THAT(block.records.values, ElementsAre(1, 1.5f, 2));
  EXPECT_EQ(block.repeated_index_records, 1) << "2:9 twice";
  EXPECT_EQ(ParseOk(Libffm(), "1 2:9:1 7:9:2").repeated_index_records, 0);
}

TEST(SparseLineParserTest, LibffmSaysWhy) {
  const auto has = [](absl::string_view reason) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    HasSubstr(std::string(reason)));
  };
  EXPECT_THAT(ParseError(Libffm(), "1 3:4"), has("'3:4' is not field:index"));
  EXPECT_THAT(ParseError(Libffm(), "1 3"), has("'3' is not field:index:value"));
  EXPECT_THAT(ParseError(Libffm(), "1 x:3:4"), has("field 'x' is not a whole"));
  EXPECT_THAT(ParseError(Libffm(), "1 1:x:4"), has("index 'x' is not a whole"));
  EXPECT_THAT(ParseError(Libffm(), "1 1:2:y"), has("value 'y' of index 2"));
  EXPECT_THAT(ParseError(Libffm(), "1 4294967296:2:1"),
              has("field 4294967296 does not fit 32 bits"));
}

TEST(SparseLineParserTest, AnUnfinishedRowLeavesFinishedOnesAlone) {
  const SparseLineParser parser(Libsvm());
  RecordBlock block;
  ASSERT_THAT(parser.Parse("1 2:3", &block), IsOk());
  EXPECT_THAT(parser.Parse("1 2:3 4:x", &block),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(block.records.size(), 1);
  EXPECT_THAT(block.records.row_starts, ElementsAre(0, 1));
}

}  // namespace
}  // namespace seraph
