#include "common/rpc/address.h"

#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ParseUnixAddressTest, TakesWhatFollowsThePrefix) {
  std::string path;
  EXPECT_TRUE(ParseUnixAddress("unix:/run/seraph.sock", &path));
  EXPECT_EQ(path, "/run/seraph.sock");
  EXPECT_FALSE(ParseUnixAddress("localhost:7401", &path));
}

TEST(AdvertisedAddressTest, IsWhatPeersCanDial) {
  struct Case {
    std::string advertise, bound, want;
  };
  const std::vector<Case> cases = {
      {"", "127.0.0.1:7401", "127.0.0.1:7401"},
      {"", "0.0.0.0:7401", "box:7401"},
      {"", "[::]:7401", "box:7401"},
      {"", "unix:/s", "unix:/s"},
      {"server-0.seraph", "0.0.0.0:41234", "server-0.seraph:41234"},
      {"server-0.seraph:0", "0.0.0.0:41234", "server-0.seraph:41234"},
      {"nat.example:9000", "0.0.0.0:7401", "nat.example:9000"},
      {"[::1]:0", "[::]:7401", "[::1]:7401"},
      {"unix:/t", "unix:/s", "unix:/t"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(AdvertisedAddress(c.advertise, c.bound, "box"),
                IsOkAndHolds(c.want))
        << c.advertise << " on " << c.bound;
  }
  EXPECT_THAT(AdvertisedAddress("a:b:c", "0.0.0.0:1", "box"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a:b:c")));
}

TEST(MachineNameTest, IsNotEmpty) {
  EXPECT_THAT(MachineName(), Not(IsEmpty()));
}

}  // namespace
}  // namespace seraph
