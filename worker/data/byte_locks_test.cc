#include "worker/data/byte_locks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;

class ByteLocksTest : public ::testing::Test {
 protected:
  std::unique_ptr<ByteLocks> Holder() {
    auto locks = ByteLocks::Open(folder_.Path("locks"));
    EXPECT_THAT(locks, IsOk());
    return *std::move(locks);
  }

  TempFolder folder_;
};

TEST_F(ByteLocksTest, OneHoldsExclusivelyManyShared) {
  const auto a = Holder(), b = Holder();
  EXPECT_TRUE(a->TryLock(5));
  EXPECT_FALSE(b->TryLock(5));
  EXPECT_TRUE(b->TryLock(6)) << "another byte";
  a->Unlock(5);
  ASSERT_THAT(a->LockShared(5), IsOk());
  ASSERT_THAT(b->LockShared(5), IsOk());
  EXPECT_FALSE(a->TryLock(5)) << "b has it, too";
  b->Unlock(5);
  EXPECT_TRUE(a->TryLock(5)) << "from shared to exclusive";
}

TEST_F(ByteLocksTest, WaitsForTheHolder) {
  const auto a = Holder(), b = Holder();
  ASSERT_TRUE(a->TryLock(uint64_t{1} << 62));
  std::thread waiter([&b] { EXPECT_THAT(b->Lock(uint64_t{1} << 62), IsOk()); });
  a->Unlock(uint64_t{1} << 62);
  waiter.join();
  EXPECT_FALSE(a->TryLock(uint64_t{1} << 62));
}

TEST_F(ByteLocksTest, WhatAProcessHoldsGoesWithIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto locks = ByteLocks::Open(folder_.Path("locks"));
    ::_exit(locks.ok() && (*locks)->TryLock(5) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Holder()->TryLock(5));
}

TEST_F(ByteLocksTest, AFileThatCannotBeMadeIsAnError) {
  EXPECT_THAT(ByteLocks::Open(folder_.Path("no/folder/locks")),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace seraph
