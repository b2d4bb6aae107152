// csv files, read through TextRecordReader.

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/text_record_reader.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CsvTest : public ::testing::Test {
 protected:
  CsvTest() { rules_.format = DataFormat::kCsv; }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(
      absl::string_view content) {
    const std::string path = folder_.Write("f.csv", content);
    auto file = DataFile::Open(path, path);
    EXPECT_THAT(file, IsOk());
    return TextRecordReader::Make(*std::move(file), rules_);
  }

  absl::Status Read(absl::string_view content, RecordBlock* block) {
    auto reader = Open(content);
    if (!reader.ok()) return reader.status();
    return (*reader)->ReadBlock(0, (*reader)->size(), block);
  }

  RecordBlock ReadOk(absl::string_view content) {
    RecordBlock block;
    EXPECT_THAT(Read(content, &block), IsOk()) << content;
    return block;
  }

  void ExpectError(absl::string_view content, absl::string_view reason) {
    RecordBlock block;
    EXPECT_THAT(Read(content, &block),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(reason))))
        << content;
  }

  TempFolder folder_;
  RecordRules rules_;
};

TEST_F(CsvTest, TheLabelIsFirstAndZerosGiveNoEntry) {
  const Batch batch = ReadOk("1,0.5,0,3\n-1,0,2,0\r\n").records;
  EXPECT_THAT(batch.labels, ElementsAre(1, -1));
  EXPECT_THAT(batch.keys, ElementsAre(0, 2, 1));
  EXPECT_THAT(batch.values, ElementsAre(0.5f, 3, 2));
  EXPECT_THAT(batch.row_starts, ElementsAre(0, 2, 3));
}

TEST_F(CsvTest, TheLabelColumnByNumberFromTheEndAndByName) {
  rules_.options.label_column = "-1";
  EXPECT_THAT(ReadOk("5,6,1\n").records.labels, ElementsAre(1));
  rules_.options.label_column = "2";
  EXPECT_THAT(ReadOk("5,6,1,7\n").records.labels, ElementsAre(1));
  rules_.options.label_column = "y";
  const Batch named = ReadOk("a,y,b\n5,6,1\n").records;
  EXPECT_THAT(named.labels, ElementsAre(6));
  EXPECT_THAT(named.keys, ElementsAre(0, 1));
  EXPECT_THAT(named.values, ElementsAre(5, 1));
}

TEST_F(CsvTest, AColumnThatIsNotThereIsNamed) {
  rules_.options.label_column = "3";
  ExpectError("5,6,1\n", "label_column: '3' is not there: the file has 3");
  ExpectError("5;6;1\n", "1 column (is options.delimiter right?)");
  rules_.options.label_column = "-4";
  ExpectError("5,6,1\n", "label_column: '-4' is not there");
  rules_.options.label_column = "z";
  ExpectError("5,6,1\n", "needs a header");
  ExpectError("a,y,b\n5,6,1\n", "is none of the columns 'a', 'y', 'b'");
  ExpectError("a,z,z\n5,6,1\n", "is the name of several columns");
  rules_.options.label_column = "none";
  ExpectError("5,6,1\n", "is for prediction only");
}

TEST_F(CsvTest, HeadersAreSeenOrSaid) {
  rules_.options.label_column = "-1";
  for (const char* content :
       {"a,b\n1,2\n",
        "\xef\xbb\xbf"
        "a,b\n1,2\n",
        "\n \na,b\n1,2\n", "\"a\",\"b\"\n1,2\n", "a,\n1,2\n"}) {
    EXPECT_THAT(ReadOk(content).records.labels, ElementsAre(2)) << content;
  }
  EXPECT_THAT(ReadOk("1,2\n3,4\n").records.labels, ElementsAre(2, 4));

  rules_.options.header = CsvHeader::kYes;
  EXPECT_THAT(ReadOk("1,2\n3,4\n").records.labels, ElementsAre(4));
  rules_.options.header = CsvHeader::kNo;
  ExpectError("a,b\n1,2\n", "f.csv:1: column 0: 'a' is not a number");
}

TEST_F(CsvTest, TextsAloneAreNoHeader) {
  rules_.text_labels = true;
  rules_.options.categorical = {"1"};
  EXPECT_EQ(ReadOk("p,x\ne,s\n").label_texts.size(), 2);
}

TEST_F(CsvTest, HeaderNamesAreKept) {
  rules_.options.label_column = "Species";
  const auto reader = Open("\"Sepal.Length\", Width ,\"Species\"\n5.1,3.5,1\n");
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ((*reader)->columns(), 2);
  EXPECT_THAT((*reader)->column_names(), ElementsAre("Sepal.Length", "Width"));
}

TEST_F(CsvTest, LinesInFrontAreSkippedOnRequest) {
  rules_.options.label_column = "-1";
  rules_.options.skip_lines = 1;
  const RecordBlock block = ReadOk("150,4,setosa\n5.1,3.5,0\n4.9,3.0,1\n");
  EXPECT_THAT(block.records.labels, ElementsAre(0, 1));
  EXPECT_THAT(block.lines, ElementsAre(1, 2));
}

TEST_F(CsvTest, MissingFeaturesAreAbsent) {
  const Batch batch = ReadOk("1,NA,2\n1,,3\n1, ? ,4\n1,-,5\n").records;
  EXPECT_THAT(batch.keys, ElementsAre(1, 1, 1, 1));
  rules_.options.missing = {"-999"};
  EXPECT_THAT(ReadOk("1,-999,2\n").records.keys, ElementsAre(1));
  ExpectError("1,NA,2\n", "'NA' is not a number");
}

TEST_F(CsvTest, AMissingLabelIsABadRecord) {
  ExpectError("1,2\nNA,3\n", "f.csv:2: label 'NA' in column 0 is missing");
  rules_.options.on_bad_record = BadRecordAction::kSkip;
  const RecordBlock block = ReadOk("1,2\nNA,3\n,4\n0,5\n");
  EXPECT_THAT(block.records.labels, ElementsAre(1, 0));
  EXPECT_THAT(block.records.values, ElementsAre(2, 5));
  EXPECT_EQ(block.bad.size(), 2);
}

TEST_F(CsvTest, ATextColumnIsNamed) {
  ExpectError("y,day\n1,14-Mar-14\n",
              "f.csv:2: column 1 ('day'): '14-Mar-14' is not a number "
              "(data.options.columns leaves a column out");
  ExpectError("1,nan\n", "column 1: 'nan' is not finite");
  ExpectError("1,-inf\n", "is not finite");
  ExpectError("1,1e39\n", "is too large");
}

TEST_F(CsvTest, RaggedRowsAreRefused) {
  ExpectError("1,2,3\n1,2\n", "f.csv:2: 2 cells where the first record has 3");
  ExpectError("1,2,3\n1,2,3,4\n", "f.csv:2: 4 cells");
  ExpectError("a,b\n1,2,3\n", "f.csv:2: 3 cells where the header has 2");
  ExpectError("1,2,3\n1,2,3,\n", "f.csv:2: 4 cells");
}

TEST_F(CsvTest, Quotes) {
  rules_.options.categorical = {"1"};
  const auto key = [this](absl::string_view cell) {
    const Batch batch = ReadOk("1," + std::string(cell) + "\n").records;
    EXPECT_EQ(batch.keys.size(), 1) << cell;
    return batch.keys.empty() ? 0 : batch.keys[0];
  };
  EXPECT_EQ(key("\"x\""), key("x"));
  EXPECT_EQ(key(" \"x\" \t"), key("x"));
  EXPECT_NE(key("\" x\""), key("x"));
  EXPECT_NE(key("\"x,y\""), key("\"x;y\""));
  EXPECT_NE(key("'x'"), key("x")) << "single quotes are part of the cell";
  EXPECT_NE(key("\"x\"\"y\""), key("xy"));
  EXPECT_NE(key("\"\"\"\""), key("x"));
  ExpectError("1,\"x\n", "a quote is not closed on its line");
  ExpectError("1,\"x\"y\n", "text follows a closing quote");
  rules_.options.categorical = {};
  EXPECT_THAT(ReadOk("\"1\",\"2.5\"\n").records.values, ElementsAre(2.5f));
}

TEST_F(CsvTest, TextLabelsForClassification) {
  rules_.text_labels = true;
  rules_.options.label_column = "-1";
  const RecordBlock block = ReadOk("1, >50K\n2, <=50K\n");
  EXPECT_THAT(block.label_texts, ElementsAre(">50K", "<=50K"));
  ExpectError("1,\xe9\n", "is not UTF-8");
  rules_.text_labels = false;
  ExpectError("1, >50K\n", "label '>50K' in column 1 is not a number");
}

TEST_F(CsvTest, NumbersBesideTextLabelsHaveEmptyTexts) {
  rules_.text_labels = true;
  EXPECT_THAT(ReadOk("1,1\nx,1\n2,1\n").label_texts, ElementsAre("", "x", ""));
}

TEST_F(CsvTest, CategoriesAreHashed) {
  rules_.options.categorical = {"1", "3"};
  const Batch wide = ReadOk("1,a,7,a\n").records;
  ASSERT_EQ(wide.keys.size(), 3);
  EXPECT_EQ(wide.keys[0], 1) << "the number keeps its place";
  EXPECT_NE(wide.keys[1], wide.keys[2]) << "the same text in another column";
  EXPECT_GE(wide.keys[1], uint64_t{1} << 63);
  EXPECT_EQ(wide.values[1] + wide.values[2], 2);

  rules_.options.hash_bits = 4;
  for (int i = 0; i < 50; ++i) {
    const Batch narrow = ReadOk("1,a" + std::to_string(i) + ",7,NA\n").records;
    ASSERT_EQ(narrow.keys.size(), 2);
    EXPECT_GE(narrow.keys[1], 3);
    EXPECT_LT(narrow.keys[1], 3 + 16);
  }
}

// Models depend on these keys.
TEST_F(CsvTest, TheHashNeverChanges) {
  rules_.options.categorical = {"1"};
  EXPECT_THAT(ReadOk("1,68fd1e64\n").records.keys,
              ElementsAre(9979368751861154608u));
}

TEST_F(CsvTest, FeatureColumnsInTheGivenOrder) {
  rules_.options.columns = {"c", "a"};
  rules_.options.label_column = "y";
  const Batch batch = ReadOk("a,y,b,c\n1,2,x,4\n").records;
  EXPECT_THAT(batch.keys, ElementsAre(0, 1));
  EXPECT_THAT(batch.values, ElementsAre(4, 1));
  rules_.options.columns = {"c", "c"};
  ExpectError("a,y,b,c\n1,2,x,4\n", "columns: 'c' is given twice");
  rules_.options.columns = {"y"};
  ExpectError("a,y,b,c\n1,2,x,4\n", "or is the label");
}

TEST_F(CsvTest, OtherDelimiters) {
  rules_.options.delimiter = '\t';
  const RecordBlock block = ReadOk("1\t2.5\t\t3\n0\t\t\t\n\n");
  EXPECT_THAT(block.records.labels, ElementsAre(1, 0));
  EXPECT_THAT(block.records.keys, ElementsAre(0, 2));
  ExpectError("1\t2\n\t\n", "f.csv:2: label '' in column 0 is missing");
  rules_.options.delimiter = ' ';
  EXPECT_THAT(ReadOk("1 2.5 3\n").records.values, ElementsAre(2.5f, 3));
}

TEST_F(CsvTest, DenseTablesMustHoldEveryColumn) {
  rules_.dense_keys = 2;
  EXPECT_THAT(ReadOk("1,2,3\n").records.keys, ElementsAre(0, 1));
  ExpectError("1,2,3,4\n", "3 feature columns need 3 keys where model.keys is");
  rules_.options.categorical = {"1"};
  ExpectError("1,2,3\n", "needs data.options.hash_bits");
  rules_.options.hash_bits = 3;
  ExpectError("1,2,3\n", "need 10 keys");
}

TEST_F(CsvTest, WithoutLabelsForPredictionOnly) {
  rules_.labels_optional = true;
  EXPECT_TRUE(std::isnan(ReadOk("NA,2\n").records.labels[0]));
  rules_.options.label_column = "none";
  const Batch batch = ReadOk("1,2\n").records;
  EXPECT_TRUE(std::isnan(batch.labels[0]));
  EXPECT_THAT(batch.keys, ElementsAre(0, 1));
  rules_.options.label_column = "y";
  EXPECT_THAT(ReadOk("a,b\n1,2\n").records.keys, ElementsAre(0, 1));
}

TEST_F(CsvTest, AFileWithoutRecordsIsEmpty) {
  for (const char* content : {"", "\n\n", "a,b\n", "a,b"}) {
    const RecordBlock block = ReadOk(content);
    EXPECT_EQ(block.records.size(), 0) << content;
    EXPECT_THAT(block.bad, IsEmpty());
  }
}

}  // namespace
}  // namespace seraph
