// Unary client calls.
//
//   using Async = v1::Cluster::StubInterface::async_interface;
//   auto stub = v1::Cluster::NewStub(channels.Get(address));
//   StartCall(stub->async(), &Async::Leave, request,
//             {.timeout = absl::Seconds(1)},
//             [](absl::StatusOr<v1::LeaveReply> reply) { ... });
//
// or, where a thread may wait:
//
//   absl::StatusOr<v1::LeaveReply> reply =
//       Call(stub->async(), &Async::Leave, request,
//            {.timeout = absl::Seconds(1)});
//
// Deadlines count on the monotonic clock.
#ifndef SERAPH_COMMON_RPC_CALL_H_
#define SERAPH_COMMON_RPC_CALL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/concurrent/notification.h"
#include "common/rpc/call_watchdog.h"
#include "common/rpc/grpc_status.h"
#include "grpcpp/client_context.h"

namespace seraph {

struct CallOptions {
  // From the start of the call to DeadlineExceeded; > 0.
  absl::Duration timeout = absl::Seconds(10);

  // Whether a call waits for the connection instead of failing with
  // Unavailable while there is none. For control calls at start alone.
  bool wait_for_ready = false;

  // Cancels the call if gRPC's own timer is stuck. Must outlive the call.
  CallWatchdog* watchdog = CallWatchdog::Default();
};

// Sets the deadline `timeout` from now on the monotonic clock.
void SetDeadline(grpc::ClientContext* context, absl::Duration timeout);

// A call that was started. Copies mean the same call.
//
// Threads: every method may be called from any thread.
class StartedCall {
 public:
  StartedCall() = default;
  explicit StartedCall(std::weak_ptr<grpc::ClientContext> context)
      : context_(std::move(context)) {}

  // Ends the call with Cancelled soon, unless it has ended.
  void Cancel() const {
    if (const auto context = context_.lock()) context->TryCancel();
  }

 private:
  std::weak_ptr<grpc::ClientContext> context_;
};

namespace rpc_internal {

// What a call needs until it ends.
template <typename Request, typename Reply>
struct CallState {
  // Goes before `done` runs. It holds the channel, and gRPC 1.51 crashes now
  // and then when its last channel goes on one of its own threads, which would
  // happen if whoever learns of the end lets the others go first.
  std::shared_ptr<grpc::ClientContext> context =
      std::make_shared<grpc::ClientContext>();
  Request request;
  Reply reply;
  absl::AnyInvocable<void(absl::StatusOr<Reply>)> done;
  CallWatchdog* watchdog = nullptr;
  CallWatchdog::Watch watch;
  std::atomic<bool> overdue = false;  // The watchdog cancelled it.
};

// The watchdog's margin: gRPC's own deadline comes first as a rule.
inline constexpr absl::Duration kWatchdogMargin = absl::Milliseconds(500);

// What `done` gets for a call that did not succeed.
absl::Status StatusOfCall(const grpc::Status& status, bool overdue);

}  // namespace rpc_internal

// Runs `done` exactly once, on a thread of gRPC, which it must not keep busy or
// block; the status is what the server returned (FromGrpcStatus), or gRPC's.
// `stub` (of Service::Stub::async()) must outlive the call; `request` need not.
template <typename Async, typename Request, typename Reply>
StartedCall StartCall(
    std::type_identity_t<Async>* stub,
    void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                          std::function<void(grpc::Status)>),
    std::type_identity_t<Request> request, const CallOptions& options,
    std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<Reply>)>>
        done) {
  using State = rpc_internal::CallState<Request, Reply>;
  auto state = std::make_shared<State>();
  state->request = std::move(request);
  state->done = std::move(done);
  const std::shared_ptr<grpc::ClientContext> context = state->context;
  SetDeadline(context.get(), options.timeout);
  context->set_wait_for_ready(options.wait_for_ready);

  state->watchdog = options.watchdog;
  state->watch = state->watchdog->Add(
      options.timeout + rpc_internal::kWatchdogMargin,
      [weak_state = std::weak_ptr<State>(state),
       weak_context = std::weak_ptr<grpc::ClientContext>(context)] {
        if (const auto alive = weak_state.lock()) alive->overdue = true;
        if (const auto alive = weak_context.lock()) alive->TryCancel();
      });
  (stub->*method)(context.get(), &state->request, &state->reply,
                  [state](grpc::Status status) {
                    state->watchdog->Remove(state->watch);
                    state->context.reset();
                    if (status.ok()) {
                      state->done(std::move(state->reply));
                    } else {
                      state->done(rpc_internal::StatusOfCall(
                          status, state->overdue.load()));
                    }
                  });
  return StartedCall(context);
}

// As StartCall, but waits for the end. Not from a thread of gRPC.
template <typename Async, typename Request, typename Reply>
absl::StatusOr<Reply> Call(
    std::type_identity_t<Async>* stub,
    void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                          std::function<void(grpc::Status)>),
    std::type_identity_t<Request> request, const CallOptions& options) {
  absl::StatusOr<Reply> result;
  Notification ended;
  StartCall(stub, method, std::move(request), options,
            [&](absl::StatusOr<Reply> reply) {
              result = std::move(reply);
              ended.Notify();
            });
  ended.Wait();
  return result;
}

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_CALL_H_
