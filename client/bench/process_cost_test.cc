#include "client/bench/process_cost.h"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

TEST(ProcessCostTest, CountsWhatIsSpent) {
  const auto before = ProcessorTime(0);
  ASSERT_THAT(before, IsOk());
  volatile uint64_t sum = 0;
  auto now = before;
  while (*now < *before + absl::Milliseconds(20)) {
    for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
    now = ProcessorTime(0);
    ASSERT_THAT(now, IsOk());
  }
  // By its number it is the same process.
  const auto by_number = ProcessorTime(getpid());
  ASSERT_THAT(by_number, IsOk());
  EXPECT_GE(*by_number, *now);
}

TEST(ProcessCostTest, CountsMemoryThatIsTouched) {
  const auto before = ResidentMemory(getpid());
  ASSERT_THAT(before, IsOk());
  const size_t size = size_t{64} << 20;
  const std::vector<char> touched(size, 1);
  const auto after = ResidentMemory(0);
  ASSERT_THAT(after, IsOk());
  EXPECT_GE(*after + (4 << 20), *before + size);
  EXPECT_EQ(touched.back(), 1);
}

TEST(ProcessCostTest, AProcessThatIsNotThereIsAnError) {
  const pid_t beyond = (1 << 22) + 1;  // More than the kernel gives.
  EXPECT_FALSE(ProcessorTime(beyond).ok());
  EXPECT_FALSE(ResidentMemory(beyond).ok());
}

}  // namespace
}  // namespace seraph
