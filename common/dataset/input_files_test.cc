#include "common/dataset/input_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
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

// The resolved paths, relative to `folder`.
std::vector<std::string> Resolve(const TempFolder& folder,
                                 const std::vector<std::string>& patterns) {
  const auto files = ResolveInputFiles(folder.path(), patterns);
  EXPECT_THAT(files, IsOk());
  std::vector<std::string> names;
  if (!files.ok()) return names;
  for (const FileStamp& file : *files) {
    names.push_back(file.path.substr(folder.path().size() + 1));
  }
  return names;
}

TEST(ResolveInputFilesTest, FilesFoldersAndGlobsSortedByBytes) {
  TempFolder folder;
  for (const char* name : {"b", "a", "B", "ä", "d/2", "d/10", "d/sub/x",
                           "d/.hidden", "d/_SUCCESS", "d/_logs/y"}) {
    folder.Write(name, "1 1:1\n");
  }
  EXPECT_THAT(Resolve(folder, {"a"}), ElementsAre("a"));
  EXPECT_THAT(Resolve(folder, {"[a-b]", "B", "ä"}),
              ElementsAre("B", "a", "b", "ä"));
  EXPECT_THAT(Resolve(folder, {"d"}), ElementsAre("d/10", "d/2", "d/sub/x"));
  EXPECT_THAT(Resolve(folder, {"d/"}), ElementsAre("d/10", "d/2", "d/sub/x"));
  EXPECT_THAT(Resolve(folder, {"b", "d/1*", "./a", "[ab]", "d/../a"}),
              ElementsAre("a", "b", "d/10"))
      << "each file once";
  EXPECT_THAT(Resolve(folder, {folder.Path("a")}), ElementsAre("a"))
      << "an absolute path stands for itself";
}

TEST(ResolveInputFilesTest, AnExistingNameIsNoGlob) {
  TempFolder folder;
  folder.Write("data[1]", "x");
  folder.Write("data1", "x");
  EXPECT_THAT(Resolve(folder, {"data[1]"}), ElementsAre("data[1]"));
  EXPECT_THAT(Resolve(folder, {"data[12]"}), ElementsAre("data1"));
}

TEST(ResolveInputFilesTest, SaysWhatIsWrong) {
  TempFolder folder;
  folder.Write("a", "x");
  std::filesystem::create_directory(folder.Path("empty"));
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  const auto error = [&folder](std::vector<std::string> patterns) {
    return ResolveInputFiles(folder.path(), patterns).status();
  };
  EXPECT_THAT(error({"a", "gone"}), StatusIs(absl::StatusCode::kNotFound,
                                             HasSubstr(folder.Path("gone"))));
  EXPECT_THAT(error({"*.gz"}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no file matches"), HasSubstr("*.gz"))));
  EXPECT_THAT(error({"empty"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no files")));
  EXPECT_THAT(error({"pipe"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("not a regular file")));
  EXPECT_THAT(error({}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(error({""}), StatusIs(absl::StatusCode::kInvalidArgument));
}

// For root nothing is unreadable: such a process becomes somebody else for the
// duration of the test.
class AsNobody {
 public:
  AsNobody() : was_root_(::geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~AsNobody() {
    if (was_root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  const bool was_root_;
};

TEST(ResolveInputFilesTest, WhatMayNotBeReadIsAnError) {
  TempFolder folder;
  folder.Write("secret", "x");
  folder.Write("closed/a", "x");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.Path("secret").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.Path("closed").c_str(), 0), 0);
  {
    const AsNobody nobody;
    for (const char* name : {"secret", "closed", "closed/*", "closed/a"}) {
      EXPECT_THAT(ResolveInputFiles(folder.path(), {{name}}),
                  StatusIs(absl::StatusCode::kPermissionDenied,
                           HasSubstr(folder.Path(name))));
    }
  }
  ASSERT_EQ(::chmod(folder.Path("closed").c_str(), 0755), 0);
}

TEST(VerifyUnchangedTest, SeesAnotherSizeAndAnotherTime) {
  TempFolder folder;
  const std::string path = folder.Write("a", "1 1:1\n");
  const auto stamp = StampFile(path);
  ASSERT_THAT(stamp, IsOk());
  EXPECT_EQ(stamp->size_bytes, 6);
  EXPECT_THAT(VerifyUnchanged(*stamp), IsOk());

  FileStamp older = *stamp;
  older.modified_ns -= 1;
  EXPECT_THAT(VerifyUnchanged(older),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another time")));

  folder.Write("a", "1 1:1\n0 1:1\n");
  EXPECT_THAT(VerifyUnchanged(*stamp),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it had 6 bytes and has 12")));
  std::filesystem::remove(path);
  EXPECT_THAT(VerifyUnchanged(*stamp), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace seraph
