#include <algorithm>
#include <string>

#include "client/bench/echo_stream.h"
#include "client/bench/tcp_exchange.h"
#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

// What is measured says nothing here; that every request is answered does.
TEST(LoopbackTest, TcpAnswersAllThatWasSent) {
  for (const LoopbackLoad& load : {LoopbackLoad{.request_bytes = 1,
                                  .reply_bytes = 1,
                                  .duration = absl::Milliseconds(30)},
                                   LoopbackLoad{.request_bytes = 3'000'000,
                                   .reply_bytes = 2'000'000,
                                   .in_flight = 7,
                                   .connections = 2,
                                   .duration = absl::Milliseconds(30)}}) {
    const auto peer = TcpPeer::Start(load);
    ASSERT_THAT(peer, IsOk());
    const auto rate = MeasureTcp((*peer)->address(), load);
    ASSERT_THAT(rate, IsOk());
    EXPECT_GT(*rate, 0);
  }
}

TEST(LoopbackTest, TcpSaysWhenNobodyIsThere) {
  const LoopbackLoad load{.duration = absl::Milliseconds(30)};
  std::string address;
  {
    const auto peer = TcpPeer::Start(load);
    ASSERT_THAT(peer, IsOk());
    address = (*peer)->address();
  }
  EXPECT_FALSE(MeasureTcp(address, load).ok());
  EXPECT_FALSE(MeasureTcp("nowhere", load).ok());
}

TEST(LoopbackTest, EchoAnswersAllThatWasSent) {
  for (const LoopbackLoad& load : {LoopbackLoad{.request_bytes = 1,
                                  .reply_bytes = 1,
                                  .in_flight = 64,
                                  .duration = absl::Milliseconds(30)},
                                   LoopbackLoad{.request_bytes = 3'000'000,
                                   .reply_bytes = 2'000'000,
                                   .in_flight = 3,
                                   .connections = 2,
                                   .duration = absl::Milliseconds(30)}}) {
    const auto peer = EchoPeer::Start(load);
    ASSERT_THAT(peer, IsOk());
    const auto rate = MeasureEcho((*peer)->address(), load);
    ASSERT_THAT(rate, IsOk());
    EXPECT_GT(*rate, 0);
  }
}

TEST(LoopbackTest, EchoSaysWhenNobodyIsThere) {
  const LoopbackLoad load{.duration = absl::Milliseconds(30)};
  std::string address;
  {
    const auto peer = EchoPeer::Start(load);
    ASSERT_THAT(peer, IsOk());
    address = (*peer)->address();
  }
  EXPECT_FALSE(MeasureEcho(address, load).ok());
}

}  // namespace
}  // namespace seraph
