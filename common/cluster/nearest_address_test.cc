#include "common/cluster/nearest_address.h"

#include <unistd.h>

#include <string>

#include "common/rpc/local_socket.h"
#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

Node NodeOn(const std::string& host, uint64_t incarnation) {
  return {.name = "s",
          .address = "10.0.0.1:7401",
          .incarnation = incarnation,
          .host = host};
}

TEST(NearestAddressTest, ALocalSocketIsTakenWhereItAnswersOnOurMachine) {
  const uint64_t incarnation =
      0x5e7a000000000000 + static_cast<uint64_t>(getpid());
  const Neighbourhood here{.host = "here"};
  const std::string far = "10.0.0.1:7401";
  EXPECT_EQ(NearestAddress(NodeOn("here", incarnation), here), far);
  {
    const auto listener = ListenOnLocalSocket(incarnation);
    ASSERT_THAT(listener, IsOk());
    EXPECT_EQ(NearestAddress(NodeOn("here", incarnation), here),
              LocalSocketAddress(incarnation));
    EXPECT_TRUE(MayShareMemory(LocalSocketAddress(incarnation), here));
    EXPECT_FALSE(MayShareMemory(far, here));
    EXPECT_FALSE(MayShareMemory(LocalSocketAddress(incarnation),
                                {.host = "here", .shared_memory = false}));
    EXPECT_EQ(NearestAddress(NodeOn("there", incarnation), here), far);
    EXPECT_EQ(NearestAddress(NodeOn("here", incarnation + 1), here), far);
    EXPECT_EQ(NearestAddress(NodeOn("here", incarnation),
                             {.host = "here", .unix_sockets = false}),
              far);
    EXPECT_EQ(ListenOnLocalSocket(incarnation).status().code(),
              absl::StatusCode::kAlreadyExists);
  }
  // Nothing is left of it.
  EXPECT_EQ(NearestAddress(NodeOn("here", incarnation), here), far);
}

}  // namespace
}  // namespace seraph
