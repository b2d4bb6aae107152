#include "client/bench/held_tables.h"

#include <fstream>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/job/job_file.h"
#include "common/cluster/node_identity.h"
#include "common/job/job_tables.h"
#include "common/job/optimizer_keys.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/time/clock.h"
#include "proto/parameters.grpc.pb.h"

namespace seraph {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kCallTimeout = absl::Seconds(10);
// So many that the workers' ranks do not come to an epoch's end before they
// are replaced.
constexpr int kRecords = 200'000;

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return absl::UnknownError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::StatusOr<v1::DescribeServerReply> Describe(const std::string& address) {
  using Calls = v1::Parameters::StubInterface::async_interface;
  const auto stub = v1::Parameters::NewStub(MakeChannel(address, {}));
  const auto reply =
      Call(stub->async(), &Calls::DescribeServer, v1::DescribeServerRequest(),
           {.timeout = kCallTimeout, .wait_for_ready = true});
  if (!reply.ok()) {
    return Annotate(reply.status(), absl::StrCat("server ", address));
  }
  return *reply;
}

}  // namespace

std::string HeldJobYaml(const BenchOptions& options, const std::string& data) {
  std::string yaml =
      absl::StrCat("name: bench\nseed: ", options.seed,
                   "\nranks: ", options.clients, "\nmodel:\n  bias: none\n");
  if (options.width == 1) {
    absl::StrAppend(&yaml, "  kind: linear_regression\n");
  } else {
    absl::StrAppend(&yaml, "  kind: softmax\n  classes: ", options.width, "\n");
  }
  if (options.table == TableKind::kDense) {
    absl::StrAppend(&yaml, "  keys: ", options.table_keys, "\n");
  }
  absl::StrAppend(
      &yaml, "data: {format: libsvm, train: ['", data, "']}\n",
      "train: {epochs: 1000000, batch_size: 1, stall_timeout: 0s, shuffle: "
      "false, optimizer: {kind: ",
      OptimizerKindName(options.optimizer), "}}\nsync: {mode: asp}\n",
      "tables: {partitions: ",
      options.partitions > 0 ? options.partitions : kDefaultPartitions,
      ", replicas: ", options.replicas,
      // Keys of a file are as its features are numbered: mostly small ones.
      ", scramble: ",
      options.distribution == KeyDistribution::kFile ? "true" : "false",
      "}\noutput: {directory: out}\n");
  return yaml;
}

absl::StatusOr<std::unique_ptr<HeldTables>> HeldTables::Create(
    const BenchOptions& options, SchedulerClient* scheduler,
    const std::string& folder, Interrupt* interrupt) {
  // Two labels, for softmax; a linear regression takes them too.
  std::string records = "1\n";
  for (int i = 1; i < kRecords; ++i) records += "0\n";
  SERAPH_RETURN_IF_ERROR(WriteFile(folder + "/records.txt", records));
  const std::string path = folder + "/job.yaml";
  SERAPH_RETURN_IF_ERROR(
      WriteFile(path, HeldJobYaml(options, folder + "/records.txt")));
  SERAPH_ASSIGN_OR_RETURN(const JobFile file, LoadJobFile(path, {}));
  SERAPH_ASSIGN_OR_RETURN(
      std::string job,
      scheduler->SubmitJob(SubmissionOf(
          file, absl::StrCat("bench-", absl::Hex(NewIncarnation())))));
  auto held = absl::WrapUnique(new HeldTables(scheduler, std::move(job)));
  SERAPH_RETURN_IF_ERROR(held->AwaitTraining(options, interrupt));
  SERAPH_RETURN_IF_ERROR(held->FindPartitions(options));
  return held;
}

HeldTables::~HeldTables() { scheduler_.CancelJob(job_).IgnoreError(); }

absl::Status HeldTables::AwaitTraining(const BenchOptions& options,
                                       Interrupt* interrupt) {
  const MonotonicClock& clock = *MonotonicClock::Real();
  const absl::Duration end = clock.Now() + kPatience;
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const JobView job, scheduler_.GetJob(job_));
    if (HasEnded(job.state)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the job that holds the table has ended: ", job.error));
    }
    if (job.phase == "training" && job.least_in_sync >= options.replicas) {
      return absl::OkStatus();
    }
    if (clock.Now() >= end) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the table is not there after ", absl::FormatDuration(kPatience),
          "; its job is in the phase '", job.phase, "', with ",
          job.least_in_sync, " of ", options.replicas,
          " replicas, and waits for: ", job.waiting_for));
    }
    if (interrupt->WaitFor(kPoll)) return absl::CancelledError("interrupted");
  }
}

absl::Status HeldTables::FindPartitions(const BenchOptions& options) {
  SERAPH_ASSIGN_OR_RETURN(const ParsedJob parsed,
                          ParseJobFile(HeldJobYaml(options, "data"), "", {}));
  SERAPH_ASSIGN_OR_RETURN(
      std::vector<TableSpec> tables,
      JobTables(parsed.spec, parsed.spec.model.classes, kDefaultPartitions));
  const Partitioning cut(tables[0]);
  std::vector<PartitionPlacement> placements(cut.partitions());
  SERAPH_ASSIGN_OR_RETURN(const ClusterView cluster,
                          scheduler_.DescribeCluster());
  for (const NodeView& node : cluster.nodes) {
    if (node.role != "server" || node.state != "ALIVE") continue;
    SERAPH_ASSIGN_OR_RETURN(const v1::DescribeServerReply reply,
                            Describe(node.address));
    const Node server{.name = node.name,
                      .address = node.address,
                      .incarnation = reply.incarnation(),
                      // Perhaps: whoever dials it nearby looks whether it is.
                      .host = HostId()};
    servers_.push_back(server);
    for (const v1::PartitionDescription& one : reply.partitions()) {
      if (one.job() != job_ || one.duty() != v1::REPLICA_DUTY_LEAD ||
          one.partition() >= placements.size()) {
        continue;
      }
      placements[one.partition()] = {
          .partition = one.partition(),
          .range = cut.PartitionRange(one.partition()),
          .epoch = one.epoch(),
          .primary = server};
    }
  }
  for (size_t p = 0; p < placements.size(); ++p) {
    if (placements[p].epoch == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("no server leads partition ", p, " of the table"));
    }
  }
  SERAPH_ASSIGN_OR_RETURN(
      TableRouter router,
      TableRouter::Make(std::move(tables), std::move(placements)));
  router_ = std::make_shared<const TableRouter>(std::move(router));
  return absl::OkStatus();
}

absl::StatusOr<HeldCounts> HeldTables::Count() const {
  HeldCounts counts;
  for (const Node& server : servers_) {
    SERAPH_ASSIGN_OR_RETURN(const v1::DescribeServerReply reply,
                            Describe(server.address));
    for (const v1::PartitionDescription& one : reply.partitions()) {
      if (one.job() != job_ || one.duty() != v1::REPLICA_DUTY_LEAD) continue;
      counts.rows += one.rows();
      counts.memory_bytes += one.memory_bytes();
      counts.log_records += one.position();
    }
  }
  return counts;
}

}  // namespace seraph
