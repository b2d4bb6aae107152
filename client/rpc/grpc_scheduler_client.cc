#include "client/rpc/grpc_scheduler_client.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/rpc/codec.h"
#include "common/concurrent/notification.h"
#include "common/rpc/call.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/scheduler_channel.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/table_codec.h"
#include "grpcpp/client_context.h"
#include "proto/cluster.grpc.pb.h"
#include "proto/jobs.grpc.pb.h"
#include "worker/client/function_caller.h"
#include "worker/client/grpc_function_peers.h"
#include "worker/client/table_router.h"

namespace seraph {
namespace {

// A stream is opened anew after this time, so that none is without a deadline.
constexpr absl::Duration kStreamTimeout = absl::Minutes(10);
// Of calls that wait for a checkpoint.
constexpr absl::Duration kCheckpointTimeout = absl::Hours(1);
// Of several schedulers: how many times the calls' timeout the election of one
// is waited for, and how often it is asked for.
constexpr int kElectionTimeouts = 3;
constexpr absl::Duration kElectionPause = absl::Milliseconds(100);

class GrpcSchedulerClient final : public SchedulerClient {
 public:
  GrpcSchedulerClient(std::string address, absl::Duration timeout,
                      Interrupt* interrupt)
      : address_(std::move(address)),
        timeout_(timeout),
        interrupt_(*interrupt),
        scheduler_(address_) {}

  const std::string& address() const override { return address_; }

  absl::StatusOr<std::string> SubmitJob(
      const JobSubmission& submission) override {
    v1::SubmitJobRequest request;
    request.set_yaml(submission.yaml);
    request.set_file_name(submission.file_name);
    request.set_base_directory(submission.base_directory);
    request.set_submission_id(submission.submission_id);
    SERAPH_ASSIGN_OR_RETURN(
        const v1::SubmitJobReply reply,
        Unary<v1::Jobs>(&Jobs::SubmitJob, std::move(request), timeout_));
    return reply.id();
  }

  absl::StatusOr<JobView> GetJob(const std::string& id) override {
    v1::GetJobRequest request;
    request.set_id(id);
    SERAPH_ASSIGN_OR_RETURN(
        const v1::JobStatus reply,
        Unary<v1::Jobs>(&Jobs::GetJob, std::move(request), timeout_));
    return FromProto(reply);
  }

  absl::StatusOr<std::vector<JobView>> ListJobs() override {
    SERAPH_ASSIGN_OR_RETURN(
        const v1::ListJobsReply reply,
        Unary<v1::Jobs>(&Jobs::ListJobs, v1::ListJobsRequest(), timeout_));
    std::vector<JobView> jobs;
    for (const v1::JobStatus& job : reply.jobs())
      jobs.push_back(FromProto(job));
    return jobs;
  }

  absl::Status WatchJob(
      const std::string& id,
      const std::function<void(const JobView&)>& on_status) override {
    v1::WatchJobRequest request;
    request.set_id(id);
    bool ended = false;
    while (!ended) {
      SERAPH_RETURN_IF_ERROR(Stream<v1::JobStatus>(
          [&](v1::Jobs::Stub* jobs, grpc::ClientContext* context) {
            return jobs->WatchJob(context, request);
          },
          [&](const v1::JobStatus& message) {
            const JobView job = FromProto(message);
            ended = HasEnded(job.state);
            on_status(job);
            return true;
          },
          &ended));
    }
    return absl::OkStatus();
  }

  absl::Status ReadJobLog(
      const std::string& id, bool follow,
      const std::function<bool(const LogLine&)>& on_line) override {
    v1::ReadJobLogRequest request;
    request.set_id(id);
    request.set_follow(follow);
    uint64_t taken = 0;
    bool complete = false;
    while (!complete) {
      // A stream that is opened anew begins with the first line again.
      uint64_t place = 0;
      SERAPH_RETURN_IF_ERROR(Stream<v1::JobLogLine>(
          [&](v1::Jobs::Stub* jobs, grpc::ClientContext* context) {
            return jobs->ReadJobLog(context, request);
          },
          [&](const v1::JobLogLine& message) {
            if (place++ < taken) return true;
            taken = place;
            return on_line(FromProto(message));
          },
          &complete));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<JobView> CancelJob(const std::string& id) override {
    v1::CancelJobRequest request;
    request.set_id(id);
    SERAPH_ASSIGN_OR_RETURN(
        const v1::JobStatus reply,
        Unary<v1::Jobs>(&Jobs::CancelJob, std::move(request), timeout_));
    return FromProto(reply);
  }

  absl::StatusOr<CheckpointView> CheckpointJob(const std::string& id) override {
    v1::CheckpointJobRequest request;
    request.set_id(id);
    SERAPH_ASSIGN_OR_RETURN(
        const v1::CheckpointJobReply reply,
        Unary<v1::Jobs>(&Jobs::CheckpointJob, std::move(request),
                        kCheckpointTimeout));
    return FromProto(reply.checkpoint());
  }

  absl::StatusOr<JobView> PauseJob(const std::string& id) override {
    v1::PauseJobRequest request;
    request.set_id(id);
    SERAPH_ASSIGN_OR_RETURN(const v1::JobStatus reply,
                            Unary<v1::Jobs>(&Jobs::PauseJob, std::move(request),
                                            kCheckpointTimeout));
    return FromProto(reply);
  }

  absl::StatusOr<JobView> ResumeJob(const std::string& id) override {
    v1::ResumeJobRequest request;
    request.set_id(id);
    SERAPH_ASSIGN_OR_RETURN(
        const v1::JobStatus reply,
        Unary<v1::Jobs>(&Jobs::ResumeJob, std::move(request),
                        kCheckpointTimeout));
    return FromProto(reply);
  }

  absl::Status Drain(const std::string& node) override {
    v1::DrainRequest request;
    request.set_name(node);
    return Unary<v1::Cluster>(&Cluster::Drain, std::move(request), timeout_)
        .status();
  }

  absl::StatusOr<FunctionResult> CallFunction(
      const std::string& id, const std::string& table,
      const FunctionCall& call) override {
    GrpcFunctionPeers peers(
        ChannelOptions(), [&] { return FindTables(id); },
        [&](absl::Duration time) {
          interrupt_.WaitFor(time);
          return interrupt_.Check();
        });
    const auto subscription = OnInterrupt([&peers] { peers.Cancel(); });
    FunctionCaller caller({}, &peers);
    return caller.Read(table, call);
  }

  absl::StatusOr<ClusterView> DescribeCluster() override {
    SERAPH_ASSIGN_OR_RETURN(
        const v1::DescribeClusterReply reply,
        Unary<v1::Cluster>(&Cluster::DescribeCluster,
                           v1::DescribeClusterRequest(), timeout_));
    return FromProto(reply);
  }

 private:
  using Jobs = v1::Jobs::StubInterface::async_interface;
  using Cluster = v1::Cluster::StubInterface::async_interface;

  absl::StatusOr<FunctionTables> FindTables(const std::string& id) {
    v1::FindTablesRequest request;
    request.set_id(id);
    SERAPH_ASSIGN_OR_RETURN(
        const v1::FindTablesReply reply,
        Unary<v1::Jobs>(&Jobs::FindTables, std::move(request), timeout_));
    std::vector<TableSpec> tables;
    for (const v1::TableSpec& message : reply.tables()) {
      SERAPH_ASSIGN_OR_RETURN(TableSpec spec, seraph::FromProto(message));
      tables.push_back(std::move(spec));
    }
    std::vector<PartitionPlacement> placements;
    for (const v1::PartitionPlacement& message : reply.partitions()) {
      SERAPH_ASSIGN_OR_RETURN(PartitionPlacement placement,
                              seraph::FromProto(message));
      placements.push_back(std::move(placement));
    }
    SERAPH_ASSIGN_OR_RETURN(
        TableRouter router,
        TableRouter::Make(std::move(tables), std::move(placements),
                          reply.placements_version()));
    return FunctionTables{
        .job = reply.job().id(),
        .generation = reply.job().generation(),
        .router = std::make_shared<const TableRouter>(std::move(router))};
  }

  // Runs `cancel` if the user asks to stop from now on.
  std::unique_ptr<Interrupt::Subscription> OnInterrupt(
      absl::AnyInvocable<void()> cancel) {
    if (interrupt_.requested()) return nullptr;
    return interrupt_.Subscribe(std::move(cancel));
  }

  // Of several schedulers those that do not lead say so at once, and one that
  // hangs leaves time for the others. While none leads they are asked again; a
  // single scheduler that is not there is an error at once.
  template <typename Service, typename Async, typename Request, typename Reply>
  absl::StatusOr<Reply> Unary(
      void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                            std::function<void(grpc::Status)>),
      std::type_identity_t<Request> request, absl::Duration timeout) {
    const bool several = scheduler_.size() > 1;
    const absl::Duration begun = MonotonicClock::Real()->Now();
    const absl::Duration patience = begun + kElectionTimeouts * timeout_;
    const absl::Duration end =
        std::max(begun + timeout, several ? patience : absl::ZeroDuration());
    while (true) {
      const SchedulerChannel::Target target = scheduler_.Get();
      const auto stub = Service::NewStub(target.channel);
      absl::StatusOr<Reply> result;
      Notification ended;
      absl::Duration left = end - MonotonicClock::Real()->Now();
      if (several && timeout == timeout_) left = std::min(left, timeout / 2);
      const StartedCall call =
          StartCall(stub->async(), method, request,
                    {.timeout = std::max(left, absl::Milliseconds(1))},
                    [&](absl::StatusOr<Reply> reply) {
                      result = std::move(reply);
                      ended.Notify();
                    });
      const auto subscription = OnInterrupt([&call] { call.Cancel(); });
      ended.Wait();
      const absl::Status status = AsHeard(result.status());
      const bool at_once = scheduler_.Report(target, status);
      if (status.ok()) return result;
      const absl::Duration now = MonotonicClock::Real()->Now();
      if (at_once && now < end && !interrupt_.requested()) continue;
      const bool electing = several ? IsSilent(status) : IsNotLeader(status);
      if (electing && now < patience && !interrupt_.WaitFor(kElectionPause)) {
        continue;
      }
      return Explain(status);
    }
  }

  // A scheduler that ends, as one does that leads no more, cuts its calls off.
  // That it was the user only this side can say.
  absl::Status AsHeard(const absl::Status& status) const {
    if (!absl::IsCancelled(status) || interrupt_.requested()) return status;
    return absl::UnavailableError("it broke the call off");
  }

  static bool IsSilent(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  }

  static bool IsNotLeader(const absl::Status& status) {
    return ReasonOf(status) == "NOT_LEADER";
  }

  // Reads a stream to its end. `*complete` is set when the server has ended it,
  // or `on_message` returned false, and not when it has to be opened anew.
  template <typename Message>
  absl::Status Stream(
      const std::function<std::unique_ptr<grpc::ClientReader<Message>>(
          v1::Jobs::Stub*, grpc::ClientContext*)>& open,
      const std::function<bool(const Message&)>& on_message, bool* complete) {
    const SchedulerChannel::Target target = scheduler_.Get();
    const auto jobs = v1::Jobs::NewStub(target.channel);
    grpc::ClientContext context;
    SetDeadline(&context, kStreamTimeout);
    const auto subscription = OnInterrupt([&context] { context.TryCancel(); });
    const std::unique_ptr<grpc::ClientReader<Message>> reader =
        open(jobs.get(), &context);
    Message message;
    bool wanted = true;
    while (wanted && reader->Read(&message)) wanted = on_message(message);
    if (!wanted) context.TryCancel();
    const grpc::Status status = reader->Finish();
    if (!wanted || status.ok()) {
      *complete = true;
      return absl::OkStatus();
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return absl::OkStatus();
    }
    const absl::Status error = AsHeard(FromGrpcStatus(status));
    // Another scheduler may know the job: it is opened anew there.
    if (scheduler_.Report(target, error) && !interrupt_.requested()) {
      return absl::OkStatus();
    }
    return Explain(error);
  }

  // Says what to do where there was no answer.
  absl::Status Explain(const absl::Status& status) const {
    absl::string_view what;
    switch (status.code()) {
      case absl::StatusCode::kUnavailable:
      case absl::StatusCode::kDeadlineExceeded:
        what = "is it running?";
        break;
      case absl::StatusCode::kUnimplemented:
        what = "what answers there is no Seraph scheduler;";
        break;
      default:
        return status;
    }
    return absl::Status(
        status.code(),
        absl::StrCat("cannot reach the scheduler at ", address_, ": ",
                     status.message(), "; ", what,
                     " --scheduler HOST:PORT or SERAPH_SCHEDULER says where it "
                     "is"));
  }

  const std::string address_;
  const absl::Duration timeout_;
  Interrupt& interrupt_;
  SchedulerChannel scheduler_;
};

}  // namespace

std::unique_ptr<SchedulerClient> MakeGrpcSchedulerClient(
    const std::string& address, absl::Duration timeout, Interrupt* interrupt) {
  return std::make_unique<GrpcSchedulerClient>(address, timeout, interrupt);
}

}  // namespace seraph
