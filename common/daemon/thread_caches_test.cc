#include "common/daemon/thread_caches.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::HasSubstr;

// What main saw at its first start, which it keeps in its environment.
constexpr const char* kFirst = "THREAD_CACHES_TEST_FIRST";

std::string Arguments(int argc, char** argv) {
  std::string arguments = absl::StrCat(getpid(), " ", getppid());
  for (int i = 0; i < argc; ++i) absl::StrAppend(&arguments, " ", argv[i]);
  return arguments;
}

std::string now;  // At the last start.

TEST(ThreadCachesTest, TheProgramStartsAnewAsItWas) {
  ASSERT_NE(std::getenv(kFirst), nullptr);
  EXPECT_EQ(now, std::getenv(kFirst));
  ASSERT_NE(std::getenv("GLIBC_TUNABLES"), nullptr);
  EXPECT_THAT(std::getenv("GLIBC_TUNABLES"),
              HasSubstr("glibc.malloc.check=0:glibc.malloc.tcache_count="));
}

// A thread's own pieces come back last in, first out; others in another order.
TEST(ThreadCachesTest, AThreadKeepsAHundredPieces) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  constexpr size_t kPieces = 100;
  constexpr size_t kBytes = 700;
  std::vector<void*> pieces(kPieces);
  for (void*& piece : pieces) piece = std::malloc(kBytes);
  std::vector<uintptr_t> freed;
  for (void* piece : pieces) {
    freed.push_back(reinterpret_cast<uintptr_t>(piece));
    std::free(piece);
  }
  std::vector<uintptr_t> again;
  for (void*& piece : pieces) {
    piece = std::malloc(kBytes);
    again.push_back(reinterpret_cast<uintptr_t>(piece));
  }
  for (void* piece : pieces) std::free(piece);
  std::reverse(again.begin(), again.end());
  EXPECT_EQ(again, freed);
}

TEST(ThreadCachesTest, AnOperatorsNumberStays) {
  setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=9", 1);
  char* argv[] = {nullptr};
  EnlargeThreadCaches(argv);  // Returns.
  EXPECT_STREQ(std::getenv("GLIBC_TUNABLES"), "glibc.malloc.tcache_count=9");
}

}  // namespace
}  // namespace seraph

int main(int argc, char** argv) {
  seraph::now = seraph::Arguments(argc, argv);
  if (std::getenv(seraph::kFirst) == nullptr) {
    setenv(seraph::kFirst, seraph::now.c_str(), 1);
    setenv("GLIBC_TUNABLES", "glibc.malloc.check=0", 1);
  }
  seraph::EnlargeThreadCaches(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
