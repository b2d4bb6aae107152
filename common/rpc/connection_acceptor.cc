#include "common/rpc/connection_acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "common/concurrent/thread_name.h"
#include "common/time/clock.h"
#include "spdlog/spdlog.h"

namespace seraph {
namespace {

constexpr int kPauseMs = 50;
constexpr absl::Duration kLogInterval = absl::Seconds(10);

UniqueFd OpenSpare() {
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool IsOfTheConnection(int error) {
  // accept(2): errors that the network passes on concern one connection.
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

}  // namespace

int DescriptorLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(
      std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

ConnectionAcceptor::ConnectionAcceptor(ListeningSocket socket,
                                       int first_refused, Handler handler)
    : socket_(std::move(socket)),
      first_refused_(first_refused),
      handler_(std::move(handler)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(OpenSpare()) {}

ConnectionAcceptor::~ConnectionAcceptor() { Stop(); }

void ConnectionAcceptor::Start() {
  thread_ = std::thread([this] { Run(); });
}

void ConnectionAcceptor::Stop() {
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  socket_.reset();
}

void ConnectionAcceptor::Run() {
  NameThisThread("accept");
  std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}};
  for (const UniqueFd& listener : socket_->descriptors()) {
    waits.push_back({listener.get(), POLLIN, 0});
  }
  while (true) {
    poll(waits.data(), waits.size(), /*timeout=*/-1);
    if (waits[0].revents != 0) return;
    for (size_t i = 1; i < waits.size(); ++i) {
      if (waits[i].revents != 0) AcceptAll(waits[i].fd);
    }
  }
}

void ConnectionAcceptor::AcceptAll(int listener) {
  // Not without end, so that one address does not starve another, or Stop.
  for (int i = 0; i < 256; ++i) {
    UniqueFd connection(
        accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.ok()) {
      if (connection.get() < first_refused_) {
        handler_(listener, std::move(connection));
      } else {
        Refuse(std::move(connection));
      }
      continue;
    }
    if (errno == EAGAIN) return;
    if (IsOfTheConnection(errno)) continue;
    if (errno == EMFILE || errno == ENFILE) {
      MakeRoomAndRefuse(listener);
      return;
    }
    // Memory, as a rule: it comes back.
    spdlog::error("connection.accept_failed error=\"{}\" next=retry",
                  std::strerror(errno));
    Pause();
    return;
  }
}

void ConnectionAcceptor::MakeRoomAndRefuse(int listener) {
  // The rest of the process used up what was reserved for it. Whoever waits is
  // told, instead of being left in the queue.
  spare_.Reset();
  UniqueFd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (connection.ok()) {
    Refuse(std::move(connection));
  } else {
    Pause();  // The system's table is full, or another thread was faster.
  }
  spare_ = OpenSpare();
}

void ConnectionAcceptor::Refuse(UniqueFd connection) {
  const int64_t refused = ++refused_;
  connection.Reset();
  const absl::Duration now = MonotonicClock::Real()->Now();
  if (now - last_logged_ < kLogInterval) return;
  spdlog::warn(
      "connection.refused count={} descriptors={} next=accept_when_some_close",
      refused - logged_refusals_, first_refused_);
  last_logged_ = now;
  logged_refusals_ = refused;
}

void ConnectionAcceptor::Pause() {
  pollfd wait = {wake_.get(), POLLIN, 0};
  poll(&wait, 1, kPauseMs);  // Counts on the monotonic clock.
}

}  // namespace seraph
