// The other end of a bare exchange, as a process of its own.
#ifndef SERAPH_CLIENT_BENCH_PEER_PROCESS_H_
#define SERAPH_CLIENT_BENCH_PEER_PROCESS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/base/interrupt.h"
#include "client/bench/loopback_sizes.h"
#include "client/cli/environment.h"
#include "client/local/child_process.h"

namespace seraph {

// A server does not share its processor time with its clients' process, and
// neither do those that it is measured against: seraphctl starts itself again
// as `seraphctl bench-peer`.
class PeerProcess {
 public:
  // `kind`: "tcp" or "echo". Its log, and the file that says where it listens,
  // go to `folder`.
  // Errors: what keeps it from starting; DeadlineExceeded; Cancelled.
  static absl::StatusOr<std::unique_ptr<PeerProcess>> Start(
      absl::string_view kind, const LoopbackLoad& load,
      const std::string& folder, const Environment& env);

  const std::string& address() const { return address_; }

 private:
  PeerProcess(std::unique_ptr<ChildProcess> process, std::string address)
      : process_(std::move(process)), address_(std::move(address)) {}

  const std::unique_ptr<ChildProcess> process_;
  const std::string address_;
};

// What that process does: listens, writes the address to `ready_file`, and
// answers until it is asked to stop, or `parent` ends, if there is one (> 0).
absl::Status RunPeer(absl::string_view kind, const LoopbackLoad& load,
                     const std::string& ready_file, int parent,
                     Interrupt* interrupt);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_PEER_PROCESS_H_
