#include "scheduler/store/stored_state_codec.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/job/job_spec.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/table_codec.h"
#include "proto/stored_state.pb.h"

namespace seraph {
namespace {

using ::seraph::FromProto;  // Of common/wire, beside those here.

constexpr char kNodesKey[] = "nodes";

std::string KeyOf(const std::string& job, absl::string_view what) {
  return absl::StrCat("jobs/", job, "/", what);
}

int64_t Nanos(absl::Time time) { return absl::ToUnixNanos(time); }

int64_t Nanos(const std::optional<absl::Time>& time) {
  return time.has_value() ? Nanos(*time) : 0;
}

std::optional<absl::Time> TimeOf(int64_t nanos) {
  if (nanos == 0) return std::nullopt;
  return absl::FromUnixNanos(nanos);
}

template <typename Messages>
void ToProto(const MetricValues& metrics, Messages* messages) {
  for (const auto& [name, value] : metrics) {
    v1::StoredMetric* metric = messages->Add();
    metric->set_name(name);
    metric->set_value(value);
  }
}

template <typename Messages>
MetricValues MetricsOf(const Messages& messages) {
  MetricValues metrics;
  for (const v1::StoredMetric& metric : messages) {
    metrics.emplace_back(metric.name(), metric.value());
  }
  return metrics;
}

// The view ------------------------------------------------------------------

void ToProto(const JobView& view, v1::StoredView* message) {
  message->set_name(view.name);
  const absl::string_view state = JobStateName(view.state);
  message->set_state(state.data(), state.size());
  message->set_phase(static_cast<uint32_t>(view.phase));
  message->set_error(view.error);
  message->set_submitted_ns(Nanos(view.submitted));
  message->set_started_ns(Nanos(view.started));
  message->set_ended_ns(Nanos(view.ended));
  message->set_ranks(view.ranks);
  message->set_epochs_total(view.epochs_total);
  for (const EpochView& epoch : view.epochs) {
    v1::StoredEpoch* stored = message->add_epochs();
    stored->set_epoch(epoch.epoch);
    stored->set_examples(epoch.examples);
    stored->set_seconds(absl::ToDoubleSeconds(epoch.seconds));
    ToProto(epoch.train, stored->mutable_train());
    ToProto(epoch.validation, stored->mutable_validation());
  }
  message->set_epoch_examples_total(view.epoch_examples_total);
  message->set_model_path(view.model_path);
  message->set_model_digest(view.model_digest);
  message->set_records_read(view.records_read);
  message->set_records_bad(view.records_bad);
  message->set_recoveries(view.recoveries);
  for (const std::string& warning : view.warnings) {
    message->add_warnings(warning);
  }
  message->set_replicas(view.replicas);
  if (view.checkpoint.has_value()) {
    message->set_checkpoint_path(view.checkpoint->path);
    message->set_checkpoint_ns(Nanos(view.checkpoint->time));
    message->set_checkpoint_epoch(view.checkpoint->epoch);
    message->set_checkpoint_step(view.checkpoint->step);
    message->set_checkpoint_bytes(view.checkpoint->bytes);
  }
}

absl::StatusOr<JobState> StateOf(absl::string_view name) {
  for (const JobState state :
       {JobState::kPending, JobState::kRunning, JobState::kPaused,
        JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    if (JobStateName(state) == name) return state;
  }
  return absl::DataLossError(absl::StrCat("no job is in the state ", name));
}

absl::StatusOr<JobView> FromProto(const v1::StoredView& message) {
  JobView view;
  view.name = message.name();
  SERAPH_ASSIGN_OR_RETURN(view.state, StateOf(message.state()));
  if (message.phase() > static_cast<uint32_t>(JobPhase::kEnded)) {
    return absl::DataLossError(
        absl::StrCat("there is no phase ", message.phase()));
  }
  view.phase = static_cast<JobPhase>(message.phase());
  view.error = message.error();
  view.submitted = absl::FromUnixNanos(message.submitted_ns());
  view.started = TimeOf(message.started_ns());
  view.ended = TimeOf(message.ended_ns());
  view.ranks = message.ranks();
  view.epochs_total = message.epochs_total();
  for (const v1::StoredEpoch& stored : message.epochs()) {
    EpochView& epoch = view.epochs.emplace_back();
    epoch.epoch = stored.epoch();
    epoch.examples = stored.examples();
    epoch.seconds = absl::Seconds(stored.seconds());
    epoch.train = MetricsOf(stored.train());
    epoch.validation = MetricsOf(stored.validation());
  }
  view.epoch_examples_total = message.epoch_examples_total();
  view.model_path = message.model_path();
  view.model_digest = message.model_digest();
  view.records_read = message.records_read();
  view.records_bad = message.records_bad();
  view.recoveries = message.recoveries();
  view.warnings.assign(message.warnings().begin(), message.warnings().end());
  view.replicas = message.replicas();
  if (!message.checkpoint_path().empty()) {
    view.checkpoint = {
        .path = message.checkpoint_path(),
        .time = absl::FromUnixNanos(message.checkpoint_ns()),
        .epoch = message.checkpoint_epoch(),
        .step = message.checkpoint_step(),
        .bytes = message.checkpoint_bytes(),
    };
  }
  return view;
}

// Parts of a job --------------------------------------------------------------

void ToProto(const RankRecord& rank, v1::StoredRank* message) {
  message->set_attempt(rank.attempt);
  if (rank.worker.has_value()) {
    ToProto(*rank.worker, message->mutable_worker());
  }
  message->set_done(rank.done);
}

absl::StatusOr<RankRecord> FromProto(const v1::StoredRank& message) {
  RankRecord rank;
  rank.attempt = message.attempt();
  if (message.has_worker()) {
    SERAPH_ASSIGN_OR_RETURN(rank.worker, FromProto(message.worker()));
  }
  rank.done = message.done();
  return rank;
}

void ToProto(const PartitionRecord& partition, v1::StoredPartition* message) {
  message->set_table(partition.table);
  message->set_partition(partition.partition);
  message->set_first_key(partition.range.first);
  message->set_last_key(partition.range.last);
  message->set_epoch(partition.group.epoch);
  for (const Node& member : partition.group.members) {
    ToProto(member, message->add_members());
  }
  message->set_primary(partition.group.primary);
  if (partition.group.recruit.has_value()) {
    ToProto(*partition.group.recruit, message->mutable_recruit());
  }
}

absl::StatusOr<PartitionRecord> FromProto(const v1::StoredPartition& message) {
  PartitionRecord partition;
  partition.table = message.table();
  partition.partition = message.partition();
  partition.range = {message.first_key(), message.last_key()};
  partition.group.epoch = message.epoch();
  for (const v1::Node& member : message.members()) {
    SERAPH_ASSIGN_OR_RETURN(Node node, FromProto(member));
    partition.group.members.push_back(std::move(node));
  }
  partition.group.primary = message.primary();
  if (message.has_recruit()) {
    SERAPH_ASSIGN_OR_RETURN(partition.group.recruit,
                            FromProto(message.recruit()));
  }
  return partition;
}

void ToProto(const Checkpoint& checkpoint, v1::StoredCheckpoint* message) {
  message->set_directory(checkpoint.name.directory);
  message->set_manifest(checkpoint.name.manifest);
  message->set_cut(checkpoint.cut);
  for (const Clock clock : checkpoint.clocks) {
    ToProto(clock, message->add_clocks());
  }
  message->set_time_ns(Nanos(checkpoint.time));
  message->set_bytes(checkpoint.bytes);
}

Checkpoint FromProto(const v1::StoredCheckpoint& message) {
  Checkpoint checkpoint;
  checkpoint.name = {message.directory(), message.manifest()};
  checkpoint.cut = message.cut();
  for (const v1::Clock& clock : message.clocks()) {
    checkpoint.clocks.push_back(FromProto(clock));
  }
  checkpoint.time = absl::FromUnixNanos(message.time_ns());
  checkpoint.bytes = message.bytes();
  return checkpoint;
}

// Records ---------------------------------------------------------------------

std::string Encode(const JobRequest& request) {
  v1::StoredRequest message;
  message.set_yaml(ToYaml(request.spec));
  message.set_base_directory(request.base_directory);
  message.set_submission_id(request.submission_id);
  return message.SerializeAsString();
}

std::string Encode(const JobPlan& plan) {
  v1::StoredPlan message;
  message.set_yaml(plan.yaml);
  ToProto(plan.train, message.mutable_train());
  if (plan.validation.has_value()) {
    ToProto(*plan.validation, message.mutable_validation());
  }
  ToProto(plan.labels, message.mutable_labels());
  for (const TableSpec& table : plan.tables) {
    ToProto(table, message.add_tables());
  }
  message.set_steps_per_epoch(plan.steps_per_epoch);
  message.set_epoch_barrier(plan.epoch_barrier);
  return message.SerializeAsString();
}

std::string Encode(const StoredJob& job) {
  v1::StoredJobState message;
  message.set_id(job.id);
  message.set_number(job.number);
  message.set_generation(job.generation);
  ToProto(job.view, message.mutable_view());
  message.set_first_server(job.first_server);
  message.set_arithmetic(job.arithmetic);
  message.set_output_proven(job.output_proven);
  for (const Node& holder : job.holders) {
    ToProto(holder, message.add_holders());
  }
  for (const RankRecord& rank : job.ranks) {
    ToProto(rank, message.add_ranks());
  }
  for (const PartitionRecord& partition : job.partitions) {
    ToProto(partition, message.add_partitions());
  }
  if (job.origin.has_value()) ToProto(*job.origin, message.mutable_origin());
  for (const Checkpoint& checkpoint : job.checkpoints) {
    ToProto(checkpoint, message.add_checkpoints());
  }
  message.set_last_cut(job.last_cut);
  message.set_times_back(job.times_back);
  for (const EpochDecision& decision : job.decided) {
    v1::StoredDecision* stored = message.add_decided();
    stored->set_seconds(absl::ToDoubleSeconds(decision.seconds));
    ToProto(decision.validation, stored->mutable_validation());
    stored->set_stop(decision.stop);
    stored->set_best(decision.best);
    stored->set_epochs_without(decision.epochs_without);
  }
  for (const std::vector<double>& sums : job.epoch_sums) {
    message.add_epoch_sums()->mutable_values()->Assign(sums.begin(),
                                                       sums.end());
  }
  return message.SerializeAsString();
}

template <typename Message>
absl::StatusOr<Message> Parse(const StateRecords& records,
                              const std::string& key) {
  const auto record = records.find(key);
  if (record == records.end()) {
    return absl::DataLossError(
        absl::StrCat("the stored record ", key, " is missing"));
  }
  Message message;
  if (!message.ParseFromString(record->second)) {
    return absl::DataLossError(
        absl::StrCat("the stored record ", key, " cannot be read"));
  }
  return message;
}

absl::StatusOr<std::shared_ptr<const JobRequest>> DecodeRequest(
    const v1::StoredRequest& message) {
  auto request = std::make_shared<JobRequest>();
  SERAPH_ASSIGN_OR_RETURN(request->spec,
                          ParseJobSpec(message.yaml(), "job.yaml", {}));
  request->base_directory = message.base_directory();
  request->submission_id = message.submission_id();
  return request;
}

absl::StatusOr<std::shared_ptr<const JobPlan>> DecodePlan(
    const std::string& id, const JobRequest& request,
    const v1::StoredPlan& message) {
  auto plan = std::make_shared<JobPlan>();
  plan->job.id = id;
  SERAPH_ASSIGN_OR_RETURN(plan->spec,
                          ParseJobSpec(message.yaml(), "job.yaml", {}));
  plan->yaml = message.yaml();
  plan->base_directory = request.base_directory;
  SERAPH_ASSIGN_OR_RETURN(plan->train, FromProto(message.train()));
  if (message.has_validation()) {
    SERAPH_ASSIGN_OR_RETURN(plan->validation, FromProto(message.validation()));
  }
  SERAPH_ASSIGN_OR_RETURN(plan->labels, FromProto(message.labels()));
  for (const v1::TableSpec& table : message.tables()) {
    SERAPH_ASSIGN_OR_RETURN(TableSpec spec, FromProto(table));
    plan->tables.push_back(std::move(spec));
  }
  plan->steps_per_epoch = message.steps_per_epoch();
  plan->epoch_barrier = message.epoch_barrier();
  return plan;
}

absl::StatusOr<StoredJob> DecodeJob(const v1::StoredJobState& message) {
  StoredJob job;
  job.id = message.id();
  job.number = message.number();
  job.generation = message.generation();
  SERAPH_ASSIGN_OR_RETURN(job.view, FromProto(message.view()));
  job.view.id = job.id;
  job.first_server = message.first_server();
  job.arithmetic = message.arithmetic();
  job.output_proven = message.output_proven();
  for (const v1::Node& holder : message.holders()) {
    SERAPH_ASSIGN_OR_RETURN(Node node, FromProto(holder));
    job.holders.push_back(std::move(node));
  }
  for (const v1::StoredRank& stored : message.ranks()) {
    SERAPH_ASSIGN_OR_RETURN(RankRecord rank, FromProto(stored));
    job.ranks.push_back(std::move(rank));
  }
  for (const v1::StoredPartition& stored : message.partitions()) {
    SERAPH_ASSIGN_OR_RETURN(PartitionRecord partition, FromProto(stored));
    job.partitions.push_back(std::move(partition));
  }
  if (message.has_origin()) job.origin = FromProto(message.origin());
  for (const v1::StoredCheckpoint& stored : message.checkpoints()) {
    job.checkpoints.push_back(FromProto(stored));
  }
  job.last_cut = message.last_cut();
  job.times_back = message.times_back();
  for (const v1::StoredDecision& stored : message.decided()) {
    EpochDecision& decision = job.decided.emplace_back();
    decision.seconds = absl::Seconds(stored.seconds());
    decision.validation = MetricsOf(stored.validation());
    decision.stop = stored.stop();
    decision.best = stored.best();
    decision.epochs_without = stored.epochs_without();
  }
  for (const v1::StoredSums& stored : message.epoch_sums()) {
    job.epoch_sums.emplace_back(stored.values().begin(), stored.values().end());
  }
  return job;
}

absl::StatusOr<StoredState::Job> DecodeWhole(const StateRecords& records,
                                             const std::string& id) {
  StoredState::Job job;
  SERAPH_ASSIGN_OR_RETURN(
      const auto request,
      Parse<v1::StoredRequest>(records, KeyOf(id, "request")));
  SERAPH_ASSIGN_OR_RETURN(job.request, DecodeRequest(request));
  SERAPH_ASSIGN_OR_RETURN(
      const auto state, Parse<v1::StoredJobState>(records, KeyOf(id, "state")));
  SERAPH_ASSIGN_OR_RETURN(job.job, DecodeJob(state));
  if (records.contains(KeyOf(id, "plan"))) {
    SERAPH_ASSIGN_OR_RETURN(const auto plan,
                            Parse<v1::StoredPlan>(records, KeyOf(id, "plan")));
    SERAPH_ASSIGN_OR_RETURN(job.plan, DecodePlan(id, *job.request, plan));
  }
  return job;
}

}  // namespace

StateWrites EncodeChanges(const StoredChanges& changes) {
  StateWrites writes;
  for (const auto& [id, request] : changes.requests) {
    writes.push_back({KeyOf(id, "request"), Encode(*request)});
  }
  for (const auto& [id, plan] : changes.plans) {
    std::optional<std::string> value;
    if (plan != nullptr) value = Encode(*plan);
    writes.push_back({KeyOf(id, "plan"), std::move(value)});
  }
  for (const auto& [id, job] : changes.jobs) {
    writes.push_back({KeyOf(id, "state"), Encode(job)});
  }
  for (const std::string& id : changes.forgotten) {
    for (const absl::string_view what : {"request", "plan", "state"}) {
      writes.push_back({KeyOf(id, what), std::nullopt});
    }
  }
  if (changes.nodes.has_value()) {
    v1::StoredNodes nodes;
    for (const KnownNode& known : *changes.nodes) {
      v1::StoredNode* node = nodes.add_nodes();
      ToProto(known.node, node->mutable_node());
      node->set_draining(known.draining);
    }
    writes.push_back({kNodesKey, nodes.SerializeAsString()});
  }
  return writes;
}

absl::StatusOr<StoredState> DecodeState(const StateRecords& records) {
  StoredState state;
  for (const auto& [key, value] : records) {
    absl::string_view id = key;
    if (!absl::ConsumePrefix(&id, "jobs/") ||
        !absl::ConsumeSuffix(&id, "/state")) {
      continue;
    }
    absl::StatusOr<StoredState::Job> job =
        DecodeWhole(records, std::string(id.data(), id.size()));
    if (!job.ok()) {
      return absl::DataLossError(
          absl::StrCat("stored job ", id, ": ", job.status().message()));
    }
    state.jobs.push_back(*std::move(job));
  }
  std::sort(state.jobs.begin(), state.jobs.end(),
            [](const StoredState::Job& a, const StoredState::Job& b) {
              return a.job.number < b.job.number;
            });
  if (!records.contains(kNodesKey)) return state;
  SERAPH_ASSIGN_OR_RETURN(const auto nodes,
                          Parse<v1::StoredNodes>(records, kNodesKey));
  for (const v1::StoredNode& stored : nodes.nodes()) {
    KnownNode& known = state.nodes.emplace_back();
    SERAPH_ASSIGN_OR_RETURN(known.node, FromProto(stored.node()));
    known.draining = stored.draining();
  }
  return state;
}

}  // namespace seraph
