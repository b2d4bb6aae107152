#include "worker/data/text_record_reader.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

class TextRecordReaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordReader> Open(absl::string_view content,
                                     const RecordRules& rules) {
    const std::string path = folder_.Write("f", content);
    auto file = DataFile::Open(path, path);
    EXPECT_THAT(file, IsOk());
    auto reader = TextRecordReader::Make(*std::move(file), rules);
    EXPECT_THAT(reader, IsOk());
    return *std::move(reader);
  }

  RecordBlock ReadAll(const RecordReader& reader) {
    RecordBlock block;
    EXPECT_THAT(reader.ReadBlock(0, reader.size(), &block), IsOk());
    return block;
  }

  TempFolder folder_;
};

TEST_F(TextRecordReaderTest,
       CarriageReturnsMarksAndBlankLinesMakeNoDifference) {
  const char kClean[] = "1 1:2\n-1\n+1 3:4\n";
  const Batch clean = ReadAll(*Open(kClean, {})).records;
  EXPECT_THAT(clean.labels, ElementsAre(1, -1, 1));
  for (const char* messy :
       {"1 1:2\r\n-1\r\n+1 3:4\r\n",
        "\xef\xbb\xbf"
        "1 1:2\n-1\n+1 3:4\n",
        "1 1:2\n-1\n+1 3:4", "\n\n1 1:2\n \t\n-1\n\r\n+1 3:4\n\n\n",
        "# head\n1 1:2 # x\n-1 \n+1 3:4\t\r\n#tail"}) {
    const Batch batch = ReadAll(*Open(messy, {})).records;
    EXPECT_EQ(batch.labels, clean.labels) << messy;
    EXPECT_EQ(batch.keys, clean.keys) << messy;
    EXPECT_EQ(batch.values, clean.values) << messy;
    EXPECT_EQ(batch.row_starts, clean.row_starts) << messy;
  }
}

TEST_F(TextRecordReaderTest, ABadRecordIsNamedByFileLineAndReason) {
  const auto reader = Open("# c\n1 1:2\n\n1 x\n1 3:4\n", {});
  RecordBlock block;
  for (uint64_t begin : {0, 5, 11}) {
    EXPECT_THAT(reader->ReadBlock(begin, reader->size(), &block),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("/f:4: 'x' is not index:value")));
  }
  EXPECT_THAT(reader->ReadBlock(0, 9, &block), IsOk());
}

TEST_F(TextRecordReaderTest, SkippedRecordsAreReportedAndLeaveNoTrace) {
  RecordRules rules;
  rules.options.on_bad_record = BadRecordAction::kSkip;
  const RecordBlock block =
      ReadAll(*Open("1 1:2\nx\n1 3:4 5:nan\n\n0 3:4\n1 2:", rules));
  EXPECT_THAT(block.records.labels, ElementsAre(1, 0));
  EXPECT_THAT(block.records.keys, ElementsAre(1, 3));
  EXPECT_THAT(block.records.values, ElementsAre(2, 4));
  EXPECT_THAT(block.lines, ElementsAre(0, 4));
  EXPECT_THAT(block.offsets, ElementsAre(0, 21));
  EXPECT_EQ(block.line_count, 6);
  ASSERT_EQ(block.bad.size(), 3);
  EXPECT_EQ(block.bad[0].line, 1);
  EXPECT_EQ(block.bad[1].line, 2);
  EXPECT_EQ(block.bad[2].line, 5);
  EXPECT_THAT(block.bad[1].reason, HasSubstr("is not finite"));
}

TEST_F(TextRecordReaderTest, ATruncatedLastLineIsReadOrRefused) {
  RecordBlock block;
  const auto cut = Open("1 1:2\n1 3:", {});
  EXPECT_THAT(cut->ReadBlock(0, cut->size(), &block),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f:2:")));
}

TEST_F(TextRecordReaderTest, GroupsOfLaterRecordsLeaveEarlierOnesWithout) {
  EXPECT_THAT(ReadAll(*Open("1 1:2\n1 qid:7 1:2\n", {})).records.groups,
              ElementsAre(0, 7));
}

// Whatever stands in a file, it is read or refused; and the same records come
// out however it is cut.
TEST_F(TextRecordReaderTest, RandomBytesDoNoHarm) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string alphabet =
      "0123456789:::::    \n\n\n,,,,\"\"#.-+eE\t\r'naqid";
  for (int round = 0; round < 1000; ++round) {
    std::string content(random() % 300, '\0');
    const bool any_byte = round % 4 == 0;
    for (char& c : content) {
      c = any_byte ? static_cast<char>(random())
                   : alphabet[random() % alphabet.size()];
    }
    RecordRules rules;
    rules.format = static_cast<DataFormat>(random() % 3);
    rules.options.on_bad_record = BadRecordAction::kSkip;
    rules.text_labels = random() % 2 == 0;
    const std::string path = folder_.Write("f", content);
    auto file = DataFile::Open(path, path);
    ASSERT_THAT(file, IsOk());
    const auto reader = TextRecordReader::Make(*std::move(file), rules);
    if (!reader.ok()) continue;  // A csv head that is refused.
    const RecordBlock whole = ReadAll(**reader);
    const uint64_t size = 1 + random() % 40;
    std::vector<double> labels;
    std::vector<uint64_t> offsets;
    uint64_t lines = 0, bad = 0;
    for (uint64_t begin = 0; begin < content.size(); begin += size) {
      RecordBlock block;
      ASSERT_THAT(
          (*reader)->ReadBlock(
              begin, std::min<uint64_t>(begin + size, content.size()), &block),
          IsOk());
      labels.insert(labels.end(), block.records.labels.begin(),
                    block.records.labels.end());
      offsets.insert(offsets.end(), block.offsets.begin(), block.offsets.end());
      lines += block.line_count;
      bad += block.bad.size();
    }
    EXPECT_EQ(labels, whole.records.labels);
    EXPECT_EQ(offsets, whole.offsets);
    EXPECT_EQ(lines, whole.line_count);
    EXPECT_EQ(bad, whole.bad.size());
  }
}

}  // namespace
}  // namespace seraph
