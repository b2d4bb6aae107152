#include "scheduler/service/order_codec.h"

#include <optional>
#include <string>

#include "common/wire/cluster_codec.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/table_codec.h"
#include "scheduler/io/job_log.h"

namespace seraph {
namespace {

LedgerEntry EntryOf(const v1::LedgerRecord& record) {
  return {FromProto(record.clock()),
          {record.sums().begin(), record.sums().end()}};
}

v1::JobState StateOf(JobState state) {
  switch (state) {
    case JobState::kPending:
      return v1::PENDING;
    case JobState::kRunning:
      return v1::RUNNING;
    case JobState::kPaused:
      return v1::PAUSED;
    case JobState::kSucceeded:
      return v1::SUCCEEDED;
    case JobState::kFailed:
      return v1::FAILED;
    case JobState::kCancelled:
      return v1::CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

std::string TimeOrNone(const std::optional<absl::Time>& time) {
  return time.has_value() ? Timestamp(*time) : "";
}

// A message of a peer or a file may have bytes that are not UTF-8, which a
// `string` field must not have.
std::string Utf8(const std::string& text) {
  std::string clean;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80                    ? 1
                          : byte >= 0xc2 && byte <= 0xdf ? 2
                          : byte >= 0xe0 && byte <= 0xef ? 3
                          : byte >= 0xf0 && byte <= 0xf4 ? 4
                                                         : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (size_t k = 1; whole && k < length; ++k) {
      whole = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    // Overlong forms, surrogates and what lies beyond the last character.
    if (whole && length > 2) {
      const auto second = static_cast<unsigned char>(text[i + 1]);
      whole = !(byte == 0xe0 && second < 0xa0) &&
              !(byte == 0xed && second > 0x9f) &&
              !(byte == 0xf0 && second < 0x90) &&
              !(byte == 0xf4 && second > 0x8f);
    }
    clean += whole ? text.substr(i, length) : "?";
    i += whole ? length : 1;
  }
  return clean;
}

}  // namespace

void ToProto(const JobRef& job, v1::JobRef* message) {
  message->set_id(job.id);
  message->set_generation(job.generation);
}

JobRef FromProto(const v1::JobRef& message) {
  return {message.id(), message.generation()};
}

void ToProto(const RankRef& rank, v1::RankRef* message) {
  message->set_rank(rank.rank);
  message->set_attempt(rank.attempt);
}

RankRef FromProto(const v1::RankRef& message) {
  return {message.rank(), message.attempt()};
}

v1::ScanRequest ScanRequestOf(const JobRef& job, const Node& to,
                              const ScanPiece& piece) {
  v1::ScanRequest request;
  request.set_incarnation(to.incarnation);
  ToProto(job, request.mutable_job());
  request.set_job_yaml(*piece.job_yaml);
  v1::ScanTask* task = request.mutable_task();
  ToProto(piece.file, task->mutable_file());
  task->set_file_index(piece.file_index);
  task->set_begin(piece.begin);
  task->set_end(piece.end);
  task->set_block_bytes(piece.block_bytes);
  task->set_validation(piece.validation);
  return request;
}

v1::RunRanksRequest RunRanksRequestOf(const JobRef& job, const Node& to,
                                      const RunRanks& order) {
  const JobPlan& plan = *order.plan;
  v1::RunRanksRequest request;
  request.set_incarnation(to.incarnation);
  ToProto(job, request.mutable_job());
  request.set_job_yaml(plan.yaml);
  ToProto(plan.train, request.mutable_train());
  if (plan.validation.has_value()) {
    ToProto(*plan.validation, request.mutable_validation());
  }
  ToProto(plan.labels, request.mutable_labels());
  for (const TableSpec& table : plan.tables) {
    ToProto(table, request.add_tables());
  }
  for (const PartitionPlacement& placement : plan.partitions) {
    ToProto(placement, request.add_partitions());
  }
  for (const RankRef& rank : order.ranks) ToProto(rank, request.add_ranks());
  request.set_steps_per_epoch(plan.steps_per_epoch);
  request.set_epoch_barrier(plan.epoch_barrier);
  request.set_placements_version(plan.placements_version);
  request.set_lease_ms(absl::ToInt64Milliseconds(plan.lease));
  return request;
}

LedgerReading ReadingOf(const v1::ReadLedgerReply& reply) {
  LedgerReading reading;
  reading.generation = reply.generation();
  reading.failure = reply.failure();
  reading.skipped_rows = reply.skipped_rows();
  for (const v1::RankLedger& rank : reply.ranks()) {
    RankReading& out = reading.ranks.emplace_back();
    out.clock = FromProto(rank.clock());
    if (rank.records_size() > 0) out.latest = EntryOf(rank.records(0));
    for (const v1::LedgerRecord& end : rank.epoch_ends()) {
      out.epoch_ends.push_back(EntryOf(end));
    }
  }
  return reading;
}

void ToProto(const JobView& view, v1::JobStatus* message) {
  const auto add_metrics = [](const MetricValues& metrics, auto add) {
    for (const auto& [name, value] : metrics) {
      v1::Metric* metric = add();
      metric->set_name(name);
      metric->set_value(value);
    }
  };
  message->set_id(view.id);
  message->set_name(view.name);
  message->set_state(StateOf(view.state));
  message->set_error(Utf8(view.error));
  const absl::string_view phase = JobPhaseName(view.phase);
  message->set_phase(phase.data(), phase.size());
  message->set_submitted(Timestamp(view.submitted));
  message->set_started(TimeOrNone(view.started));
  message->set_ended(TimeOrNone(view.ended));
  for (const EpochView& epoch : view.epochs) {
    v1::EpochStatus* out = message->add_epochs();
    out->set_epoch(epoch.epoch);
    out->set_examples(epoch.examples);
    out->set_seconds(absl::ToDoubleSeconds(epoch.seconds));
    add_metrics(epoch.train, [out] { return out->add_train(); });
    add_metrics(epoch.validation, [out] { return out->add_validation(); });
  }
  message->set_epochs_total(view.epochs_total);
  message->set_epoch_examples(view.epoch_examples);
  message->set_epoch_examples_total(view.epoch_examples_total);
  message->set_examples_per_second(view.examples_per_second);
  message->set_model_path(Utf8(view.model_path));
  message->set_model_digest(view.model_digest);
  message->set_records_read(view.records_read);
  message->set_records_bad(view.records_bad);
  message->set_recoveries(view.recoveries);
  message->set_ranks(view.ranks);
  for (const std::string& warning : view.warnings) {
    message->add_warnings(Utf8(warning));
  }
  message->set_phase_fraction(view.phase_fraction);
  message->set_waiting_for(Utf8(view.waiting_for));
  add_metrics(view.running, [message] { return message->add_running(); });
  if (view.checkpoint.has_value()) {
    v1::CheckpointStatus* checkpoint = message->mutable_checkpoint();
    checkpoint->set_path(Utf8(view.checkpoint->path));
    checkpoint->set_time(Timestamp(view.checkpoint->time));
    checkpoint->set_epoch(view.checkpoint->epoch);
    checkpoint->set_step(view.checkpoint->step);
    checkpoint->set_bytes(view.checkpoint->bytes);
  }
  message->set_replicas(view.replicas);
  message->set_least_in_sync(view.least_in_sync);
}

}  // namespace seraph
