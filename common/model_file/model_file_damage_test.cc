// What a reader says of files that are not as they were written.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/model_file/loaded_model.h"
#include "common/model_file/model_file_writer.h"
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
using ::testing::HasSubstr;

// A section of a file, found without the reader's code.
struct Section {
  std::string tag;
  size_t offset = 0;
  std::string payload;

  std::string Encode(size_t at) const {
    std::string bytes = tag;
    AppendLittleEndian<uint64_t>(payload.size(), &bytes);
    const uint64_t checksum = SectionChecksum(at, bytes, payload);
    bytes += payload;
    AppendLittleEndian(checksum, &bytes);
    return bytes;
  }
};

class ModelFileDamageTest : public ::testing::Test {
 protected:
  ModelFileDamageTest() {
    ModelMetadata metadata;
    metadata.labels.task = TaskKind::kBinary;
    auto writer = *ModelFileWriter::Create(dir_.Path("model"), metadata);
    EXPECT_THAT(writer->BeginTable({"bias", TableKind::kDense, 1, 1}), IsOk());
    EXPECT_THAT(writer->AddRows({0}, {0.5f}), IsOk());
    EXPECT_THAT(writer->EndTable(), IsOk());
    EXPECT_THAT(writer->BeginTable({"weights", TableKind::kSparse, 0, 2}),
                IsOk());
    EXPECT_THAT(writer->AddRows({3, 9}, {1.5f, -2.0f, 0.0f, 1.0f}), IsOk());
    EXPECT_THAT(writer->EndTable(), IsOk());
    EXPECT_THAT(writer->Finish(), IsOk());
    bytes_ = dir_.Read("model");
    for (size_t at = kHeadBytes; at < bytes_.size();) {
      uint64_t length;
      std::memcpy(&length, &bytes_[at + kTagBytes], sizeof(length));
      sections_.push_back({bytes_.substr(at, kTagBytes), at,
                           bytes_.substr(at + kSectionHeadBytes, length)});
      at += kSectionHeadBytes + length + kChecksumBytes;
    }
  }

  absl::Status Load(const std::string& bytes) const {
    return LoadModel(dir_.Write("model", bytes)).status();
  }

  // A file of these sections, with checksums that fit.
  std::string Build(const std::vector<Section>& sections) const {
    std::string bytes = bytes_.substr(0, kHeadBytes);
    for (const Section& section : sections) {
      bytes += section.Encode(bytes.size());
    }
    return bytes;
  }

  static constexpr size_t kHeadBytes = 12;

  const TempFolder dir_;
  std::string bytes_;
  std::vector<Section> sections_;
};

TEST_F(ModelFileDamageTest, TheSampleIsSoundAndHasEverySection) {
  EXPECT_THAT(Load(bytes_), IsOk());
  std::string tags;
  for (const Section& section : sections_) {
    absl::StrAppend(&tags, section.tag, " ");
  }
  EXPECT_EQ(tags, "META TABL ROWS TEND TABL ROWS TEND FOOT ");
  EXPECT_EQ(Build(sections_), bytes_);
}

TEST_F(ModelFileDamageTest, EveryFlippedBitIsFoundAndTheFileNamed) {
  for (size_t at = 0; at < bytes_.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = bytes_;
      bytes[at] ^= 1 << bit;
      const absl::Status status = Load(bytes);
      ASSERT_FALSE(status.ok()) << "byte " << at << " bit " << bit;
      ASSERT_THAT(std::string(status.message()), HasSubstr(dir_.Path("model")));
      ASSERT_EQ(status.code(), at < kHeadBytes
                                   ? absl::StatusCode::kInvalidArgument
                                   : absl::StatusCode::kDataLoss)
          << status;
    }
  }
}

TEST_F(ModelFileDamageTest, AFlippedBitIsFoundInItsSection) {
  for (const Section& section : sections_) {
    std::string bytes = bytes_;
    bytes[section.offset + kSectionHeadBytes] ^= 4;
    EXPECT_THAT(
        Load(bytes),
        StatusIs(absl::StatusCode::kDataLoss,
                 HasSubstr(absl::StrCat("is damaged at byte ", section.offset,
                                        ": the checksum does not fit"))));
  }
}

TEST_F(ModelFileDamageTest, EveryTruncationIsFoundAndTheFileNamed) {
  for (size_t length = 0; length < bytes_.size(); ++length) {
    const absl::Status status = Load(bytes_.substr(0, length));
    ASSERT_FALSE(status.ok()) << length;
    ASSERT_THAT(std::string(status.message()), HasSubstr(dir_.Path("model")));
    if (length < kModelFileMagic.size()) {
      ASSERT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("no Seraph model file")));
    } else {
      ASSERT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   HasSubstr(absl::StrCat(
                                       "ends early, at byte ", length, ","))));
    }
  }
}

TEST_F(ModelFileDamageTest, BytesAfterTheFooterAreFound) {
  EXPECT_THAT(Load(bytes_ + "x"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(absl::StrCat("damaged at byte ", bytes_.size(),
                                              ": bytes come after"))));
}

TEST_F(ModelFileDamageTest, ASectionThatWasMovedIsFound) {
  // The same bytes at another offset: the checksum is of the place too.
  const std::string row = bytes_.substr(
      sections_[2].offset, sections_[3].offset - sections_[2].offset);
  std::string bytes = bytes_;
  bytes.insert(sections_[3].offset, row);
  EXPECT_THAT(Load(bytes),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(absl::StrCat("at byte ", sections_[3].offset,
                                              ": the checksum"))));
}

TEST_F(ModelFileDamageTest, AnotherVersionIsNamed) {
  std::string bytes = bytes_;
  bytes[kModelFileMagic.size()] = 3;
  EXPECT_THAT(Load(bytes), StatusIs(absl::StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("of version 3"),
                                          HasSubstr("reads version 1"))));
}

TEST_F(ModelFileDamageTest, OtherFilesAreNoModelFiles) {
  for (const char* text : {"", "x", "key\tweight\n", "solver_type L2R_LR\n"}) {
    EXPECT_THAT(Load(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("no Seraph model file")));
  }
  EXPECT_THAT(
      LoadModel(dir_.Path("none")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir_.Path("none"))));
  EXPECT_THAT(LoadModel(dir_.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

// Whoever writes wrong files with right checksums is found out as well.
TEST_F(ModelFileDamageTest, WhatTheSectionsSayIsChecked) {
  const auto with = [this](size_t section, auto change) {
    std::vector<Section> sections = sections_;
    change(sections[section].payload);
    return Load(Build(sections));
  };
  const auto without = [this](size_t section) {
    std::vector<Section> sections = sections_;
    sections.erase(sections.begin() + section);
    return Load(Build(sections));
  };
  const auto is = [](const char* what) {
    return StatusIs(absl::StatusCode::kDataLoss, HasSubstr(what));
  };

  EXPECT_THAT(without(0), is("the metadata is not there"));
  EXPECT_THAT(without(1), is("a table or the footer belongs here"));
  EXPECT_THAT(without(2), is("has 0 rows, but its end says 1"));
  EXPECT_THAT(without(3), is("rows or a table's end belong here"));
  EXPECT_THAT(without(7), is("ends early"));

  EXPECT_THAT(with(0, [](std::string& p) { p = "{"; }), is("is no JSON"));
  EXPECT_THAT(with(1, [](std::string& p) { p.resize(5); }), is("too short"));
  EXPECT_THAT(with(1, [](std::string& p) { p[0] = 2; }), is("table type 2"));
  EXPECT_THAT(with(1, [](std::string& p) { p.resize(13); }),
              is("a table's name has 0 bytes"));
  EXPECT_THAT(with(2, [](std::string& p) { p += "x"; }), is("wrong length"));
  EXPECT_THAT(with(2, [](std::string& p) { p = std::string(4, '\0'); }),
              is("wrong length"));
  EXPECT_THAT(with(2, [](std::string& p) { p[4] = 1; }),
              is("key 1 is beyond the last one, 0"));
  EXPECT_THAT(with(3, [](std::string& p) { p[0] = 2; }), is("its end says 2"));
  EXPECT_THAT(with(3, [](std::string& p) { p += "x"; }), is("wrong length"));
  EXPECT_THAT(with(4, [](std::string& p) { p[13] = 'a'; }),
              is("table 'aeights' comes after 'bias'"));
  EXPECT_THAT(with(5, [](std::string& p) { p[4] = 9; }),
              is("key 9 comes after 9"));
  EXPECT_THAT(with(7, [](std::string& p) { p[0] = 3; }),
              is("the footer says 3 in 3"));
  EXPECT_THAT(with(7, [](std::string& p) { p += "x"; }), is("wrong length"));
  EXPECT_THAT(with(5, [](std::string& p) { p.back() ^= 1; }),
              is("the digest of what is there is sha256:"));
}

}  // namespace
}  // namespace seraph
