// Messages over a bare gRPC stream.
#ifndef SERAPH_CLIENT_BENCH_ECHO_STREAM_H_
#define SERAPH_CLIENT_BENCH_ECHO_STREAM_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/bench/loopback_sizes.h"

namespace seraph {

// A server whose one method is a bidirectional stream that answers each message
// at once, with a reply of a given size; nothing is parsed or copied on either
// side. Everything else is as with our daemons.
class EchoPeer {
 public:
  // Listens on a free port of 127.0.0.1. Errors: what gRPC says.
  static absl::StatusOr<std::unique_ptr<EchoPeer>> Start(
      const LoopbackLoad& load);

  ~EchoPeer();
  EchoPeer(const EchoPeer&) = delete;
  EchoPeer& operator=(const EchoPeer&) = delete;

  const std::string& address() const;

 private:
  struct Impl;
  explicit EchoPeer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// Messages a second that the peer at `address` answers, on a stream for each
// connection. Errors: what gRPC says.
absl::StatusOr<double> MeasureEcho(const std::string& address,
                                   const LoopbackLoad& load);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_ECHO_STREAM_H_
