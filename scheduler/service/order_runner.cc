#include "scheduler/service/order_runner.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/metrics/auc.h"
#include "common/rpc/call.h"
#include "common/status/status_macros.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/replica_codec.h"
#include "proto/parameters.grpc.pb.h"
#include "proto/replicas.grpc.pb.h"
#include "proto/tasks.grpc.pb.h"
#include "scheduler/io/checkpoint_files.h"
#include "scheduler/io/job_files.h"
#include "scheduler/io/job_record.h"
#include "scheduler/io/model_transfer.h"
#include "scheduler/io/score_spool.h"
#include "scheduler/service/order_codec.h"
#include "scheduler/service/replica_order_codec.h"

namespace seraph {
namespace {

// A piece is read, and perhaps decompressed, at this pace at least.
constexpr uint64_t kLeastBytesPerSecond = uint64_t{256} << 10;

absl::Duration ScanTimeout(const ScanPiece& piece) {
  const uint64_t end = piece.end == 0 ? piece.file.data.size_bytes : piece.end;
  return absl::Minutes(2) + absl::Seconds((end - std::min(end, piece.begin)) /
                                          kLeastBytesPerSecond);
}

absl::StatusOr<ReplyBody> Merge(const MergeScores& order) {
  std::vector<AucRunSource> sources;
  for (const std::string& file : order.files) {
    SERAPH_ASSIGN_OR_RETURN(std::vector<AucRunSource> runs, OpenSpool(file));
    for (AucRunSource& run : runs) sources.push_back(std::move(run));
  }
  SERAPH_ASSIGN_OR_RETURN(const AucResult result, MergeAuc(std::move(sources)));
  return MergedScores{result.auc};
}

}  // namespace

OrderRunner::OrderRunner(const OrderRunnerOptions& options, Parts parts)
    : options_(options), parts_(std::move(parts)), log_lines_(parts_.files) {}

OrderRunner::~OrderRunner() { Stop(); }

void OrderRunner::Stop() {
  std::vector<std::shared_ptr<Cancellation>> under_way;
  std::map<OrderId, std::unique_ptr<ModelFileWriter>> unnamed;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    for (const auto& [id, cancellation] : under_way_) {
      under_way.push_back(cancellation);
    }
    unnamed.swap(unnamed_);
  }
  for (const auto& cancellation : under_way) cancellation->Cancel();
  MutexLock lock(&mu_);
  while (!under_way_.empty()) idle_.Wait(&mu_);
}

std::shared_ptr<Cancellation> OrderRunner::Begin(OrderId id) {
  auto cancellation = std::make_shared<Cancellation>();
  bool stopped;
  {
    MutexLock lock(&mu_);
    under_way_.emplace(id, cancellation);
    stopped = stopped_;
  }
  if (stopped) cancellation->Cancel();
  return cancellation;
}

void OrderRunner::End(OrderId id, absl::StatusOr<ReplyBody> body) {
  Reply reply;
  reply.order = id;
  reply.status = body.status();
  if (body.ok()) reply.body = *std::move(body);
  parts_.report(OrderReplied{std::move(reply)});
  // Last: whoever waits in Stop() takes what this used away.
  MutexLock lock(&mu_);
  under_way_.erase(id);
  if (under_way_.empty()) idle_.NotifyAll();
}

void OrderRunner::GiveUp(OrderId id) {
  std::shared_ptr<Cancellation> cancellation;
  std::unique_ptr<ModelFileWriter> unnamed;  // Removes its file.
  {
    MutexLock lock(&mu_);
    if (const auto it = under_way_.find(id); it != under_way_.end()) {
      cancellation = it->second;
    }
    if (auto node = unnamed_.extract(id); !node.empty()) {
      unnamed = std::move(node.mapped());
    }
  }
  if (cancellation != nullptr) cancellation->Cancel();
}

void OrderRunner::RunHere(
    Executor* executor, OrderId id,
    std::function<absl::StatusOr<ReplyBody>(Cancellation*)> work) {
  const std::shared_ptr<Cancellation> cancellation = Begin(id);
  executor->Schedule([this, id, cancellation, work = std::move(work)] {
    absl::Status given_up = cancellation->Check();
    if (given_up.ok()) {
      End(id, work(cancellation.get()));
    } else {
      End(id, std::move(given_up));
    }
  });
}

absl::StatusOr<ReplyBody> OrderRunner::DoExport(const Order& order,
                                                const ExportModel& body,
                                                Cancellation* cancellation) {
  GrpcPartitionRows partitions(order.job, options_.rows, parts_.channels,
                               cancellation);
  const JobPlan& plan = *body.plan;
  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<ModelFileWriter> writer,
      ExportRows(plan, ModelPath(plan.spec, plan.base_directory), &partitions,
                 [&](double fraction) {
                   parts_.report(OrderProgressed{order.id, fraction});
                   return cancellation->Check();
                 }));
  MutexLock lock(&mu_);
  // Whoever gave the order up has done so before, or will find the writer.
  SERAPH_RETURN_IF_ERROR(cancellation->Check());
  unnamed_.emplace(order.id, std::move(writer));
  return Exported{};
}

absl::StatusOr<ReplyBody> OrderRunner::DoPublish(const PublishModel& body) {
  std::unique_ptr<ModelFileWriter> writer;
  {
    MutexLock lock(&mu_);
    if (auto node = unnamed_.extract(body.exported); !node.empty()) {
      writer = std::move(node.mapped());
    }
  }
  if (writer == nullptr) {
    return absl::CancelledError("the exported model was given up");
  }
  SERAPH_ASSIGN_OR_RETURN(const ModelFileSummary summary, writer->Finish());
  Published published;
  published.digest = summary.digest;
  const JobPlan& plan = *body.plan;
  JobView view = body.view;
  view.model_path = ModelPath(plan.spec, plan.base_directory);
  view.model_digest = summary.digest;
  const absl::Status recorded =
      WriteJobRecord(RecordPath(plan.spec, plan.base_directory), view);
  if (!recorded.ok()) {
    published.warning = absl::StrCat("the model is complete, but its record ",
                                     "is not: ", recorded.message());
  }
  return published;
}

// What each kind of order does.
struct OrderRunner::CarryOut {
  OrderRunner& runner;
  Order& order;

  const OrderRunner::Parts& parts() const { return runner.parts_; }
  absl::Duration timeout() const { return runner.options_.call_timeout; }

  // Calls a method of the node, and ends the order with what `decode` makes of
  // the answer.
  template <typename Service, typename Async, typename Request, typename Answer>
  void CallNode(
      void (Async::*method)(grpc::ClientContext*, const Request*, Answer*,
                            std::function<void(grpc::Status)>),
      std::type_identity_t<Request> request, absl::Duration timeout,
      std::function<absl::StatusOr<ReplyBody>(const Answer&)> decode) {
    if constexpr (requires { request.set_term(0); }) {
      request.set_term(runner.options_.term);
    }
    const OrderId id = order.id;
    const std::shared_ptr<Cancellation> cancellation = runner.Begin(id);
    std::shared_ptr<typename Service::Stub> stub =
        Service::NewStub(parts().channels->Get(order.to->address));
    const StartedCall call = StartCall(
        stub->async(), method, std::move(request), {.timeout = timeout},
        [&runner = runner, id, stub,
         decode = std::move(decode)](absl::StatusOr<Answer> answer) {
          if (answer.ok()) {
            runner.End(id, decode(*answer));
          } else {
            runner.End(id, answer.status());
          }
        });
    cancellation->OnCancel([call] { call.Cancel(); });
  }

  template <typename Answer>
  static absl::StatusOr<ReplyBody> Nothing(const Answer&) {
    return ReplyBody();
  }

  using Tasks = v1::Tasks::StubInterface::async_interface;
  using Parameters = v1::Parameters::StubInterface::async_interface;
  using Replicas = v1::Replicas::StubInterface::async_interface;

  void operator()(const ScanPiece& piece) {
    CallNode<v1::Tasks, Tasks, v1::ScanRequest, v1::ScanReply>(
        &Tasks::Scan, ScanRequestOf(order.job, *order.to, piece),
        ScanTimeout(piece),
        [](const v1::ScanReply& reply) -> absl::StatusOr<ReplyBody> {
          SERAPH_ASSIGN_OR_RETURN(DatasetFacts facts, FromProto(reply.facts()));
          return facts;
        });
  }

  void operator()(const RunRanks& run) {
    CallNode<v1::Tasks, Tasks, v1::RunRanksRequest, v1::RunRanksReply>(
        &Tasks::RunRanks, RunRanksRequestOf(order.job, *order.to, run),
        3 * timeout(), Nothing<v1::RunRanksReply>);
  }

  void operator()(const UpdatePlacements& update) {
    CallNode<v1::Tasks, Tasks, v1::UpdatePlacementsRequest,
             v1::UpdatePlacementsReply>(
        &Tasks::UpdatePlacements, UpdateRequestOf(order.job, *order.to, update),
        timeout(), Nothing<v1::UpdatePlacementsReply>);
  }

  void operator()(const ConfigureReplicas& configure) {
    CallNode<v1::Replicas, Replicas, v1::ConfigureRequest, v1::ConfigureReply>(
        &Replicas::Configure,
        ConfigureRequestOf(order.job, *order.to, configure),
        std::min(timeout(), configure.plan->lease), ConfiguredOf);
  }

  void operator()(const RecruitReplica& recruit) {
    CallNode<v1::Replicas, Replicas, v1::RecruitRequest, v1::RecruitReply>(
        &Replicas::Recruit, RecruitRequestOf(order.job, *order.to, recruit),
        3 * timeout(),
        [](const v1::RecruitReply& reply) -> absl::StatusOr<ReplyBody> {
          return Recruited{reply.epoch(), reply.recruit()};
        });
  }

  void operator()(const HandOver& hand_over) {
    CallNode<v1::Replicas, Replicas, v1::HandOverRequest, v1::HandOverReply>(
        &Replicas::HandOver, HandOverRequestOf(order.job, *order.to, hand_over),
        timeout(),
        [](const v1::HandOverReply& reply) -> absl::StatusOr<ReplyBody> {
          return HandedOver{FromProto(reply.last())};
        });
  }

  void operator()(const BeginCut& begin) {
    CallNode<v1::Replicas, Replicas, v1::BeginCutRequest, v1::BeginCutReply>(
        &Replicas::BeginCut, BeginCutRequestOf(order.job, *order.to, begin),
        timeout(), [](const v1::BeginCutReply& reply) {
          return absl::StatusOr<ReplyBody>(CutClocksOf(reply.clocks()));
        });
  }

  void operator()(const TakeCut& take) {
    CallNode<v1::Replicas, Replicas, v1::TakeCutRequest, v1::TakeCutReply>(
        &Replicas::TakeCut, TakeCutRequestOf(order.job, *order.to, take),
        timeout(), [](const v1::TakeCutReply& reply) {
          return absl::StatusOr<ReplyBody>(CutClocksOf(reply.clocks()));
        });
  }

  void operator()(const WriteCut& write) {
    // As long as the disk takes.
    CallNode<v1::Replicas, Replicas, v1::WriteCutRequest, v1::WriteCutReply>(
        &Replicas::WriteCut, WriteCutRequestOf(order.job, *order.to, write),
        60 * timeout(), [](const v1::WriteCutReply& reply) {
          return absl::StatusOr<ReplyBody>(CutWrittenOf(reply));
        });
  }

  void operator()(const DropCut& drop) {
    CallNode<v1::Replicas, Replicas, v1::DropCutRequest, v1::DropCutReply>(
        &Replicas::DropCut, DropCutRequestOf(order.job, *order.to, drop),
        timeout(), Nothing<v1::DropCutReply>);
  }

  void operator()(const StopJob&) {
    v1::StopJobRequest request;
    request.set_incarnation(order.to->incarnation);
    ToProto(order.job, request.mutable_job());
    CallNode<v1::Tasks, Tasks, v1::StopJobRequest, v1::StopJobReply>(
        &Tasks::StopJob, request, 3 * timeout(), Nothing<v1::StopJobReply>);
  }

  void operator()(const AssignPartitions& assign) {
    CallNode<v1::Parameters, Parameters, v1::AssignPartitionsRequest,
             v1::AssignPartitionsReply>(
        &Parameters::AssignPartitions,
        AssignRequestOf(order.job, *order.to, assign), 6 * timeout(),
        [](const v1::AssignPartitionsReply& reply)
            -> absl::StatusOr<ReplyBody> {
          return Placed{reply.incarnation(), reply.generation()};
        });
  }

  void operator()(const ReadLedger& read) {
    v1::ReadLedgerRequest request;
    ToProto(order.job, request.mutable_job());
    request.set_from_epoch(read.from_epoch);
    request.set_incarnation(order.to->incarnation);
    CallNode<v1::Parameters, Parameters, v1::ReadLedgerRequest,
             v1::ReadLedgerReply>(
        &Parameters::ReadLedger, request, timeout(),
        [](const v1::ReadLedgerReply& reply) -> absl::StatusOr<ReplyBody> {
          return ReadingOf(reply);
        });
  }

  void operator()(const DropJob&) {
    v1::DropJobRequest request;
    ToProto(order.job, request.mutable_job());
    request.set_incarnation(order.to->incarnation);
    CallNode<v1::Parameters, Parameters, v1::DropJobRequest, v1::DropJobReply>(
        &Parameters::DropJob, request, timeout(), Nothing<v1::DropJobReply>);
  }

  void operator()(const ResolveFiles& resolve) {
    runner.RunHere(
        parts().files, order.id,
        [request = resolve.request, checkpoints = resolve.checkpoints,
         job = order.job.id](Cancellation*) -> absl::StatusOr<ReplyBody> {
          SERAPH_RETURN_IF_ERROR(ProveOutput(*request, job));
          if (checkpoints.has_value()) {
            SERAPH_RETURN_IF_ERROR(ProveCheckpointFolder(*checkpoints));
          }
          SERAPH_ASSIGN_OR_RETURN(ResolvedFiles files, ResolveInputs(*request));
          return files;
        });
  }

  void operator()(const LoadInitModel& load) {
    runner.RunHere(
        parts().transfers, order.id,
        [&runner = runner, order = order,
         load](Cancellation* cancellation) -> absl::StatusOr<ReplyBody> {
          GrpcPartitionRows partitions(order.job, runner.options_.rows,
                                       runner.parts_.channels, cancellation);
          SERAPH_RETURN_IF_ERROR(LoadRows(
              *load.plan, load.path, &partitions, [&](double fraction) {
                runner.parts_.report(OrderProgressed{order.id, fraction});
                return cancellation->Check();
              }));
          return ReplyBody();
        });
  }

  void operator()(const MergeScores& merge) {
    runner.RunHere(parts().files, order.id,
                   [merge](Cancellation*) { return Merge(merge); });
  }

  void operator()(const ExportModel& body) {
    runner.RunHere(
        parts().transfers, order.id,
        [&runner = runner, order = order, body](Cancellation* cancellation) {
          return runner.DoExport(order, body, cancellation);
        });
  }

  void operator()(const PublishModel& publish) {
    runner.RunHere(parts().files, order.id,
                   [&runner = runner, publish](Cancellation*) {
                     return runner.DoPublish(publish);
                   });
  }

  void operator()(const WriteManifest& write) {
    runner.RunHere(parts().files, order.id,
                   [job = order.job, write](Cancellation*) {
                     return WriteCheckpointManifest(job, write);
                   });
  }

  void operator()(const PruneCheckpoints& prune) {
    runner.RunHere(parts().files, order.id,
                   [job = order.job.id,
                    prune](Cancellation*) -> absl::StatusOr<ReplyBody> {
                     SERAPH_RETURN_IF_ERROR(PruneCheckpointFolder(job, prune));
                     return ReplyBody();
                   });
  }

  void operator()(const AnswerPerson& answer) {
    if (answer.status.ok()) {
      parts().waiters->Tell(answer.waiter, true);
    } else {
      parts().waiters->Tell(answer.waiter, answer.status);
    }
  }

  void operator()(const Abandon& abandon) { runner.GiveUp(abandon.order); }

  void operator()(const AnswerEpoch& answer) {
    if (answer.status.ok()) {
      parts().waiters->Tell(answer.waiter, answer.stop);
    } else {
      parts().waiters->Tell(answer.waiter, answer.status);
    }
  }

  void operator()(const LogLine& line) {
    spdlog::info("job.event job={} text={}", order.job.id, LogValue(line.text));
    runner.log_lines_.Post([log = parts().log, job = order.job.id, line] {
      log->Append(job, {line.time, line.text});
    });
  }

  void operator()(const WriteRecord& record) {
    parts().files->Schedule([record] {
      const absl::Status written = WriteJobRecord(record.path, record.view);
      if (!written.ok()) {
        spdlog::warn("job.record_not_written job={} status={}", record.view.id,
                     LogValue(written));
      }
    });
  }

  void operator()(const RemoveFiles& remove) {
    parts().files->Schedule([files = remove.files] {
      for (const std::string& file : files) std::remove(file.c_str());
    });
  }

  void operator()(const ForgetJob&) {
    runner.log_lines_.Post(
        [log = parts().log, job = order.job.id] { log->Forget(job); });
  }

  void operator()(const NoteLostNode& lost) {
    spdlog::warn("node.lost node={} address={} reason={}", lost.node.name,
                 lost.node.address, LogValue(lost.what));
    parts().channels->Forget(lost.node.address);
  }
};

void OrderRunner::Carry(Order order) {
  // A copy of the body, because the order is moved along with it.
  const OrderBody body = order.body;
  std::visit(CarryOut{*this, order}, body);
}

}  // namespace seraph
