#include "worker/data/idx_record_reader.h"

#include <cmath>
#include <memory>
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
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Header(std::vector<uint32_t> sizes) {
  std::string header("\0\0\x08", 3);
  header.push_back(static_cast<char>(sizes.size()));
  for (const uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      header.push_back(static_cast<char>(size >> shift));
    }
  }
  return header;
}

// Three images of 2 x 2.
const std::string kImages = Header({3, 2, 2}) + std::string(
                                                    "\0\xff\0\x33"
                                                    "\0\0\0\0"
                                                    "\1\2\3\4",
                                                    12);
const std::string kLabels = Header({3}) + std::string("\5\0\7", 3);

class IdxTest : public ::testing::Test {
 protected:
  IdxTest() { rules_.format = DataFormat::kIdx; }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(absl::string_view images,
                                                     absl::string_view labels) {
    return IdxRecordReader::Make(File("images", images), File("labels", labels),
                                 rules_);
  }

  std::unique_ptr<DataFile> File(absl::string_view name,
                                 absl::string_view content) {
    const std::string path = folder_.Write(name, content);
    return *DataFile::Open(path, path);
  }

  TempFolder folder_;
  RecordRules rules_;
};

TEST_F(IdxTest, PixelsAreKeysAndBlackOnesAreLeftOut) {
  const auto reader = Open(kImages, kLabels);
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ((*reader)->columns(), 4);
  RecordBlock block;
  ASSERT_THAT((*reader)->ReadBlock(0, kImages.size(), &block), IsOk());
  EXPECT_THAT(block.records.labels, ElementsAre(5, 0, 7));
  EXPECT_THAT(block.records.row_starts, ElementsAre(0, 2, 2, 6));
  EXPECT_THAT(block.records.keys, ElementsAre(1, 3, 0, 1, 2, 3));
  EXPECT_EQ(block.records.values[0], 1.0f);
  EXPECT_EQ(block.records.values[1], static_cast<float>(0x33 / 255.0));
  EXPECT_THAT(block.offsets, ElementsAre(16, 20, 24));
  EXPECT_EQ(block.line_count, 3);
}

TEST_F(IdxTest, TheScaleIsAnOption) {
  rules_.options.scale = 2;
  const auto reader = Open(kImages, kLabels);
  ASSERT_THAT(reader, IsOk());
  RecordBlock block;
  ASSERT_THAT((*reader)->ReadBlock(24, 28, &block), IsOk());
  EXPECT_THAT(block.records.values, ElementsAre(2, 4, 6, 8));
}

TEST_F(IdxTest, HoweverItIsCutEachImageIsInOnePiece) {
  const auto reader = Open(kImages, kLabels);
  ASSERT_THAT(reader, IsOk());
  for (uint64_t size = 1; size <= kImages.size() + 1; ++size) {
    std::vector<double> labels;
    std::vector<uint64_t> offsets;
    for (uint64_t begin = 0; begin < kImages.size(); begin += size) {
      RecordBlock block;
      ASSERT_THAT(
          (*reader)->ReadBlock(
              begin, std::min<uint64_t>(begin + size, kImages.size()), &block),
          IsOk());
      for (size_t i = 0; i < block.records.size(); ++i) {
        labels.push_back(block.records.labels[i]);
        offsets.push_back(block.offsets[i]);
        EXPECT_GE(block.offsets[i], begin);
        EXPECT_LT(block.offsets[i], begin + size);
      }
    }
    EXPECT_THAT(labels, ElementsAre(5, 0, 7)) << size;
    EXPECT_THAT(offsets, ElementsAre(16, 20, 24)) << size;
  }
}

TEST_F(IdxTest, FilesThatDoNotFitAreRefused) {
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Open(kImages.substr(0, 25), kLabels),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("images"), HasSubstr("at byte 25"))));
  EXPECT_THAT(Open(kImages + "x", kLabels),
              StatusIs(kBad, HasSubstr("has 29 bytes where its header says")));
  EXPECT_THAT(Open(kImages, Header({2}) + "\1\2"),
              StatusIs(kBad, HasSubstr("has 2 labels for the 3 images")));
  EXPECT_THAT(Open(kImages, kImages),
              StatusIs(kBad, HasSubstr("no file of labels")));
  EXPECT_THAT(Open(kLabels, kLabels),
              StatusIs(kBad, HasSubstr("no file of images")));
  EXPECT_THAT(Open("1 1:1\n", kLabels),
              StatusIs(kBad, HasSubstr("no idx file")));
  rules_.dense_keys = 3;
  EXPECT_THAT(Open(kImages, kLabels), StatusIs(kBad, HasSubstr("model.keys")));
}

TEST_F(IdxTest, WithoutLabelsForPredictionOnly) {
  EXPECT_THAT(IdxRecordReader::Make(File("images", kImages), nullptr, rules_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.options.labels")));
  rules_.labels_optional = true;
  const auto reader =
      IdxRecordReader::Make(File("images", kImages), nullptr, rules_);
  ASSERT_THAT(reader, IsOk());
  RecordBlock block;
  ASSERT_THAT((*reader)->ReadBlock(0, kImages.size(), &block), IsOk());
  EXPECT_TRUE(std::isnan(block.records.labels[2]));
}

}  // namespace
}  // namespace seraph
