#include "client/bench/tcp_exchange.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"

namespace seraph {
namespace {

constexpr char kHost[] = "127.0.0.1";

absl::Status SystemError(absl::string_view what) {
  return absl::ErrnoToStatus(errno, what);
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void SendAtOnce(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// False: the connection has ended.
bool ReadAll(int socket, std::vector<char>* buffer) {
  size_t done = 0;
  while (done < buffer->size()) {
    const ssize_t read =
        recv(socket, buffer->data() + done, buffer->size() - done, 0);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return false;
    done += read;
  }
  return true;
}

bool WriteAll(int socket, const std::vector<char>& buffer) {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t written =
        send(socket, buffer.data() + done, buffer.size() - done, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += written;
  }
  return true;
}

// One connection of the measuring side.
class Connection {
 public:
  Connection(UniqueFd socket, const LoopbackLoad& load)
      : socket_(std::move(socket)), load_(load) {}

  void Run() {
    const MonotonicClock& clock = *MonotonicClock::Real();
    const absl::Duration begin = clock.Now();
    std::thread reading([this] { ReadReplies(); });
    const std::vector<char> request(load_.request_bytes, 'q');
    while (clock.Now() - begin < load_.duration && MaySend()) {
      if (!WriteAll(socket_.get(), request)) break;
    }
    shutdown(socket_.get(), SHUT_WR);
    reading.join();
    seconds_ = absl::ToDoubleSeconds(clock.Now() - begin);
  }

  // After Run.
  double RequestsPerSecond() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return double(answered_) / seconds_;
  }

 private:
  // Waits for room, and takes it.
  bool MaySend() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    while (out_ >= load_.in_flight && !ended_) changed_.Wait(&mu_);
    ++out_;
    return !ended_;
  }

  void ReadReplies() ABSL_LOCKS_EXCLUDED(mu_) {
    std::vector<char> reply(load_.reply_bytes);
    while (ReadAll(socket_.get(), &reply)) {
      MutexLock lock(&mu_);
      ++answered_;
      --out_;
      changed_.NotifyOne();
    }
    MutexLock lock(&mu_);
    ended_ = true;
    changed_.NotifyOne();
  }

  const UniqueFd socket_;
  const LoopbackLoad load_;
  double seconds_ = 0;
  Mutex mu_;
  CondVar changed_;
  uint32_t out_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TcpPeer>> TcpPeer::Start(
    const LoopbackLoad& load) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.ok()) return SystemError("socket");
  sockaddr_in address = Loopback(0);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
           sizeof(address)) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    return SystemError("listen");
  }
  socklen_t length = sizeof(address);
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address),
                  &length) != 0) {
    return SystemError("getsockname");
  }
  return absl::WrapUnique(
      new TcpPeer(load, std::move(listener),
                  absl::StrCat(kHost, ":", ntohs(address.sin_port))));
}

TcpPeer::TcpPeer(const LoopbackLoad& load, UniqueFd listener,
                 std::string address)
    : load_(load),
      listener_(std::move(listener)),
      address_(std::move(address)),
      accepting_([this] { Accept(); }) {}

TcpPeer::~TcpPeer() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    for (const UniqueFd& connection : connections_) {
      shutdown(connection.get(), SHUT_RDWR);
    }
    threads.swap(threads_);
  }
  shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  for (std::thread& thread : threads) thread.join();
}

void TcpPeer::Accept() {
  while (true) {
    UniqueFd connection(
        accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.ok() && errno == EINTR) continue;
    MutexLock lock(&mu_);
    if (!connection.ok() || stopped_) return;
    const int socket = connection.get();
    connections_.push_back(std::move(connection));
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void TcpPeer::Serve(int connection) const {
  SendAtOnce(connection);
  std::vector<char> request(load_.request_bytes);
  const std::vector<char> reply(load_.reply_bytes, 'r');
  while (ReadAll(connection, &request) && WriteAll(connection, reply)) {
  }
  shutdown(connection, SHUT_RDWR);
}

absl::StatusOr<double> MeasureTcp(const std::string& address,
                                  const LoopbackLoad& load) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &port)) {
    return absl::InvalidArgumentError(absl::StrCat("no address: ", address));
  }
  std::vector<std::unique_ptr<Connection>> connections;
  for (uint32_t i = 0; i < load.connections; ++i) {
    UniqueFd one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!one.ok()) return SystemError("socket");
    const sockaddr_in to = Loopback(port);
    if (connect(one.get(), reinterpret_cast<const sockaddr*>(&to),
                sizeof(to)) != 0) {
      return SystemError(absl::StrCat("connect to ", address));
    }
    SendAtOnce(one.get());
    connections.push_back(std::make_unique<Connection>(std::move(one), load));
  }
  std::vector<std::thread> threads;
  for (const auto& connection : connections) {
    threads.emplace_back([&connection] { connection->Run(); });
  }
  for (std::thread& thread : threads) thread.join();
  double rate = 0;
  for (const auto& connection : connections) {
    rate += connection->RequestsPerSecond();
  }
  return rate;
}

}  // namespace seraph
