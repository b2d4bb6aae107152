#include "scheduler/store/etcd_client.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/call.h"
#include "common/rpc/call_watchdog.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::Duration kWatchdogMargin = absl::Milliseconds(200);

// Whether another member, or the same one later, may do better. Unknown is what
// gRPC makes of a connection that breaks in the middle.
bool MayWorkElsewhere(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable ||
         code == absl::StatusCode::kDeadlineExceeded ||
         code == absl::StatusCode::kCancelled ||
         code == absl::StatusCode::kUnknown;
}

}  // namespace

EtcdClient::EtcdClient(const std::vector<std::string>& endpoints,
                       absl::Duration timeout)
    : timeout_(timeout) {
  for (const std::string& address : endpoints) {
    Member& member = members_.emplace_back();
    member.address = address;
    member.channel =
        MakeChannel(address, {.max_reconnect_pause = absl::Seconds(1)});
    member.kv = etcdserverpb::KV::NewStub(member.channel);
    member.lease = etcdserverpb::Lease::NewStub(member.channel);
  }
}

absl::Status EtcdClient::CallOne(const Member& member, const Attempt& attempt) {
  const auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(context.get(), timeout_);
  const CallWatchdog::Watch watch = CallWatchdog::Default()->Add(
      timeout_ + kWatchdogMargin,
      [weak = std::weak_ptr<grpc::ClientContext>(context)] {
        if (const auto alive = weak.lock()) alive->TryCancel();
      });
  const grpc::Status status = attempt(member, context.get());
  CallWatchdog::Default()->Remove(watch);
  return Annotate(FromGrpcStatus(status),
                  absl::StrCat("etcd at ", member.address));
}

absl::Status EtcdClient::Call(const Attempt& attempt) {
  size_t first;
  {
    MutexLock lock(&mu_);
    first = current_;
  }
  absl::Status status;
  for (size_t i = 0; i < members_.size(); ++i) {
    const size_t index = (first + i) % members_.size();
    ReconnectNow(members_[index].channel.get());
    status = CallOne(members_[index], attempt);
    if (!MayWorkElsewhere(status.code())) {
      MutexLock lock(&mu_);
      current_ = index;
      return status;
    }
  }
  return absl::UnavailableError(status.message());
}

absl::StatusOr<etcdserverpb::RangeResponse> EtcdClient::Range(
    const etcdserverpb::RangeRequest& request) {
  etcdserverpb::RangeResponse response;
  SERAPH_RETURN_IF_ERROR(Call([&](const Member& member, auto* context) {
    return member.kv->Range(context, request, &response);
  }));
  return response;
}

absl::StatusOr<etcdserverpb::TxnResponse> EtcdClient::Txn(
    const etcdserverpb::TxnRequest& request) {
  etcdserverpb::TxnResponse response;
  SERAPH_RETURN_IF_ERROR(Call([&](const Member& member, auto* context) {
    return member.kv->Txn(context, request, &response);
  }));
  return response;
}

absl::StatusOr<etcdserverpb::CompactionResponse> EtcdClient::Compact(
    const etcdserverpb::CompactionRequest& request) {
  etcdserverpb::CompactionResponse response;
  SERAPH_RETURN_IF_ERROR(Call([&](const Member& member, auto* context) {
    return member.kv->Compact(context, request, &response);
  }));
  return response;
}

absl::StatusOr<etcdserverpb::LeaseGrantResponse> EtcdClient::Grant(
    const etcdserverpb::LeaseGrantRequest& request) {
  etcdserverpb::LeaseGrantResponse response;
  SERAPH_RETURN_IF_ERROR(Call([&](const Member& member, auto* context) {
    return member.lease->LeaseGrant(context, request, &response);
  }));
  return response;
}

absl::StatusOr<etcdserverpb::LeaseRevokeResponse> EtcdClient::Revoke(
    const etcdserverpb::LeaseRevokeRequest& request) {
  etcdserverpb::LeaseRevokeResponse response;
  SERAPH_RETURN_IF_ERROR(Call([&](const Member& member, auto* context) {
    return member.lease->LeaseRevoke(context, request, &response);
  }));
  return response;
}

absl::StatusOr<etcdserverpb::LeaseKeepAliveResponse> EtcdClient::KeepAlive(
    const etcdserverpb::LeaseKeepAliveRequest& request) {
  etcdserverpb::LeaseKeepAliveResponse response;
  // A stream for each: the next one may go to another member.
  SERAPH_RETURN_IF_ERROR(Call([&](const Member& member, auto* context) {
    const auto stream = member.lease->LeaseKeepAlive(context);
    const bool answered = stream->Write(request) && stream->Read(&response);
    if (answered) {
      context->TryCancel();  // The stream would stay open.
      (void)stream->Finish();
      return grpc::Status::OK;
    }
    const grpc::Status status = stream->Finish();
    return status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                      "the stream ended without an answer")
                       : status;
  }));
  if (response.ttl() <= 0) {
    return absl::NotFoundError("etcd does not know the lease any more");
  }
  return response;
}

}  // namespace seraph
