#include "client/local/daemon_paths.h"

#include <filesystem>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;

std::string Program(const TempFolder& folder, const std::string& name) {
  const std::string path = folder.Write(name, "#!/bin/sh\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(FindDaemonsTest, WhereBazelPutsThem) {
  const TempFolder folder;
  const DaemonPaths want = {Program(folder, "bin/scheduler/seraph-scheduler"),
                            Program(folder, "bin/server/seraph-server"),
                            Program(folder, "bin/worker/seraph-worker")};
  Program(folder, "path/seraph-server");
  EXPECT_THAT(
      FindDaemons(folder.Path("bin/client/seraphctl"), folder.Path("path")),
      IsOkAndHolds(Eq(want)));
}

TEST(FindDaemonsTest, BesideTheCommandLineThenOnThePath) {
  const TempFolder folder;
  Program(folder, "one/seraph-scheduler");
  const DaemonPaths want = {Program(folder, "bin/seraph-scheduler"),
                            Program(folder, "one/seraph-server"),
                            Program(folder, "two/seraph-worker")};
  Program(folder, "two/seraph-server");
  EXPECT_THAT(FindDaemons(folder.Path("bin/seraphctl"),
                          folder.Path("one") + "::" + folder.Path("two")),
              IsOkAndHolds(Eq(want)));
}

TEST(FindDaemonsTest, SaysWhatIsMissingWhereItLookedAndWhatToDo) {
  const TempFolder folder;
  Program(folder, "bin/seraph-scheduler");
  Program(folder, "bin/seraph-worker");
  folder.Write("bin/seraph-server", "not executable");
  EXPECT_THAT(FindDaemons(folder.Path("bin/seraphctl"), ""),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("seraph-server"),
                             HasSubstr(folder.Path("bin/seraph-server")),
                             HasSubstr("bazel build //server:seraph-server"))));
}

TEST(SelfPathTest, IsThisProgram) {
  EXPECT_THAT(SelfPath(), IsOkAndHolds(HasSubstr("daemon_paths_test")));
}

}  // namespace
}  // namespace seraph
