// Accepts connections within a budget of file descriptors.
#ifndef SERAPH_COMMON_RPC_CONNECTION_ACCEPTOR_H_
#define SERAPH_COMMON_RPC_CONNECTION_ACCEPTOR_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/rpc/listening_socket.h"
#include "common/rpc/unique_fd.h"

namespace seraph {

// A thread that accepts and hands on. A connection that would leave fewer free
// descriptors than are reserved for the rest of the process is closed at once,
// so that its client knows; nothing that runs out ends the thread.
//
// Threads: Start and Stop belong to the owner's thread.
class ConnectionAcceptor {
 public:
  // Takes ownership of `connection`, which does not block. Runs on the
  // acceptor's thread.
  using Handler = absl::AnyInvocable<void(int listener, UniqueFd connection)>;

  // Descriptors from `first_refused` on are not handed on. The kernel gives the
  // lowest free number, so that number n means that n others are open.
  ConnectionAcceptor(ListeningSocket socket, int first_refused,
                     Handler handler);
  ~ConnectionAcceptor();  // As Stop.

  // At most once.
  void Start();

  // Closes the listening socket; connections that wait in it are reset. No
  // handler runs afterwards. May be repeated.
  void Stop();

  // Closed instead of handed on, since the start.
  int64_t refused() const { return refused_.load(); }

 private:
  void Run();
  void AcceptAll(int listener);
  void MakeRoomAndRefuse(int listener);
  void Refuse(UniqueFd connection);
  void Pause();

  std::optional<ListeningSocket> socket_;  // None once stopped.
  const int first_refused_;
  Handler handler_;
  UniqueFd wake_;   // Readable once the thread is to end.
  UniqueFd spare_;  // Given up for a moment when there is no other.
  std::atomic<int64_t> refused_{0};
  // Of the thread: when refusals were last logged, and how many by then.
  absl::Duration last_logged_ = -absl::InfiniteDuration();
  int64_t logged_refusals_ = 0;

  std::thread thread_;
};

// The soft limit of open descriptors of this process.
int DescriptorLimit();

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_CONNECTION_ACCEPTOR_H_
