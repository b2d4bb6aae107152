#include "common/rpc/connection_acceptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TempFolder;

constexpr int kNoBudget = std::numeric_limits<int>::max();

// A client's socket, made before it connects: later there may be no descriptor.
class Client {
 public:
  Client() : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

  bool Connect(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return connect(fd_.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)) == 0;
  }

  // Waits for one byte; '\0' if the other end closed instead.
  char Read() {
    char c = '\0';
    return read(fd_.get(), &c, 1) == 1 ? c : '\0';
  }

 private:
  UniqueFd fd_;
};

class ConnectionAcceptorTest : public ::testing::Test {
 protected:
  // Greets each connection that it is handed with "!" and keeps it open.
  std::unique_ptr<ConnectionAcceptor> StartAcceptor(int first_refused) {
    auto listening = ListeningSocket::Bind("unix:" + path_, "listen");
    EXPECT_THAT(listening, IsOk());
    auto acceptor = std::make_unique<ConnectionAcceptor>(
        *std::move(listening), first_refused,
        [this](int listener, UniqueFd connection) {
          EXPECT_EQ(write(connection.get(), "!", 1), 1);
          kept_.push_back(std::move(connection));
        });
    acceptor->Start();
    return acceptor;
  }

  const TempFolder folder_;
  const std::string path_ = folder_.Path("a");
  std::vector<UniqueFd> kept_;  // Of the acceptor's thread.
};

TEST_F(ConnectionAcceptorTest, HandsConnectionsOn) {
  auto acceptor = StartAcceptor(kNoBudget);
  Client first;
  Client second;
  ASSERT_TRUE(first.Connect(path_));
  ASSERT_TRUE(second.Connect(path_));
  EXPECT_EQ(first.Read(), '!');
  EXPECT_EQ(second.Read(), '!');
  acceptor->Stop();
  EXPECT_EQ(kept_.size(), 2);
  EXPECT_NE(fcntl(kept_[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(kept_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(acceptor->refused(), 0);
}

TEST_F(ConnectionAcceptorTest, ClosesWhatIsBeyondTheBudgetAtOnce) {
  Client first;
  Client second;
  Client third;
  // The number that the first connection will get, behind the acceptor's own
  // three descriptors.
  const int next = UniqueFd(dup(0)).get() + 3;
  auto acceptor = StartAcceptor(next + 1);
  ASSERT_TRUE(first.Connect(path_));
  EXPECT_EQ(first.Read(), '!');
  ASSERT_TRUE(second.Connect(path_));
  EXPECT_EQ(second.Read(), '\0');
  EXPECT_EQ(acceptor->refused(), 1);

  acceptor->Stop();
  kept_.clear();  // The first connection ends.
  acceptor = StartAcceptor(next + 1);
  ASSERT_TRUE(third.Connect(path_));
  EXPECT_EQ(third.Read(), '!');
}

TEST_F(ConnectionAcceptorTest, WithoutAnyDescriptorItRefusesAndRecovers) {
  auto acceptor = StartAcceptor(kNoBudget);
  Client starved;
  Client late;

  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit lowered = limit;
  lowered.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  std::vector<UniqueFd> all;
  while (true) {
    UniqueFd fd(dup(0));
    if (!fd.ok()) break;
    all.push_back(std::move(fd));
  }
  EXPECT_FALSE(all.empty());
  EXPECT_TRUE(starved.Connect(path_));
  EXPECT_EQ(starved.Read(), '\0');
  EXPECT_EQ(acceptor->refused(), 1);

  all.clear();
  EXPECT_TRUE(late.Connect(path_));
  EXPECT_EQ(late.Read(), '!');
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(ConnectionAcceptorTest, StopEndsTheQueueToo) {
  auto acceptor = StartAcceptor(kNoBudget);
  acceptor->Stop();
  EXPECT_FALSE(Client().Connect(path_));
  acceptor->Stop();
}

TEST_F(ConnectionAcceptorTest, OneThatNeverStartedStops) {
  auto listening = ListeningSocket::Bind("unix:" + path_, "listen");
  ASSERT_THAT(listening, IsOk());
  ConnectionAcceptor acceptor(*std::move(listening), kNoBudget,
                              [](int, UniqueFd) { FAIL(); });
  EXPECT_TRUE(Client().Connect(path_));
  acceptor.Stop();
  EXPECT_FALSE(Client().Connect(path_));
}

}  // namespace
}  // namespace seraph
