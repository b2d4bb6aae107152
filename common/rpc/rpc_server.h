// A gRPC server that stays up: start, health, reflection, stop.
//
// It accepts connections itself, within a budget of file descriptors, and hands
// them to gRPC: gRPC 1.51 never accepts again after it has once run out of
// descriptors. Connections above the budget are closed at once; those that say
// nothing are closed after the handshake timeout.
#ifndef SERAPH_COMMON_RPC_RPC_SERVER_H_
#define SERAPH_COMMON_RPC_RPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rpc/transport_arguments.h"

namespace grpc {
class CallbackGenericService;
class Channel;
class Service;
}  // namespace grpc

namespace seraph {

struct RpcServerOptions {
  // As in common/rpc/address.h. Port 0 picks a free one.
  std::string listen = "127.0.0.1:0";

  // Where `listen` comes from, for messages: "server.listen".
  std::string config_key = "listen";

  // It also listens on the local socket of this incarnation; 0: on none.
  uint64_t local_incarnation = 0;

  uint64_t max_message_bytes = uint64_t{64} << 20;

  // Of requests that no one has read yet, for each stream; cut to what
  // TransportArguments takes.
  uint64_t window_bytes = kWindowBytes;

  // How long a connection may take to begin speaking HTTP/2.
  absl::Duration handshake_timeout = absl::Seconds(5);

  // Descriptors that are left to the rest of the process: files, connections
  // to others. A quarter of the process's limit if that is less.
  int reserved_descriptors = 128;

  // Gets the calls of methods that no service has. Must outlive the server; may
  // be null.
  grpc::CallbackGenericService* other_methods = nullptr;
};

// A service and its full name: {v1::Parameters::service_full_name(), &service}.
struct RpcService {
  std::string name;
  grpc::Service* service;  // Must outlive the server.
};

// Health (grpc.health.v1) knows the names "" (the process), "liveness",
// "readiness" and each service's. "" and "liveness" are serving from the start,
// the others after SetReady(true).
//
// Threads: every method may be called from any thread.
class RpcServer {
 public:
  // Listens and serves; gRPC's log lines become ours. Errors, each naming the
  // address and its config key:
  //   InvalidArgument   not an address, or a host that does not resolve
  //   AlreadyExists     the port (or socket) is taken
  //   PermissionDenied  a port or path that this user may not bind
  //   Unavailable       an address that this machine does not have
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const RpcServerOptions& options, std::vector<RpcService> services);

  ~RpcServer();  // As Shutdown(ZeroDuration()).

  // Where it listens: the host of `listen` with the bound port.
  const std::string& address() const;

  // Sets "readiness" and every service. After Shutdown nothing serves.
  void SetReady(bool ready);
  void SetServing(absl::string_view name, bool serving);

  // Stops accepting, says that nothing serves, waits up to `grace` for calls
  // that run, cancels the rest and returns when the last has ended. A service
  // must end a call that is cancelled. May be repeated.
  void Shutdown(absl::Duration grace);

  // A channel that needs no socket, for tests.
  std::shared_ptr<grpc::Channel> InProcessChannel();

  // Connections that the budget turned away, since the start.
  int64_t refused_connections() const;

 private:
  struct Impl;
  explicit RpcServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_RPC_SERVER_H_
