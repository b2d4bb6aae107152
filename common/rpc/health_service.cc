#include "common/rpc/health_service.h"

#include <optional>
#include <utility>

namespace seraph {

// One Watch: sends a status when it differs from the last one sent, one message
// at a time.
//
// It holds itself until gRPC is done with it, and is shared with whoever calls
// Update at that moment.
class HealthService::Watcher final
    : public grpc::ServerWriteReactor<HealthService::Response> {
 public:
  Watcher(HealthService* service, std::string name)
      : service_(*service), name_(std::move(name)) {}

  void HoldYourself(std::shared_ptr<Watcher> self) { self_ = std::move(self); }

  // Does what is next: sends the status, or ends the stream.
  void Update() ABSL_LOCKS_EXCLUDED(mu_) {
    bool finish = false;
    {
      MutexLock lock(&mu_);
      if (writing_ || finished_) return;  // OnWriteDone comes here again.
      // Read under the lock, so that the last status read is the last sent.
      bool shut_down = false;
      const Response::ServingStatus status =
          service_.StatusOf(name_, &shut_down);
      if (cancelled_ || (shut_down && status == sent_)) {
        finished_ = finish = true;
      } else if (status != sent_) {
        writing_ = true;
        sent_ = status;
        message_.set_status(status);
      } else {
        return;
      }
    }
    // Without the lock: gRPC may call back on this thread.
    if (finish) {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
    } else {
      StartWrite(&message_);
    }
  }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(&mu_);
      writing_ = false;
      if (!ok) cancelled_ = true;
    }
    Update();
  }

  void OnCancel() override {
    {
      MutexLock lock(&mu_);
      cancelled_ = true;
    }
    Update();
  }

  void OnDone() override {
    service_.Forget(self_);
    // Frees this, unless somebody calls Update just now.
    const std::shared_ptr<Watcher> self = std::move(self_);
  }

 private:
  HealthService& service_;
  const std::string name_;
  std::shared_ptr<Watcher> self_;  // Until OnDone.

  Mutex mu_;
  std::optional<Response::ServingStatus> sent_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  Response message_;  // Of the write that runs.
};

void HealthService::SetServing(const std::string& name, bool serving) {
  Watchers watchers;
  {
    MutexLock lock(&mu_);
    if (shut_down_) return;
    serving_[name] = serving;
    watchers = watchers_;
  }
  for (const auto& watcher : watchers) watcher->Update();
}

void HealthService::Shutdown() {
  Watchers watchers;
  {
    MutexLock lock(&mu_);
    shut_down_ = true;
    for (auto& [name, serving] : serving_) serving = false;
    watchers = watchers_;
  }
  for (const auto& watcher : watchers) watcher->Update();
}

grpc::ServerUnaryReactor* HealthService::Check(
    grpc::CallbackServerContext* context, const Request* request,
    Response* response) {
  bool shut_down = false;
  const Response::ServingStatus status =
      StatusOf(request->service(), &shut_down);
  response->set_status(status);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(
      status == Response::SERVICE_UNKNOWN
          ? grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service")
          : grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthService::Response>* HealthService::Watch(
    grpc::CallbackServerContext* context, const Request* request) {
  auto watcher = std::make_shared<Watcher>(this, request->service());
  watcher->HoldYourself(watcher);
  {
    MutexLock lock(&mu_);
    watchers_.insert(watcher);
  }
  watcher->Update();
  return watcher.get();
}

HealthService::Response::ServingStatus HealthService::StatusOf(
    const std::string& name, bool* shut_down) const {
  MutexLock lock(&mu_);
  *shut_down = shut_down_;
  const auto found = serving_.find(name);
  if (found == serving_.end()) return Response::SERVICE_UNKNOWN;
  return found->second ? Response::SERVING : Response::NOT_SERVING;
}

void HealthService::Forget(const std::shared_ptr<Watcher>& watcher) {
  MutexLock lock(&mu_);
  watchers_.erase(watcher);
}

}  // namespace seraph
