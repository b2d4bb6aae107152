#include "scheduler/service/grpc_partition_rows.h"

#include <grpcpp/grpcpp.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/rpc/call.h"
#include "common/rpc/call_watchdog.h"
#include "common/rpc/grpc_status.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "proto/parameters.grpc.pb.h"

namespace seraph {
namespace {

// A partition is read at the pace of the disk and of the others it is merged
// with; what hangs is ended by the stall timeout.
constexpr absl::Duration kStreamTimeout = absl::Hours(24);

void FillJob(const JobRef& job, v1::JobRef* message) {
  message->set_id(job.id);
  message->set_generation(job.generation);
}

// Which partition, for messages. One that is not led there any more is led
// elsewhere, or lost: the scheduler is about to learn it.
absl::Status AtPartition(const absl::Status& status,
                         const PartitionPlacement& placement) {
  if (status.ok() || status.code() == absl::StatusCode::kCancelled) {
    return status;
  }
  const bool moved =
      absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
  return Annotate(
      moved ? absl::AbortedError(status.message()) : status,
      absl::StrCat("server ", placement.primary.name, ", table ",
                   placement.table, ", partition ", placement.partition));
}

template <typename T>
absl::Status CopyBytes(const std::string& bytes, absl::string_view what,
                       std::vector<T>* to) {
  if (bytes.size() % sizeof(T) != 0) {
    return absl::InternalError(
        absl::StrCat(what, ": ", bytes.size(), " bytes are no whole number"));
  }
  to->resize(bytes.size() / sizeof(T));
  std::memcpy(to->data(), bytes.data(), bytes.size());
  return absl::OkStatus();
}

class PartitionSource final : public RowSource {
 public:
  PartitionSource(const JobRef& job, const GrpcPartitionRowsOptions& options,
                  std::shared_ptr<grpc::Channel> channel,
                  Cancellation* cancellation, PartitionPlacement placement)
      : options_(options),
        stub_(v1::Parameters::NewStub(channel)),
        cancellation_(*cancellation),
        placement_(std::move(placement)) {
    FillJob(job, request_.mutable_job());
    request_.set_incarnation(placement_.primary.incarnation);
    request_.set_table(placement_.table);
    request_.set_partition(placement_.partition);
  }

  ~PartitionSource() override {
    if (reader_ == nullptr) return;
    context_->TryCancel();
    reader_->Finish();
    cancellation_.Forget(on_cancel_);
  }

  absl::StatusOr<bool> Next(Rows* rows) override {
    for (int failed = 0;;) {
      absl::StatusOr<bool> more = ReadOnce(rows);
      if (more.ok()) {
        if (*more && !DropKnown(rows)) continue;
        return more;
      }
      SERAPH_RETURN_IF_ERROR(cancellation_.Check());
      if (!IsTransient(more.status()) || ++failed == options_.attempts) {
        return AtPartition(more.status(), placement_);
      }
      cancellation_.Sleep(options_.pause);
    }
  }

 private:
  absl::StatusOr<bool> ReadOnce(Rows* rows) {
    if (ended_) return false;
    if (reader_ == nullptr) {
      SERAPH_RETURN_IF_ERROR(cancellation_.Check());
      context_ = std::make_shared<grpc::ClientContext>();
      SetDeadline(context_.get(), kStreamTimeout);
      on_cancel_ = cancellation_.OnCancel(CancelLater());
      reader_ = stub_->ExportPartition(context_.get(), request_);
    }
    v1::RowChunk chunk;
    CallWatchdog* const watchdog = CallWatchdog::Default();
    const CallWatchdog::Watch watch =
        watchdog->Add(options_.stall_timeout, CancelLater());
    const bool read = reader_->Read(&chunk);
    watchdog->Remove(watch);
    if (read) {
      SERAPH_RETURN_IF_ERROR(CopyBytes(chunk.keys(), "keys", &rows->keys));
      SERAPH_RETURN_IF_ERROR(
          CopyBytes(chunk.values(), "values", &rows->values));
      return true;
    }
    const absl::Status status = FromGrpcStatus(reader_->Finish());
    reader_.reset();
    cancellation_.Forget(on_cancel_);
    if (status.ok()) {
      ended_ = true;
      return false;
    }
    if (status.code() == absl::StatusCode::kCancelled) {
      // By the watchdog, unless by whoever wants no more of this.
      return absl::UnavailableError(absl::StrCat(
          "no row for ", absl::FormatDuration(options_.stall_timeout)));
    }
    return status;
  }

  std::function<void()> CancelLater() const {
    return [weak = std::weak_ptr<grpc::ClientContext>(context_)] {
      if (const auto alive = weak.lock()) alive->TryCancel();
    };
  }

  // A stream that is read anew begins with rows that are known. False if
  // nothing is left.
  bool DropKnown(Rows* rows) {
    if (rows->keys.empty()) return false;
    size_t known = 0;
    while (last_.has_value() && known < rows->keys.size() &&
           rows->keys[known] <= *last_) {
      ++known;
    }
    if (known > 0) {
      const size_t width = rows->values.size() / rows->keys.size();
      rows->keys.erase(rows->keys.begin(), rows->keys.begin() + known);
      rows->values.erase(rows->values.begin(),
                         rows->values.begin() + known * width);
    }
    if (rows->keys.empty()) return false;
    last_ = rows->keys.back();
    return true;
  }

  const GrpcPartitionRowsOptions options_;
  const std::unique_ptr<v1::Parameters::Stub> stub_;
  Cancellation& cancellation_;
  const PartitionPlacement placement_;
  v1::ExportPartitionRequest request_;
  std::shared_ptr<grpc::ClientContext> context_;
  uint64_t on_cancel_ = 0;
  std::unique_ptr<grpc::ClientReader<v1::RowChunk>> reader_;
  std::optional<Key> last_;
  bool ended_ = false;
};

}  // namespace

GrpcPartitionRows::GrpcPartitionRows(JobRef job,
                                     const GrpcPartitionRowsOptions& options,
                                     ChannelCache* channels,
                                     Cancellation* cancellation)
    : job_(std::move(job)),
      options_(options),
      channels_(channels),
      cancellation_(cancellation) {}

std::unique_ptr<RowSource> GrpcPartitionRows::Read(
    const PartitionPlacement& placement) {
  return std::make_unique<PartitionSource>(
      job_, options_, channels_->Get(placement.primary.address), cancellation_,
      placement);
}

absl::Status GrpcPartitionRows::Write(const PartitionPlacement& placement,
                                      const Rows& rows) {
  using Async = v1::Parameters::StubInterface::async_interface;
  v1::LoadRowsRequest request;
  FillJob(job_, request.mutable_job());
  request.set_incarnation(placement.primary.incarnation);
  request.set_table(placement.table);
  request.set_partition(placement.partition);
  request.set_keys(rows.keys.data(), rows.keys.size() * sizeof(Key));
  request.set_values(rows.values.data(), rows.values.size() * sizeof(float));
  const auto stub =
      v1::Parameters::NewStub(channels_->Get(placement.primary.address));
  for (int failed = 0;;) {
    SERAPH_RETURN_IF_ERROR(cancellation_->Check());
    const absl::Status status = Call(stub->async(), &Async::LoadRows, request,
                                     {.timeout = options_.call_timeout})
                                    .status();
    if (status.ok()) return status;
    if (!IsTransient(status) || ++failed == options_.attempts) {
      return AtPartition(status, placement);
    }
    cancellation_->Sleep(options_.pause);
  }
}

}  // namespace seraph
