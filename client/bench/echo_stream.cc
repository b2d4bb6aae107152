#include "client/bench/echo_stream.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"

namespace seraph {
namespace {

constexpr char kMethod[] = "/seraph.bench.Echo/Exchange";

grpc::ByteBuffer MakeMessage(uint64_t bytes) {
  grpc::Slice slice(bytes);
  std::fill_n(const_cast<uint8_t*>(slice.begin()), bytes, uint8_t{1});
  return grpc::ByteBuffer(&slice, 1);
}

// Deletes itself.
class EchoStream final : public grpc::ServerGenericBidiReactor {
 public:
  explicit EchoStream(const grpc::ByteBuffer& reply) : reply_(reply) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    bool finish = false;
    {
      MutexLock lock(&mu_);
      if (ok) {
        ++unanswered_;
      } else {
        ended_ = true;
      }
      finish = WriteLocked();
    }
    if (finish) return Finish(grpc::Status::OK);
    if (ok) StartRead(&request_);
  }

  void OnWriteDone(bool ok) override {
    bool finish = false;
    {
      MutexLock lock(&mu_);
      writing_ = false;
      if (!ok) unanswered_ = 0;
      finish = WriteLocked();
    }
    if (finish) Finish(grpc::Status::OK);
  }

  void OnDone() override { delete this; }

 private:
  // Starts the next write; true when all is said.
  bool WriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_) return false;
    if (unanswered_ == 0) return ended_;
    --unanswered_;
    writing_ = true;
    StartWrite(&reply_);
    return false;
  }

  grpc::ByteBuffer request_;
  const grpc::ByteBuffer reply_;
  Mutex mu_;
  uint64_t unanswered_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

class EchoService final : public grpc::CallbackGenericService {
 public:
  explicit EchoService(uint64_t reply_bytes)
      : reply_(MakeMessage(reply_bytes)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext*) override {
    return new EchoStream(reply_);
  }

 private:
  const grpc::ByteBuffer reply_;
};

// The measuring side.
class EchoClient final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  EchoClient(grpc::GenericStub* stub, const LoopbackLoad& load)
      : load_(load), request_(MakeMessage(load.request_bytes)) {
    stub->PrepareBidiStreamingCall(&context_, kMethod, {}, this);
  }

  void Start() {
    begin_ = clock_.Now();
    AddHold();  // Writes start outside of reactions, too.
    StartRead(&reply_);
    {
      MutexLock lock(&mu_);
      to_write_ = load_.in_flight;
      WriteLocked();
    }
    StartCall();
  }

  absl::StatusOr<double> Wait() {
    done_.Wait();
    if (!status_.ok()) return FromGrpcStatus(status_);
    MutexLock lock(&mu_);
    return double(answered_) / absl::ToDoubleSeconds(end_ - begin_);
  }

  void OnReadDone(bool ok) override {
    {
      MutexLock lock(&mu_);
      if (!ok) return BreakLocked();
      ++answered_;
      end_ = clock_.Now();
      if (end_ - begin_ < load_.duration) ++to_write_;
      WriteLocked();
    }
    StartRead(&reply_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) return BreakLocked();
    WriteLocked();
  }

  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

 private:
  void WriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || ended_) return;
    if (to_write_ > 0) {
      --to_write_;
      ++written_;
      writing_ = true;
      StartWrite(&request_);
    } else if (answered_ == written_) {
      ended_ = true;
      StartWritesDone();
      RemoveHold();
    }
  }

  void BreakLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (std::exchange(ended_, true)) return;
    context_.TryCancel();
    RemoveHold();
  }

  const LoopbackLoad load_;
  const grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
  grpc::ClientContext context_;
  const MonotonicClock& clock_ = *MonotonicClock::Real();
  absl::Duration begin_;
  grpc::Status status_;  // Before done_.
  Notification done_;

  Mutex mu_;
  absl::Duration end_ ABSL_GUARDED_BY(mu_);  // Of the last answer.
  uint64_t to_write_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t written_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

struct EchoPeer::Impl {
  explicit Impl(uint64_t reply_bytes) : service(reply_bytes) {}

  EchoService service;  // Outlives the server.
  std::unique_ptr<RpcServer> server;
};

EchoPeer::EchoPeer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EchoPeer::~EchoPeer() = default;
const std::string& EchoPeer::address() const {
  return impl_->server->address();
}

absl::StatusOr<std::unique_ptr<EchoPeer>> EchoPeer::Start(
    const LoopbackLoad& load) {
  auto impl = std::make_unique<Impl>(load.reply_bytes);
  SERAPH_ASSIGN_OR_RETURN(
      impl->server,
      RpcServer::Start(
          {.listen = "127.0.0.1:0", .other_methods = &impl->service}, {}));
  return absl::WrapUnique(new EchoPeer(std::move(impl)));
}

absl::StatusOr<double> MeasureEcho(const std::string& address,
                                   const LoopbackLoad& load) {
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::vector<std::unique_ptr<EchoClient>> clients;
  for (uint32_t i = 0; i < load.connections; ++i) {
    stubs.push_back(
        std::make_unique<grpc::GenericStub>(MakeChannel(address, {})));
    clients.push_back(std::make_unique<EchoClient>(stubs.back().get(), load));
  }
  for (const auto& client : clients) client->Start();
  double rate = 0;
  absl::Status status;
  for (const auto& client : clients) {
    const absl::StatusOr<double> one = client->Wait();
    if (one.ok()) {
      rate += *one;
    } else {
      status.Update(one.status());
    }
  }
  if (!status.ok()) return status;
  return rate;
}

}  // namespace seraph
