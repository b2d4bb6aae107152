#include "common/rpc/listening_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/address.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kKey[] = "server.listen";

bool CanConnectIpv4(uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                 sizeof(address)) == 0;
}

bool CanConnectIpv6(uint16_t port) {
  UniqueFd fd(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                 sizeof(address)) == 0;
}

bool CanConnectUnix(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                 sizeof(address)) == 0;
}

uint16_t PortOf(const ListeningSocket& socket) {
  return ParseAddress(socket.address())->port;
}

TEST(ListeningSocketTest, PortZeroBindsAFreeOneAndSaysWhich) {
  const auto listening = ListeningSocket::Bind("127.0.0.1:0", kKey);
  ASSERT_THAT(listening, IsOk());
  EXPECT_THAT(listening->address(), StartsWith("127.0.0.1:"));
  EXPECT_NE(PortOf(*listening), 0);
  EXPECT_TRUE(CanConnectIpv4(PortOf(*listening)));
}

TEST(ListeningSocketTest, APortIsFreeAgainAfterwards) {
  uint16_t port = 0;
  {
    const auto listening = ListeningSocket::Bind("127.0.0.1:0", kKey);
    ASSERT_THAT(listening, IsOk());
    port = PortOf(*listening);
    ASSERT_TRUE(CanConnectIpv4(port));
  }
  EXPECT_FALSE(CanConnectIpv4(port));
  EXPECT_THAT(ListeningSocket::Bind(absl::StrCat("127.0.0.1:", port), kKey),
              IsOk());
}

TEST(ListeningSocketTest, ATakenPortIsNamedWithItsKey) {
  const auto first = ListeningSocket::Bind("127.0.0.1:0", kKey);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(ListeningSocket::Bind(first->address(), kKey),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr(first->address()), HasSubstr(kKey),
                             HasSubstr("in use"))));
}

TEST(ListeningSocketTest, TheWildcardOfIpv6TakesIpv4Too) {
  const auto listening = ListeningSocket::Bind("[::]:0", kKey);
  if (!listening.ok()) GTEST_SKIP() << "no IPv6: " << listening.status();
  EXPECT_THAT(listening->address(), StartsWith("[::]:"));
  EXPECT_TRUE(CanConnectIpv4(PortOf(*listening)));
  EXPECT_TRUE(CanConnectIpv6(PortOf(*listening)));
}

TEST(ListeningSocketTest, LocalhostIsBothLoopbacksWithOnePort) {
  const bool has_ipv6 = ListeningSocket::Bind("[::1]:0", kKey).ok();
  const auto listening = ListeningSocket::Bind("localhost:0", kKey);
  ASSERT_THAT(listening, IsOk());
  EXPECT_THAT(listening->address(), StartsWith("localhost:"));
  EXPECT_TRUE(CanConnectIpv4(PortOf(*listening)));
  EXPECT_EQ(CanConnectIpv6(PortOf(*listening)), has_ipv6);
}

TEST(ListeningSocketTest, APortThatIsTakenAtOneOfItsAddressesIsTaken) {
  const auto taken = ListeningSocket::Bind("127.0.0.1:0", kKey);
  ASSERT_THAT(taken, IsOk());
  EXPECT_THAT(
      ListeningSocket::Bind(absl::StrCat("localhost:", PortOf(*taken)), kKey),
      StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST(ListeningSocketTest, WhatIsNoAddressIsRefused) {
  EXPECT_THAT(ListeningSocket::Bind("127.0.0.1", kKey),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(kKey), HasSubstr("port"))));
  EXPECT_THAT(ListeningSocket::Bind("no-such-host.invalid:0", kKey),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no-such-host.invalid")));
  // TEST-NET-1: nobody's address.
  EXPECT_THAT(ListeningSocket::Bind("192.0.2.1:0", kKey),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("192.0.2.1")));
}

class UnixSocketTest : public ::testing::Test {
 protected:
  const TempFolder folder_;
  const std::string path_ = folder_.Path("s");
  const std::string address_ = absl::StrCat("unix:", path_);
};

TEST_F(UnixSocketTest, IsThereWhileSomebodyListens) {
  {
    const auto listening = ListeningSocket::Bind(address_, kKey);
    ASSERT_THAT(listening, IsOk());
    EXPECT_EQ(listening->address(), address_);
    EXPECT_TRUE(CanConnectUnix(path_));
    EXPECT_THAT(
        ListeningSocket::Bind(address_, kKey),
        StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(address_)));
    EXPECT_TRUE(CanConnectUnix(path_));
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(UnixSocketTest, OneLeftBehindIsReplacedButNoOtherFile) {
  {
    // As a killed process leaves it: bound, and nobody listens.
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size());
    ASSERT_EQ(
        bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
        0);
  }
  EXPECT_THAT(ListeningSocket::Bind(address_, kKey), IsOk());

  std::ofstream(path_) << "precious";
  EXPECT_THAT(ListeningSocket::Bind(address_, kKey),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
  unlink(path_.c_str());
}

TEST_F(UnixSocketTest, ALongPathIsRefused) {
  EXPECT_THAT(
      ListeningSocket::Bind("unix:/" + std::string(200, 'x'), kKey),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("107 bytes")));
}

}  // namespace
}  // namespace seraph
