#include "common/rpc/rpc_server.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/callback_threads.h"
#include "common/rpc/connection_acceptor.h"
#include "common/rpc/grpc_log.h"
#include "common/rpc/health_service.h"
#include "common/rpc/listening_socket.h"
#include "common/rpc/local_socket.h"
#include "common/rpc/transport_arguments.h"
#include "common/status/status_macros.h"
#include "grpc/support/time.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace seraph {
namespace {

using ::grpc::experimental::ExternalConnectionAcceptor;

constexpr char kLiveness[] = "liveness";
constexpr char kReadiness[] = "readiness";

std::unique_ptr<grpc::Server> BuildServer(
    const RpcServerOptions& options, const std::vector<RpcService>& services,
    HealthService* health,
    std::unique_ptr<ExternalConnectionAcceptor>* acceptor) {
  grpc::ServerBuilder builder;
  for (const auto& [name, value] :
       TransportArguments(options.max_message_bytes, options.window_bytes)) {
    builder.AddChannelArgument(name, value);
  }
  builder.AddChannelArgument(
      GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
      static_cast<int>(absl::ToInt64Milliseconds(options.handshake_timeout)));
  builder.RegisterService(health);
  for (const RpcService& service : services) {
    builder.RegisterService(service.service);
  }
  if (options.other_methods != nullptr) {
    builder.RegisterCallbackGenericService(options.other_methods);
  }
  using Experimental = grpc::ServerBuilder::experimental_type;
  *acceptor = builder.experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  return builder.BuildAndStart();
}

// The first descriptor that is not for connections.
int FirstReserved(int reserved) {
  const int limit = DescriptorLimit();
  return limit - std::min(reserved, limit / 4);
}

}  // namespace

struct RpcServer::Impl {
  std::string address;
  uint64_t max_message_bytes = 0;
  std::vector<std::string> service_names;
  HealthService health;  // Outlives the server.
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<ExternalConnectionAcceptor> to_grpc;
  std::unique_ptr<ConnectionAcceptor> acceptor;

  Mutex mu;
  bool shut_down ABSL_GUARDED_BY(mu) = false;
};

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const RpcServerOptions& options, std::vector<RpcService> services) {
  SERAPH_ASSIGN_OR_RETURN(
      ListeningSocket socket,
      ListeningSocket::Bind(options.listen, options.config_key));
  if (options.local_incarnation != 0) {
    SERAPH_ASSIGN_OR_RETURN(UniqueFd local,
                            ListenOnLocalSocket(options.local_incarnation));
    socket.Add(std::move(local));
  }

  SendGrpcLogsToOurs();
  KeepCallbackThreads();
  auto impl = std::make_unique<Impl>();
  impl->address = socket.address();
  impl->max_message_bytes = options.max_message_bytes;
  for (const RpcService& service : services) {
    impl->service_names.push_back(service.name);
  }
  impl->server = BuildServer(options, services, &impl->health, &impl->to_grpc);
  if (impl->server == nullptr) {
    return absl::InternalError(
        absl::StrCat("gRPC could not start a server for ", impl->address));
  }
  impl->acceptor = std::make_unique<ConnectionAcceptor>(
      std::move(socket), FirstReserved(options.reserved_descriptors),
      [to_grpc = impl->to_grpc.get()](int listener, UniqueFd connection) {
        ExternalConnectionAcceptor::NewConnectionParameters parameters;
        parameters.listener_fd = listener;
        parameters.fd = connection.Release();
        to_grpc->HandleNewConnection(&parameters);
      });

  std::unique_ptr<RpcServer> server(new RpcServer(std::move(impl)));
  server->SetServing("", true);
  server->SetServing(kLiveness, true);
  server->SetReady(false);
  server->impl_->acceptor->Start();
  return server;
}

RpcServer::RpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

const std::string& RpcServer::address() const { return impl_->address; }

void RpcServer::SetReady(bool ready) {
  SetServing(kReadiness, ready);
  for (const std::string& name : impl_->service_names) SetServing(name, ready);
}

void RpcServer::SetServing(absl::string_view name, bool serving) {
  impl_->health.SetServing(std::string(name), serving);
}

void RpcServer::Shutdown(absl::Duration grace) {
  {
    MutexLock lock(&impl_->mu);
    if (std::exchange(impl_->shut_down, true)) return;
  }
  impl_->health.Shutdown();
  impl_->acceptor->Stop();
  impl_->server->Shutdown(
      gpr_time_from_millis(absl::ToInt64Milliseconds(grace), GPR_TIMESPAN));
}

std::shared_ptr<grpc::Channel> RpcServer::InProcessChannel() {
  grpc::ChannelArguments arguments;
  for (const auto& [name, value] :
       TransportArguments(impl_->max_message_bytes)) {
    arguments.SetInt(name, value);
  }
  return impl_->server->InProcessChannel(arguments);
}

int64_t RpcServer::refused_connections() const {
  return impl_->acceptor->refused();
}

}  // namespace seraph
