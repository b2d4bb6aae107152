#include "common/io/blob_folder.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/io/atomic_blob.h"
#include "common/io/memory_blob_folder.h"
#include "common/io/posix_blob_folder.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Status WriteBlob(BlobFolder* folder, const std::string& name,
                       const std::string& bytes) {
  auto blob = AtomicBlob::Create(folder, name);
  if (!blob.ok()) return blob.status();
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const absl::Status status = (*blob)->Append(bytes.substr(i, 3));
    if (!status.ok()) return status;
  }
  return (*blob)->Commit();
}

std::string ReadBlob(BlobFolder* folder, const std::string& name) {
  auto reader = folder->Open(name);
  if (!reader.ok()) return absl::StrCat(reader.status().code());
  std::string bytes;
  EXPECT_THAT((*reader)->Read((*reader)->size() + 1, &bytes), IsOk());
  return bytes;
}

std::vector<std::string> Names(BlobFolder* folder) {
  std::vector<std::string> names;
  const auto files = folder->List();
  EXPECT_THAT(files, IsOk());
  for (const BlobInfo& file : *files) {
    names.push_back(file.name);
  }
  return names;
}

// What both kinds of folders do.
class BlobFolderTest : public ::testing::TestWithParam<bool> {
 protected:
  BlobFolderTest() {
    if (GetParam()) {
      folder_ = std::make_unique<PosixBlobFolder>(temp_.Path("a/b/"));
    } else {
      folder_ = std::make_unique<MemoryBlobFolder>("a/b");
    }
  }

  TempFolder temp_;
  std::unique_ptr<BlobFolder> folder_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, BlobFolderTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Posix" : "Memory";
                         });

TEST_P(BlobFolderTest, AFolderThatIsNotThereHasNoFiles) {
  EXPECT_THAT(Names(folder_.get()), IsEmpty());
  EXPECT_THAT(folder_->Open("x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("a/b/x")));
  EXPECT_THAT(folder_->Remove("x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("a/b/x")));
}

TEST_P(BlobFolderTest, FilesAreMadeReadListedAndRemoved) {
  ASSERT_THAT(WriteBlob(folder_.get(), "two", "22222222"), IsOk());
  ASSERT_THAT(WriteBlob(folder_.get(), "one", "1"), IsOk());
  EXPECT_THAT(*folder_->List(),
              ElementsAre(BlobInfo{"one", 1}, BlobInfo{"two", 8}));
  EXPECT_EQ(ReadBlob(folder_.get(), "two"), "22222222");
  ASSERT_THAT(folder_->Remove("two"), IsOk());
  EXPECT_THAT(Names(folder_.get()), ElementsAre("one"));
}

TEST_P(BlobFolderTest, ANameIsMadeOnce) {
  ASSERT_THAT(folder_->Create("x"), IsOk());
  EXPECT_THAT(folder_->Create("x"), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_P(BlobFolderTest, AnAtomicBlobThatIsGivenUpLeavesNothing) {
  {
    auto blob = AtomicBlob::Create(folder_.get(), "x");
    ASSERT_THAT(blob, IsOk());
    ASSERT_THAT((*blob)->Append("abc"), IsOk());
    EXPECT_THAT(Names(folder_.get()), ElementsAre("x.tmp-0"));
  }
  EXPECT_THAT(Names(folder_.get()), IsEmpty());
}

TEST_P(BlobFolderTest, WhatAKilledWriterLeftIsInNobodysWay) {
  ASSERT_THAT(folder_->Create("x.tmp-0"), IsOk());
  ASSERT_THAT(WriteBlob(folder_.get(), "x", "new"), IsOk());
  EXPECT_EQ(ReadBlob(folder_.get(), "x"), "new");
  EXPECT_THAT(Names(folder_.get()), ElementsAre("x", "x.tmp-0"));
}

TEST(AtomicBlobTest, TemporaryNamesAreKnown) {
  EXPECT_EQ(TemporaryFor("g1-c2.checkpoint.tmp-17"), "g1-c2.checkpoint");
  for (const char* name : {"x", ".tmp-1", "x.tmp-", "x.tmp-1a", "x.tmp"}) {
    EXPECT_EQ(TemporaryFor(name), "") << name;
  }
}

TEST(AtomicBlobTest, APowerCutAtAnyStepLeavesTheOldOrTheNewOneWhole) {
  int news = 0;
  int olds = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    bool finished = false;
    for (uint64_t step = 0; !finished; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step));
      MemoryBlobFolder folder;
      ASSERT_THAT(WriteBlob(&folder, "x", "old one"), IsOk());
      const uint64_t stop = folder.steps() + step;
      folder.SetFault([&](uint64_t at, absl::string_view, const std::string&) {
        return at < stop ? absl::OkStatus() : absl::InternalError("no power");
      });
      finished = WriteBlob(&folder, "x", "the new one").ok();
      uint64_t draws = 0;
      folder.Crash([&](uint64_t n) {
        return ToBelow(Draw(seed, {step, ++draws}), n);
      });
      folder.SetFault(nullptr);
      const std::string bytes = ReadBlob(&folder, "x");
      if (finished) {
        EXPECT_EQ(bytes, "the new one") << "OK means durable";
      } else {
        EXPECT_THAT(bytes, AnyOf("old one", "the new one"));
        ++(bytes == "old one" ? olds : news);
      }
    }
  }
  EXPECT_GT(olds, 100);
  EXPECT_GT(news, 0) << "no rename outlived its crash: the test says little";
}

TEST(AtomicBlobTest, AnErrorAtAnyStepLeavesNoHalfFileAndIsNamed) {
  bool finished = false;
  uint64_t step = 0;
  for (; !finished; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    MemoryBlobFolder folder("/disk");
    folder.SetFault(
        [&](uint64_t at, absl::string_view what, const std::string& name) {
          if (at != step) return absl::OkStatus();
          return absl::ResourceExhaustedError(
              absl::StrCat("cannot ", what, " '/disk/", name, "'"));
        });
    const absl::Status status = WriteBlob(&folder, "x", "some bytes");
    finished = status.ok();
    if (finished) break;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 HasSubstr("/disk/")));
    EXPECT_THAT(Names(&folder), IsEmpty());
  }
  EXPECT_GT(step, 5) << "the fault never came: this test says nothing";
}

TEST(MemoryBlobFolderTest, AWriterOfBeforeACrashIsOfNoUse) {
  MemoryBlobFolder folder;
  auto writer = folder.Create("x");
  ASSERT_THAT(writer, IsOk());
  folder.Crash([](uint64_t n) { return n - 1; });
  EXPECT_THAT((*writer)->Append("a"), StatusIs(absl::StatusCode::kInternal));
}

TEST(PosixBlobFolderTest, AFullDiskIsNamedAndNoHalfFileStays) {
  TempFolder temp;
  const std::string mount_point = temp.Path("full");
  ASSERT_EQ(mkdir(mount_point.c_str(), 0755), 0);
  if (mount("none", mount_point.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "a full disk needs the right to mount a tmpfs";
  }
  PosixBlobFolder folder(mount_point);
  const absl::Status status =
      WriteBlob(&folder, "part", std::string(1 << 17, 'x'));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr(mount_point + "/part")));
  EXPECT_THAT(Names(&folder), IsEmpty());
  EXPECT_THAT(WriteBlob(&folder, "part", "room again"), IsOk());
  EXPECT_EQ(umount(mount_point.c_str()), 0);
}

TEST(PosixBlobFolderTest, AFolderThatCannotBeMadeIsNamed) {
  TempFolder temp;
  temp.Write("file", "");
  PosixBlobFolder folder(temp.Path("file/below"));
  EXPECT_FALSE(folder.Create("x").ok());
  EXPECT_THAT(std::string(folder.Create("x").status().message()),
              HasSubstr("file"));
}

}  // namespace
}  // namespace seraph
