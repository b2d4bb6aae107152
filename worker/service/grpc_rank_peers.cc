#include "worker/service/grpc_rank_peers.h"

#include <algorithm>
#include <utility>

#include "common/concurrent/notification.h"
#include "common/rpc/grpc_status.h"

namespace seraph {
namespace {

// Scores of one message of a share: 24 bytes each at most.
constexpr size_t kScoresPerMessage = 50'000;

template <typename Ref>
void FillJob(const GrpcRankPeersOptions& options, Ref* ref) {
  ref->set_id(options.job);
  ref->set_generation(options.generation);
}

template <typename Ref>
void FillRank(const GrpcRankPeersOptions& options, Ref* ref) {
  ref->set_rank(options.rank);
  ref->set_attempt(options.attempt);
}

}  // namespace

GrpcRankPeers::GrpcRankPeers(GrpcRankPeersOptions options, LinkCache* links,
                             SchedulerChannel* scheduler)
    : options_(std::move(options)), links_(*links), scheduler_(*scheduler) {}

std::shared_ptr<ServerLink> GrpcRankPeers::LinkTo(const Node& server) {
  KnownLink replaced;  // Ends without the lock.
  MutexLock lock(&mu_);
  KnownLink& known = known_[server.address];
  if (known.link == nullptr || known.incarnation != server.incarnation) {
    replaced = std::exchange(
        known, {.incarnation = server.incarnation, .link = links_.Get(server)});
  }
  return known.link;
}

void GrpcRankPeers::Send(
    const Node& server, std::shared_ptr<const RankRequest> request,
    absl::AnyInvocable<void(absl::StatusOr<WithBulk<v1::ExchangeReply>>)>
        done) {
  LinkTo(server)->Send(std::move(request), std::move(done));
}

bool GrpcRankPeers::Enter(StartedCall call) {
  MutexLock lock(&mu_);
  running_ = std::move(call);
  return !cancelled_;
}

template <typename Async, typename Request, typename Reply>
absl::StatusOr<Reply> GrpcRankPeers::Call(
    std::type_identity_t<Async>* stub,
    void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                          std::function<void(grpc::Status)>),
    Request request, absl::Duration timeout) {
  absl::StatusOr<Reply> result;
  Notification ended;
  const StartedCall call =
      StartCall(stub, method, std::move(request), {.timeout = timeout},
                [&](absl::StatusOr<Reply> reply) {
                  result = std::move(reply);
                  ended.Notify();
                });
  if (!Enter(call)) call.Cancel();
  ended.Wait();
  return result;
}

absl::StatusOr<v1::BeginAttemptReply> GrpcRankPeers::BeginAttempt(
    const Node& server) {
  using Async = v1::Parameters::StubInterface::async_interface;
  v1::BeginAttemptRequest request;
  FillJob(options_, request.mutable_header()->mutable_job());
  FillRank(options_, request.mutable_header()->mutable_rank());
  request.mutable_header()->set_incarnation(server.incarnation);
  const std::shared_ptr<ServerLink> link = LinkTo(server);
  const auto stub = v1::Parameters::NewStub(link->channel());
  return Call(stub->async(), &Async::BeginAttempt, std::move(request),
              options_.lease);
}

void GrpcRankPeers::BeginAsking() {
  MutexLock lock(&mu_);
  asking_ = true;
  ask_anew_ = false;
}

absl::Status GrpcRankPeers::EndAsking(const SchedulerChannel::Target& target,
                                      absl::Status status) {
  {
    MutexLock lock(&mu_);
    asking_ = false;
    if (ask_anew_ && !cancelled_ && absl::IsCancelled(status)) {
      status = absl::UnavailableError("another scheduler leads");
    }
  }
  scheduler_.Report(target, status);
  return status;
}

absl::StatusOr<bool> GrpcRankPeers::FinishEpoch(const EpochShare& share) {
  BeginAsking();
  const SchedulerChannel::Target target = scheduler_.Get();
  const auto stub = v1::Cluster::NewStub(target.channel);
  const absl::StatusOr<bool> stop = FinishEpochAt(stub.get(), share);
  const absl::Status status = EndAsking(target, stop.status());
  if (!status.ok()) return status;
  return *stop;
}

absl::StatusOr<bool> GrpcRankPeers::FinishEpochAt(v1::Cluster::Stub* scheduler,
                                                  const EpochShare& share) {
  const auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(context.get(), options_.decision_timeout);
  CallWatchdog* watchdog = CallWatchdog::Default();
  const CallWatchdog::Watch watch =
      watchdog->Add(options_.decision_timeout + absl::Seconds(1),
                    [weak = std::weak_ptr<grpc::ClientContext>(context)] {
                      if (const auto alive = weak.lock()) alive->TryCancel();
                    });
  const StartedCall call{context};
  if (!Enter(call)) call.Cancel();

  v1::FinishEpochReply reply;
  const auto writer = scheduler->FinishEpoch(context.get(), &reply);
  v1::FinishEpochRequest first;
  v1::FinishEpochHeader* header = first.mutable_header();
  FillJob(options_, header->mutable_job());
  FillRank(options_, header->mutable_rank());
  header->set_epoch(share.epoch);
  header->set_train_seconds(share.train_seconds);
  if (share.validation.has_value()) {
    for (double sum : share.validation->ToArray()) {
      header->add_validation_sums(sum);
    }
  }
  // A write that fails shows in the status at the end.
  bool open = writer->Write(first);
  for (const AucRun& run : share.runs) {
    for (size_t begin = 0; open && begin < run.size();
         begin += kScoresPerMessage) {
      v1::FinishEpochRequest part;
      const size_t end = std::min(run.size(), begin + kScoresPerMessage);
      for (size_t i = begin; i < end; ++i) {
        part.mutable_run()->add_scores(run[i].score);
        part.mutable_run()->add_positives(run[i].positives);
        part.mutable_run()->add_negatives(run[i].negatives);
      }
      open = writer->Write(part);
    }
  }
  if (open) {
    v1::FinishEpochRequest last;
    last.set_complete(true);
    writer->Write(last);
    writer->WritesDone();
  }
  const grpc::Status status = writer->Finish();
  watchdog->Remove(watch);
  if (!status.ok()) return FromGrpcStatus(status);
  return reply.stop();
}

absl::Status GrpcRankPeers::ReportRank(const absl::Status& ended) {
  using Async = v1::Cluster::StubInterface::async_interface;
  v1::ReportRankRequest request;
  FillJob(options_, request.mutable_job());
  FillRank(options_, request.mutable_rank());
  request.set_incarnation(options_.worker_incarnation);
  request.set_code(static_cast<int>(ended.code()));
  request.set_message(std::string(ended.message()));
  BeginAsking();
  const SchedulerChannel::Target target = scheduler_.Get();
  const auto stub = v1::Cluster::NewStub(target.channel);
  return EndAsking(target, Call(stub->async(), &Async::ReportRank,
                                std::move(request), options_.call_timeout)
                               .status());
}

void GrpcRankPeers::AskSchedulerAnew() {
  StartedCall running;
  {
    MutexLock lock(&mu_);
    if (!asking_) return;
    ask_anew_ = true;
    running = running_;
  }
  running.Cancel();
}

void GrpcRankPeers::Cancel() {
  StartedCall running;
  {
    MutexLock lock(&mu_);
    cancelled_ = true;
    running = running_;
  }
  running.Cancel();
}

}  // namespace seraph
