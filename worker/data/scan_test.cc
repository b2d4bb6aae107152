#include "worker/data/scan.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/compress.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::Gzip;
using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::seraph::testing::Zstd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ScanTest : public ::testing::Test {
 protected:
  ScanTest() { spool_ = *Spool::Create(folder_.Path("spool")); }

  InputFile File(absl::string_view name, absl::string_view content) {
    return {*StampFile(folder_.Write(name, content)), {}};
  }

  // The facts of one file, scanned in pieces of `blocks` blocks each.
  absl::StatusOr<DatasetFacts> Scan(const InputFile& file, uint64_t block_bytes,
                                    uint64_t blocks, uint64_t size) {
    std::vector<DatasetFacts> parts;
    const uint64_t piece = block_bytes * blocks;
    for (uint64_t begin = 0; begin < size; begin += piece) {
      auto part = ScanPart({file, 0, begin, begin + piece, block_bytes}, rules_,
                           spool_.get());
      if (!part.ok()) return part.status();
      parts.push_back(*std::move(part));
    }
    return MergeFacts({file}, std::move(parts));
  }

  TempFolder folder_;
  RecordRules rules_;
  std::unique_ptr<Spool> spool_;
};

TEST_F(ScanTest, FindsTheFacts) {
  const InputFile file =
      File("f", "# c\n1 3:1 3:1 7:1\n2 5:0\n\n1\n-0 18446744073709551615:1\n");
  const auto facts = Scan(file, 1000, 1, 1000);
  ASSERT_THAT(facts, IsOk());
  EXPECT_THAT(facts->labels,
              ElementsAre(SeenLabel{1, "", 0, 2}, SeenLabel{2, "", 0, 3},
                          SeenLabel{0, "", 0, 6}));
  EXPECT_EQ(facts->min_key, 3);
  EXPECT_EQ(facts->max_key, 18446744073709551615u);
  EXPECT_EQ(facts->nonzeros, 4);
  EXPECT_EQ(facts->repeated_index_records, 1);
  EXPECT_EQ(facts->lines, 6);
  EXPECT_THAT(facts->blocks,
              ElementsAre(DatasetBlock{0, 0, file.data.size_bytes, 4, 0, 0}));
}

TEST_F(ScanTest, LabelOfABadRecordDoesNotCount) {
  rules_.options.on_bad_record = BadRecordAction::kSkip;
  const auto facts = Scan(File("f", "1 1:1\n7 1:nan\n"), 1000, 1, 1000);
  ASSERT_THAT(facts, IsOk());
  EXPECT_THAT(facts->labels, SizeIs(1));
  EXPECT_EQ(BadRecords(*facts), 1);
  EXPECT_THAT(facts->bad_examples, SizeIs(1));
  EXPECT_EQ(facts->bad_examples[0].line, 2);
}

// However the data is cut into pieces and shared out, the facts are the same.
TEST_F(ScanTest, DoesNotDependOnWhoScannedWhat) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::string content = "\xef\xbb\xbf";
  for (int i = 0; i < 500; ++i) {
    switch (random() % 8) {
      case 0:
        absl::StrAppend(&content, "# comment\n");
        break;
      case 1:
        absl::StrAppend(&content, random() % 9, " 1:x\r\n");
        break;
      default:
        absl::StrAppend(&content, random() % 5, " ", 1 + random() % 50, ":1 ",
                        1 + random() % 50, ":2\n");
    }
  }
  rules_.options.on_bad_record = BadRecordAction::kSkip;
  rules_.validation_fraction = 0.3;
  const InputFile file = File("f", content);
  for (const uint64_t block_bytes : {7, 64, 1000}) {
    const auto whole = Scan(file, block_bytes, content.size(), content.size());
    ASSERT_THAT(whole, IsOk());
    EXPECT_GT(BadRecords(*whole), 10);
    EXPECT_GT(ValidationRecords(*whole), 50);
    for (const uint64_t blocks : {1, 2, 13}) {
      EXPECT_THAT(Scan(file, block_bytes, blocks, content.size()),
                  IsOkAndHolds(*whole));
    }
  }
}

TEST_F(ScanTest, CompressedFilesHaveTheFactsOfPlainOnes) {
  std::string content;
  for (int i = 0; i < 300; ++i) absl::StrAppend(&content, i % 2, " 1:1\n");
  const auto plain = Scan(File("f", content), 100, 100, content.size());
  ASSERT_THAT(plain, IsOk());
  for (const std::string& bytes : {Gzip(content), Zstd(content)}) {
    auto packed = Scan(File("g", bytes), 100, 100, content.size());
    ASSERT_THAT(packed, IsOk());
    packed->files = plain->files;
    EXPECT_EQ(*packed, *plain);
  }
}

TEST_F(ScanTest, ValidationIsAShareDrawnFromPlaceAndSeed) {
  std::string content;
  for (int i = 0; i < 10000; ++i) content += "1 1:1\n";
  const InputFile file = File("f", content);
  const auto validation = [&](double fraction, uint64_t seed) {
    rules_.validation_fraction = fraction;
    rules_.seed = seed;
    return Scan(file, 1000, 100, content.size());
  };
  const auto tenth = validation(0.1, 1);
  EXPECT_NEAR(ValidationRecords(*tenth), 1000, 150);  // 5 deviations.
  EXPECT_EQ(ValidationRecords(*tenth) + TrainRecords(*tenth), 10000);
  EXPECT_THAT(validation(0.1, 1), IsOkAndHolds(*tenth));
  EXPECT_NE(validation(0.1, 2)->blocks, tenth->blocks);
  EXPECT_EQ(ValidationRecords(*validation(0, 1)), 0);
}

TEST_F(ScanTest, ABadRecordStopsItWithFileLineAndReason) {
  const InputFile file = File("f", "1 1:1\n1 0:1\n");
  EXPECT_THAT(Scan(file, 6, 1, 12),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("/f:2: index 0 in '0:1' is below "
                                 "options.index_base: 1")));
}

TEST_F(ScanTest, RefusesTasksThatCutBlocks) {
  const InputFile file = File("f", "1 1:1\n1 1:1\n");
  const auto status = [&](uint64_t begin, uint64_t end, uint64_t block_bytes) {
    return ScanPart({file, 0, begin, end, block_bytes}, rules_, spool_.get())
        .status();
  };
  EXPECT_THAT(status(4, 8, 4), IsOk());
  EXPECT_THAT(status(8, 100, 4), IsOk());
  EXPECT_THAT(status(16, 100, 4), IsOk()) << "behind the end there is nothing";
  EXPECT_THAT(status(3, 8, 4), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(status(4, 7, 4), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(status(0, 8, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ScanTest, AChangedFileIsRefused) {
  const InputFile file = File("f", "1 1:1\n");
  File("f", "1 1:1\n1 1:1\n");
  EXPECT_THAT(Scan(file, 100, 1, 100),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ScanTest, AnEmptyFileHasNoFacts) {
  const auto part =
      ScanPart({File("f", ""), 0, 0, 100, 100}, rules_, spool_.get());
  ASSERT_THAT(part, IsOk());
  EXPECT_EQ(*part, DatasetFacts());
}

}  // namespace
}  // namespace seraph
