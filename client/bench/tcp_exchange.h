// Requests and replies over bare TCP connections.
#ifndef SERAPH_CLIENT_BENCH_TCP_EXCHANGE_H_
#define SERAPH_CLIENT_BENCH_TCP_EXCHANGE_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/bench/loopback_sizes.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/unique_fd.h"

namespace seraph {

// Reads requests of one size and answers each with a reply of another, as fast
// as it can, on a thread for each connection.
class TcpPeer {
 public:
  // Listens on a free port of 127.0.0.1. Errors: the system's reason.
  static absl::StatusOr<std::unique_ptr<TcpPeer>> Start(
      const LoopbackLoad& load);

  // Ends all connections.
  ~TcpPeer();
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;

  const std::string& address() const { return address_; }

 private:
  TcpPeer(const LoopbackLoad& load, UniqueFd listener, std::string address);

  void Accept();
  void Serve(int connection) const;

  const LoopbackLoad load_;
  const UniqueFd listener_;
  const std::string address_;
  Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<UniqueFd> connections_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
  std::thread accepting_;
};

// Requests a second that the peer at `address` answers, which was started for
// the same load. Each connection has a thread that writes and one that reads.
// Errors: the system's reason.
absl::StatusOr<double> MeasureTcp(const std::string& address,
                                  const LoopbackLoad& load);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_TCP_EXCHANGE_H_
