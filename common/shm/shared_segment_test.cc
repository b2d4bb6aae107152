#include "common/shm/shared_segment.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::_;

constexpr uint64_t kBytes = 1 << 20;

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST(SharedSegmentTest, WhatOneWritesTheOtherReads) {
  const size_t before = OpenDescriptors();
  {
    auto mine = SharedSegment::Make(kBytes, 1, 2);
    ASSERT_THAT(mine, IsOk());
    auto theirs = SharedSegment::Open((*mine)->name());
    ASSERT_THAT(theirs, IsOk());
    EXPECT_EQ((*theirs)->bytes(), kBytes);
    std::strcpy((*mine)->data() + SharedSegment::kHeadBytes, "there");
    EXPECT_STREQ((*theirs)->data() + SharedSegment::kHeadBytes, "there");
    std::strcpy((*theirs)->data() + kBytes - 5, "back");
    EXPECT_STREQ((*mine)->data() + kBytes - 5, "back");
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

// A killed process leaves nothing, and takes nothing from who has opened it.
TEST(SharedSegmentTest, ItOutlivesItsMakerForThePeerAlone) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto made = SharedSegment::Make(kBytes, 1, 2);
    if (!made.ok()) _exit(1);
    std::strcpy((*made)->data() + 200, "last words");
    const SegmentName name = (*made)->name();
    if (write(pipe_fds[1], &name, sizeof(name)) != sizeof(name)) _exit(1);
    pause();
    _exit(0);
  }
  SegmentName name;
  ASSERT_EQ(read(pipe_fds[0], &name, sizeof(name)), sizeof(name));
  auto opened = SharedSegment::Open(name);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_THAT(opened, IsOk());
  EXPECT_STREQ((*opened)->data() + 200, "last words");
  EXPECT_THAT(SharedSegment::Open(name),
              StatusIs(absl::StatusCode::kUnavailable, _));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(SharedSegmentTest, AnotherOneThanNamedIsRefused) {
  auto made = SharedSegment::Make(kBytes, 1, 2);
  ASSERT_THAT(made, IsOk());
  const SegmentName right = (*made)->name();
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, _);
  SegmentName wrong = right;
  ++wrong.maker;
  EXPECT_THAT(SharedSegment::Open(wrong), refused);
  wrong = right;
  ++wrong.peer;
  EXPECT_THAT(SharedSegment::Open(wrong), refused);
  wrong = right;
  ++wrong.token;
  EXPECT_THAT(SharedSegment::Open(wrong), refused);
  wrong = right;
  wrong.bytes *= 2;
  EXPECT_THAT(SharedSegment::Open(wrong), refused);
  wrong = right;
  wrong.fd = 100000;
  EXPECT_THAT(SharedSegment::Open(wrong),
              StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST(SharedSegmentTest, NoOtherKindOfFileIsTaken) {
  const TempFolder folder;
  const std::string path = folder.Write("file", std::string(kBytes, '\0'));
  SegmentName name{.pid = getpid(), .bytes = kBytes};
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, _);

  // It might be cut while it is read.
  UniqueFd file(open(path.c_str(), O_RDWR));
  name.fd = file.get();
  EXPECT_THAT(SharedSegment::Open(name), refused);

  UniqueFd unsealed(memfd_create("test", MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), kBytes), 0);
  name.fd = unsealed.get();
  EXPECT_THAT(SharedSegment::Open(name), refused);

  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  name.fd = pipe_fds[0];
  EXPECT_THAT(SharedSegment::Open(name), refused);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(SharedSegmentTest, NobodyMakesItSmaller) {
  auto made = SharedSegment::Make(kBytes, 1, 2);
  ASSERT_THAT(made, IsOk());
  EXPECT_NE(ftruncate((*made)->name().fd, 0), 0);
}

}  // namespace
}  // namespace seraph
