#include "common/io/file_reader.h"

#include <memory>
#include <string>

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
using ::testing::Eq;
using ::testing::HasSubstr;

TEST(FileReaderTest, ReadsOnAcrossItsBufferAndStopsAtTheEnd) {
  const TempFolder dir;
  std::string all;
  while (all.size() < 700000) all += std::to_string(all.size()) + " ";
  dir.Write("file", all);
  auto file = FileReader::Open(dir.Path("file"));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ((*file)->size(), all.size());

  std::string part, read;
  for (size_t bytes = 1;; bytes = bytes * 3 + 1) {
    ASSERT_THAT((*file)->Read(bytes, &part), IsOk());
    read += part;
    EXPECT_EQ((*file)->offset(), read.size());
    if (part.size() < bytes) break;
  }
  EXPECT_EQ(read, all);
  ASSERT_THAT((*file)->Read(1, &part), IsOk());
  EXPECT_EQ(part, "");
}

TEST(FileReaderTest, NamesTheFileThatItCannotOpen) {
  const TempFolder dir;
  EXPECT_THAT(
      FileReader::Open(dir.Path("none")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir.Path("none"))));
  EXPECT_THAT(FileReader::Open(dir.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it is a folder")));
}

TEST(ReadWholeFileTest, ReadsUpToItsLimit) {
  const TempFolder dir;
  dir.Write("file", "12345");
  EXPECT_THAT(ReadWholeFile(dir.Path("file"), 5), IsOkAndHolds(Eq("12345")));
  EXPECT_THAT(ReadWholeFile(dir.Path("file"), 4),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("longer than 4 bytes")));
}

}  // namespace
}  // namespace seraph
