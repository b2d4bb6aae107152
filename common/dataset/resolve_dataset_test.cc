#include "common/dataset/resolve_dataset.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/dataset/idx_header.h"
#include "common/testing/compress.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::Gzip;
using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kImages("\0\0\x08\x03\0\0\0\0\0\0\0\x02\0\0\0\x02", 16);
const std::string kLabels("\0\0\x08\x01\0\0\0\0", 8);

class ResolveDatasetTest : public ::testing::Test {
 protected:
  // Each file as "images|labels", relative to the folder.
  std::vector<std::string> Resolve(std::vector<std::string> patterns,
                                   std::vector<std::string> labels) {
    const auto files =
        ResolveDataset(folder_.path(), patterns, DataFormat::kIdx, labels);
    EXPECT_THAT(files, IsOk());
    std::vector<std::string> names;
    if (!files.ok()) return names;
    const size_t cut = folder_.path().size() + 1;
    for (const InputFile& file : *files) {
      names.push_back(absl::StrCat(file.data.path.substr(cut), "|",
                                   file.labels.path.substr(cut)));
    }
    return names;
  }

  absl::Status Error(std::vector<std::string> patterns,
                     std::vector<std::string> labels) {
    return ResolveDataset(folder_.path(), patterns, DataFormat::kIdx, labels)
        .status();
  }

  TempFolder folder_;
};

TEST_F(ResolveDatasetTest, OtherFormatsHaveNoLabelFiles) {
  folder_.Write("images", "1 1:1\n");
  const auto files =
      ResolveDataset(folder_.path(), {"images"}, DataFormat::kLibsvm, {});
  ASSERT_THAT(files, IsOk());
  ASSERT_EQ(files->size(), 1);
  EXPECT_EQ(files->front().labels, FileStamp());
}

TEST_F(ResolveDatasetTest, TheUsualNameBesideTheImages) {
  folder_.Write("train-images-idx3-ubyte.gz", Gzip(kImages));
  folder_.Write("train-labels-idx1-ubyte.gz", Gzip(kLabels));
  EXPECT_THAT(
      Resolve({"train-images-idx3-ubyte.gz"}, {}),
      ElementsAre("train-images-idx3-ubyte.gz|train-labels-idx1-ubyte.gz"));

  folder_.Write("images.idx3", kImages);  // Unpacked, its labels are not.
  folder_.Write("labels.idx1.gz", Gzip(kLabels));
  EXPECT_THAT(Resolve({"images.idx3"}, {}),
              ElementsAre("images.idx3|labels.idx1.gz"));

  folder_.Write("images-folder/t-images-idx3", kImages);
  folder_.Write("images-folder/t-labels-idx1", kLabels);
  EXPECT_THAT(Resolve({"images-folder/t-images-idx3"}, {}),
              ElementsAre("images-folder/t-images-idx3|"
                          "images-folder/t-labels-idx1"))
      << "only the file's name is changed";
}

TEST_F(ResolveDatasetTest, LabelFilesAmongTheFilesPairInOrder) {
  folder_.Write("d/a", kImages);
  folder_.Write("d/b", kLabels);
  folder_.Write("d/c", Gzip(kImages));
  folder_.Write("d/d", Gzip(kLabels));
  EXPECT_THAT(Resolve({"d"}, {}), ElementsAre("d/a|d/b", "d/c|d/d"));
  EXPECT_THAT(Error({"d/a", "d/b", "d/c"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1 label files are among the files for 2 "
                                 "image files (data.options.labels)")));
}

TEST_F(ResolveDatasetTest, NamedLabelFilesComeFirst) {
  folder_.Write("x-images-idx3", kImages);
  folder_.Write("x-labels-idx1", kLabels);
  folder_.Write("other", kLabels);
  EXPECT_THAT(Resolve({"x-images-idx3"}, {"other"}),
              ElementsAre("x-images-idx3|other"));
  EXPECT_THAT(Error({"x-images-idx3"}, {"gone"}),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ResolveDatasetTest, NoLabelsAreAnErrorThatNamesTheOption) {
  folder_.Write("x-images-idx3", kImages);
  folder_.Write("pictures", kImages);
  EXPECT_THAT(Error({"x-images-idx3"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("x-labels-idx1"),
                             HasSubstr("data.options.labels"))));
  EXPECT_THAT(Error({"pictures"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.options.labels")));
}

TEST_F(ResolveDatasetTest, WhatIsNoIdxFileIsNamed) {
  folder_.Write("text", "1 1:1\n");
  EXPECT_THAT(Error({"text"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("text"), HasSubstr("is no idx file"))));
}

TEST(ParseIdxHeaderTest, ReadsAndRefuses) {
  const auto parse = [](absl::string_view head) {
    return ParseIdxHeader(head);
  };
  const auto header = parse(
      absl::string_view("\0\0\x08\x03\0\0\xea\x60\0\0\0\x1c\0\0\0\x1c", 16));
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ(header->dimensions, 3);
  EXPECT_EQ(header->records, 60000);
  EXPECT_EQ(header->width, 784);
  EXPECT_EQ(header->header_bytes, 16);

  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(parse(""), StatusIs(kBad));
  EXPECT_THAT(parse(absl::string_view("\0\1\x08\x01\0\0\0\0", 8)),
              StatusIs(kBad));
  EXPECT_THAT(parse(absl::string_view("\0\0\x0d\x01\0\0\0\0", 8)),
              StatusIs(kBad, HasSubstr("its type is 13")));
  EXPECT_THAT(parse(absl::string_view("\0\0\x08\x03\0\0\0\0", 8)),
              StatusIs(kBad));
  EXPECT_THAT(parse(absl::string_view("\0\0\x08\0\0\0\0\0", 8)),
              StatusIs(kBad));
  std::string huge("\0\0\x08\x04", 4);
  huge.append(16, '\xff');
  EXPECT_THAT(parse(huge), StatusIs(kBad, HasSubstr("more bytes than any")));
  huge.replace(4, 4, 4, '\0');  // No records, of a size that wraps.
  EXPECT_THAT(parse(huge), StatusIs(kBad));
}

}  // namespace
}  // namespace seraph
