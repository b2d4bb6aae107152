#include "common/daemon/heap.h"

#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

// Sanitizers have heaps of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr size_t kMiB = size_t{1} << 20;
constexpr int kThreads = 4;
constexpr size_t kMessages = 20;

size_t ResidentBytes() {
  size_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

// Threads get and free messages of a megabyte, each thread in a heap of its
// own, with or without small pieces behind each that stay. Returns how much of
// it the process gives back while the threads live on.
size_t GivenBack(bool pieces_stay) {
  std::barrier freed(kThreads + 1);
  std::barrier looked(kThreads + 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<std::unique_ptr<char[]>> messages(kMessages);
      std::vector<std::unique_ptr<char[]>> kept(kMessages);
      for (size_t i = 0; i < kMessages; ++i) {
        messages[i] = std::make_unique<char[]>(kMiB);
        std::memset(messages[i].get(), 1, kMiB);
        if (pieces_stay) kept[i] = std::make_unique<char[]>(2000);
      }
      messages.clear();
      freed.arrive_and_wait();
      looked.arrive_and_wait();
    });
  }
  freed.arrive_and_wait();
  const size_t before = ResidentBytes();
  ReturnFreedMemory();
  const size_t after = ResidentBytes();
  looked.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(before, kThreads * kMessages * kMiB) << "nothing was kept";
  return before - std::min(before, after);
}

TEST(HeapTest, WhatIsFreeGoesBackWhereverItLies) {
  KeepFreedMemory();
  constexpr size_t kMost = kThreads * kMessages * kMiB / 4 * 3;
  EXPECT_GE(GivenBack(/*pieces_stay=*/false), kMost) << "at the heaps' ends";
  EXPECT_GE(GivenBack(/*pieces_stay=*/true), kMost) << "between pieces";
}

#endif

TEST(HeapTest, ProcessorTimeGrowsWithWork) {
  const absl::Duration before = ProcessorTime();
  while (ProcessorTime() < before + absl::Milliseconds(1)) {
  }
  EXPECT_GE(before, absl::ZeroDuration());
}

}  // namespace
}  // namespace seraph
