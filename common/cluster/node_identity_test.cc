#include "common/cluster/node_identity.h"

#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::TempFolder;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(NodeIdentityTest, IncarnationsDiffer) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(NewIncarnation());
  EXPECT_EQ(seen.size(), 1000);
  EXPECT_EQ(seen.count(0), 0);
}

TEST(NodeIdentityTest, TheArithmeticIdNamesAllThatDecidesBits) {
  EXPECT_THAT(ArithmeticId(),
              MatchesRegex("[a-z0-9_-]+ (gcc|clang)-[0-9.]+ glibc-[0-9.]+ "
                           "(fma|fma4|generic) seraph-[0-9.]+"));
  EXPECT_EQ(ArithmeticId(), ArithmeticId());
}

TEST(NodeIdentityTest, TheHostIdFollowsFromTheMachinesId) {
  const TempFolder folder;
  const std::string one = HostId(folder.Write("one", "0123456789abcdef\n"));
  EXPECT_THAT(one, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(HostId(folder.Write("same", "0123456789abcdef")), one);
  EXPECT_NE(HostId(folder.Write("two", "0123456789abcdee\n")), one);
  EXPECT_THAT(one, ::testing::Not(HasSubstr("0123456789abcdef")));
}

TEST(NodeIdentityTest, WithoutAMachineIdItIsTheHostsName) {
  const TempFolder folder;
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  EXPECT_EQ(HostId(folder.Path("none")), name);
  EXPECT_EQ(HostId(folder.Write("empty", "\n")), name);
  EXPECT_EQ(HostId(folder.Write("image", "uninitialized\n")), name);
}

TEST(NodeIdentityTest, ResidentMemoryGrowsWithWhatIsTouched) {
  const uint64_t before = ResidentBytes();
  EXPECT_GT(before, 0);
  constexpr size_t kBytes = 64 << 20;
  std::vector<char> touched(kBytes, 1);
  EXPECT_GE(ResidentBytes(), before + kBytes / 2) << touched[kBytes / 3];
}

}  // namespace
}  // namespace seraph
