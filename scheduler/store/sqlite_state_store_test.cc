#include "scheduler/store/sqlite_state_store.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SqliteStateStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteStateStore> Open() {
    auto store = SqliteStateStore::Open(folder_.path(), "test");
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }

  absl::Status OpenError(const std::string& cluster = "test") {
    return SqliteStateStore::Open(folder_.path(), cluster).status();
  }

  // As another program would.
  void RunSql(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(File().c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  std::string File() const { return folder_.Path("state.sqlite"); }

  TempFolder folder_;
};

TEST_F(SqliteStateStoreTest, WhatWasCommittedIsFoundAgain) {
  const std::string bytes(
      "\0with\xff"
      "any bytes\0",
      16);
  auto store = Open();
  EXPECT_TRUE(store->durable());
  EXPECT_THAT(store->Load(), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store->Commit({{"a", "1"}, {"b", bytes}, {"c", "3"}}), IsOk());
  EXPECT_THAT(store->Commit({}), IsOk());
  // Of two writes to a key the later one holds.
  EXPECT_THAT(store->Commit({{"a", "2"},
                             {"b", std::nullopt},
                             {"b", bytes},
                             {"c", std::nullopt},
                             {"never", std::nullopt},
                             {"empty", ""}}),
              IsOk());
  const StateRecords want = {{"a", "2"}, {"b", bytes}, {"empty", ""}};
  EXPECT_THAT(store->Load(), IsOkAndHolds(want));
  store.reset();
  EXPECT_THAT(Open()->Load(), IsOkAndHolds(want));
}

TEST_F(SqliteStateStoreTest, TheTermRisesWithEveryStart) {
  EXPECT_EQ(Open()->term(), 1);
  EXPECT_EQ(Open()->term(), 2);
  EXPECT_EQ(Open()->term(), 3);
}

TEST_F(SqliteStateStoreTest, ASecondSchedulerIsRefusedWhileTheFirstRuns) {
  auto store = Open();
  EXPECT_THAT(OpenError(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(File()), HasSubstr("another scheduler"),
                             HasSubstr("scheduler.state_directory"))));
  // In another process, which has no lock of ours.
  const pid_t child = fork();
  if (child == 0) {
    _exit(absl::IsFailedPrecondition(OpenError()) ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  // It has done no harm.
  EXPECT_THAT(store->Commit({{"a", "1"}}), IsOk());
  EXPECT_EQ(store->term(), 1);
  store.reset();
  EXPECT_EQ(Open()->term(), 2);
}

TEST_F(SqliteStateStoreTest, ADamagedFileIsRefused) {
  Open();
  std::string bytes = folder_.Read("state.sqlite");
  ASSERT_GE(bytes.size(), 8192);
  bytes.replace(4096, 4096, std::string(4096, '\x5a'));
  folder_.Write("state.sqlite", bytes);
  EXPECT_THAT(OpenError(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(File()), HasSubstr("copy"))));
  folder_.Write("state.sqlite", "no database at all, but long enough to see");
  EXPECT_THAT(OpenError(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(File())));
}

TEST_F(SqliteStateStoreTest, StrangeFilesAreRefused) {
  RunSql("CREATE TABLE t (x)");
  EXPECT_THAT(OpenError(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("another program")));
  std::filesystem::remove(File());
  Open();
  EXPECT_THAT(OpenError("other"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("cluster 'test', not of 'other'")));
  RunSql("PRAGMA user_version = 2");
  EXPECT_THAT(OpenError(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("the form 2")));
  // A refusal changes nothing.
  RunSql("PRAGMA user_version = 1");
  EXPECT_EQ(Open()->term(), 2);
}

TEST_F(SqliteStateStoreTest, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(SqliteStateStore::Open(folder_.Path("none"), "test"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(folder_.Path("none"))));
}

TEST_F(SqliteStateStoreTest, ACommitThatFailsStoresNothing) {
  Open();
  RunSql(
      "CREATE TRIGGER full BEFORE INSERT ON records WHEN NEW.key = 'bad' "
      "BEGIN SELECT RAISE(ABORT, 'no room'); END");
  auto store = Open();
  ASSERT_THAT(store->Commit({{"a", "1"}}), IsOk());
  EXPECT_THAT(store->Commit({{"a", "2"}, {"bad", "2"}, {"c", "2"}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no room")));
  EXPECT_THAT(store->Load(), IsOkAndHolds(StateRecords{{"a", "1"}}));
  EXPECT_THAT(store->Commit({{"a", "3"}}), IsOk());
}

// Everything that was acknowledged is there after kill -9, and every commit is
// there as a whole or not at all.
TEST_F(SqliteStateStoreTest, AKilledProcessLosesNothing) {
  int64_t acknowledged = 0;
  for (int round = 0; round < 3; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = SqliteStateStore::Open(folder_.path(), "test");
      for (int64_t i = acknowledged + 1;; ++i) {
        const std::string value = absl::StrCat(i);
        if (!store.ok() ||
            !(*store)->Commit({{"x", value}, {"y", value}}).ok() ||
            write(ends[1], &i, sizeof(i)) != sizeof(i)) {
          _exit(1);
        }
      }
    }
    close(ends[1]);
    int64_t i = 0;
    for (int n = 0; n < 20; ++n) {
      ASSERT_EQ(read(ends[0], &i, sizeof(i)), sizeof(i));
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (read(ends[0], &i, sizeof(i)) == sizeof(i)) {
    }
    close(ends[0]);
    const auto records = Open()->Load();
    ASSERT_THAT(records, IsOk());
    EXPECT_EQ(records->at("x"), records->at("y"));
    acknowledged = std::stoll(records->at("x"));
    EXPECT_GE(acknowledged, i);
    EXPECT_LE(acknowledged, i + 1);
  }
}

}  // namespace
}  // namespace seraph
