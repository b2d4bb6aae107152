#include "worker/data/block_lines.h"

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
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class BlockLinesTest : public ::testing::Test {
 protected:
  void Use(absl::string_view content) {
    const std::string path = folder_.Write("f", content);
    auto file = DataFile::Open(path, path);
    ASSERT_THAT(file, IsOk());
    file_ = *std::move(file);
  }

  std::vector<std::pair<uint64_t, std::string>> Lines(uint64_t begin,
                                                      uint64_t end) {
    std::vector<std::pair<uint64_t, std::string>> all;
    auto lines = BlockLines::Read(*file_, begin, end, 1 << 20);
    EXPECT_THAT(lines, IsOk());
    if (!lines.ok()) return all;
    absl::string_view text;
    uint64_t offset;
    while (lines->Next(&text, &offset)) {
      all.emplace_back(offset, std::string(text));
    }
    return all;
  }

  TempFolder folder_;
  std::unique_ptr<DataFile> file_;
};

TEST_F(BlockLinesTest, ALineBelongsToTheRangeInWhichItBegins) {
  Use("ab\n\ncdef\ng");
  EXPECT_THAT(Lines(0, 10), ElementsAre(Pair(0, "ab"), Pair(3, ""),
                                        Pair(4, "cdef"), Pair(9, "g")));
  EXPECT_THAT(Lines(0, 1), ElementsAre(Pair(0, "ab")));
  EXPECT_THAT(Lines(0, 4), ElementsAre(Pair(0, "ab"), Pair(3, "")));
  EXPECT_THAT(Lines(4, 5), ElementsAre(Pair(4, "cdef")));
  EXPECT_THAT(Lines(5, 9), IsEmpty());
  EXPECT_THAT(Lines(5, 10), ElementsAre(Pair(9, "g")));
  EXPECT_THAT(Lines(10, 10), IsEmpty());
}

TEST_F(BlockLinesTest, HoweverTheFileIsCutEachLineIsInOnePiece) {
  Use("\nab\n\n\ncdefghijk\n\nl\nmnop\n\n");
  const auto all = Lines(0, file_->size());
  EXPECT_EQ(all.size(), 9);
  for (uint64_t size = 1; size <= file_->size() + 1; ++size) {
    std::vector<std::pair<uint64_t, std::string>> pieces;
    for (uint64_t begin = 0; begin < file_->size(); begin += size) {
      for (auto& line : Lines(begin, std::min(begin + size, file_->size()))) {
        pieces.push_back(std::move(line));
      }
    }
    EXPECT_EQ(pieces, all) << "pieces of " << size;
  }
}

TEST_F(BlockLinesTest, AnEmptyFileHasNoLines) {
  Use("");
  EXPECT_THAT(Lines(0, 0), IsEmpty());
}

TEST_F(BlockLinesTest, TheByteOrderMarkIsNoPartOfTheFirstLine) {
  Use("\xef\xbb\xbf"
      "1\n\xef\xbb\xbf"
      "2\n");
  EXPECT_THAT(Lines(0, file_->size()),
              ElementsAre(Pair(0, "1"), Pair(5,
                                             "\xef\xbb\xbf"
                                             "2")));
}

TEST_F(BlockLinesTest, ALineThatIsTooLongIsNamed) {
  Use("short\n" + std::string(300000, 'x') + "\nshort\n");
  const auto status = [this](uint64_t begin, uint64_t end, uint64_t limit) {
    return BlockLines::Read(*file_, begin, end, limit).status();
  };
  EXPECT_THAT(status(0, file_->size(), 299999),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("f:2: the line has more than 299999"),
                             HasSubstr("options.max_record_bytes"))));
  EXPECT_THAT(status(0, 10, 299999),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f:2:")));
  EXPECT_THAT(status(0, file_->size(), 300000), IsOk());
  EXPECT_THAT(status(0, 10, 300000), IsOk());
  EXPECT_THAT(status(10, 20, 100), IsOk()) << "the line begins elsewhere";
}

TEST_F(BlockLinesTest, LineNumbersCountFromOne) {
  Use("a\nb\n\nc");
  EXPECT_THAT(LineNumber(*file_, 0), IsOkAndHolds(1));
  EXPECT_THAT(LineNumber(*file_, 2), IsOkAndHolds(2));
  EXPECT_THAT(LineNumber(*file_, 5), IsOkAndHolds(4));
}

}  // namespace
}  // namespace seraph
