#include "common/dataset/stream_reader.h"

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
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
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class StreamReaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> ReadAll(absl::string_view stored,
                                      size_t read_size = 1000) {
    SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<StreamReader> reader,
                            StreamReader::Open(folder_.Write("f.bin", stored)));
    std::string all, buffer(read_size, '\0');
    while (true) {
      SERAPH_ASSIGN_OR_RETURN(const size_t got,
                              reader->Read(buffer.data(), buffer.size()));
      if (got == 0) return all;
      all.append(buffer, 0, got);
    }
  }

  TempFolder folder_;
};

// Larger than every buffer on the way, compressed as well.
std::string LargeText() {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 2000000) absl::StrAppend(&text, random(), "\n");
  return text;
}

TEST_F(StreamReaderTest, KnowsCompressionByContent) {
  const std::string text = "1 1:2\n";
  EXPECT_THAT(ReadAll(text), IsOkAndHolds(text));
  EXPECT_THAT(ReadAll(Gzip(text)), IsOkAndHolds(text));
  EXPECT_THAT(ReadAll(Zstd(text)), IsOkAndHolds(text));
  EXPECT_THAT(ReadAll(""), IsOkAndHolds(""));
  EXPECT_THAT(ReadAll(Gzip("")), IsOkAndHolds(""));
  EXPECT_THAT(ReadAll("\x1f"), IsOkAndHolds("\x1f"));
}

TEST_F(StreamReaderTest, LargeFilesInReadsOfAnySize) {
  const std::string text = LargeText();
  for (const size_t read_size : {1009, 1 << 20}) {
    for (const std::string& stored : {text, Gzip(text), Zstd(text)}) {
      const auto read = ReadAll(stored, read_size);
      ASSERT_THAT(read, IsOk());
      EXPECT_TRUE(*read == text);
    }
  }
}

TEST_F(StreamReaderTest, MembersAndFramesFollowEachOther) {
  EXPECT_THAT(ReadAll(Gzip("a\n") + Gzip("") + Gzip("b\n")),
              IsOkAndHolds("a\nb\n"));
  EXPECT_THAT(ReadAll(Zstd("a\n") + Zstd("") + Zstd("b\n")),
              IsOkAndHolds("a\nb\n"));
  const std::string skippable("\x51\x2a\x4d\x18\x03\0\0\0xyz", 11);
  EXPECT_THAT(ReadAll(skippable + Zstd("a\n")), IsOkAndHolds("a\n"));
  EXPECT_THAT(ReadAll(Gzip("a\n") + std::string(1000, '\0')),
              IsOkAndHolds("a\n"))
      << "padding";
}

TEST_F(StreamReaderTest, AStreamThatEndsEarlyIsNamedWithItsOffset) {
  const std::string text = LargeText();
  for (const std::string& stored : {Gzip(text), Zstd(text)}) {
    for (const size_t size : {stored.size() - 1, stored.size() / 2}) {
      EXPECT_THAT(ReadAll(stored.substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss,
                           AllOf(HasSubstr("f.bin"), HasSubstr("ends early"),
                                 HasSubstr(absl::StrCat("at byte ", size)))));
    }
  }
}

TEST_F(StreamReaderTest, ADamagedStreamIsRefused) {
  const std::string text = LargeText();
  for (std::string stored : {Gzip(text), Zstd(text)}) {
    stored[stored.size() / 2] ^= 0x55;
    EXPECT_THAT(ReadAll(stored),
                StatusIs(absl::StatusCode::kDataLoss,
                         ContainsRegex("f.bin.*(damaged|ends early).* at")));
  }
  EXPECT_THAT(ReadAll(Gzip("a") + "else"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("something else follows")));
}

TEST_F(StreamReaderTest, OtherCompressionsAreRefusedByName) {
  for (const auto& [head, name] :
       {std::pair<std::string, std::string>{"BZh91AY&SY....", "bzip2"},
        {std::string("\xfd"
                     "7zXZ\0....",
                     10),
         "xz"},
        {"PK\x03\x04....", "zip"}}) {
    EXPECT_THAT(ReadAll(head),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("f.bin"), HasSubstr(name))));
  }
  EXPECT_THAT(ReadAll("BZh is a text"), IsOk());
}

TEST_F(StreamReaderTest, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(StreamReader::Open(folder_.Path("gone")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
}

// Random bytes behind a known beginning: an error or some bytes, no crash.
TEST_F(StreamReaderTest, RandomBytesDoNoHarm) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string stored = round % 2 == 0 ? Gzip("1 1:2\n") : Zstd("1 1:2\n");
    for (int i = random() % 4; i >= 0; --i) {
      stored[random() % stored.size()] = static_cast<char>(random());
    }
    stored.resize(random() % (stored.size() + 1));
    ReadAll(stored).IgnoreError();
  }
}

}  // namespace
}  // namespace seraph
