#include "client/render/documents.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace seraph {
namespace {

double PerSecond(uint64_t examples, double seconds) {
  return seconds > 0 ? examples / seconds : 0.0;
}

Document EpochDocument(const EpochView& epoch) {
  return {{"epoch", epoch.epoch},
          {"examples", epoch.examples},
          {"seconds", epoch.seconds},
          {"examples_per_second", PerSecond(epoch.examples, epoch.seconds)},
          {"train", ValuesDocument(epoch.train)},
          {"validation", ValuesDocument(epoch.validation)}};
}

Document NameDocument(const JobView& job) {
  return {{"id", job.id},
          {"name", job.name},
          {"state", std::string(JobStateName(job.state))},
          {"error", job.error}};
}

void AppendTimes(const JobView& job, Document* to) {
  (*to)["phase"] = job.phase;
  (*to)["submitted"] = job.submitted;
  (*to)["started"] = job.started;
  (*to)["ended"] = job.ended;
  (*to)["ranks"] = job.ranks;
  (*to)["waiting_for"] = job.waiting_for;
}

void AppendReplicas(const JobView& job, Document* to) {
  (*to)["replicas"] = job.replicas;
  (*to)["least_in_sync"] = job.least_in_sync;
}

std::string Dump(const Document& document, int indent) {
  return document.dump(indent, ' ', /*ensure_ascii=*/false,
                       Document::error_handler_t::replace);
}

// A scalar, or an empty list or object: JSON's form is YAML's too. nlohmann
// writes no number that YAML would take for a text, and quotes every text.
std::string Scalar(const Document& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return "null";
  }
  return Dump(value, -1);
}

bool IsNested(const Document& value) {
  return value.is_structured() && !value.empty();
}

void AppendYaml(const Document& value, int indent, std::string* to);

// What follows a key or a dash.
void AppendYamlValue(const Document& value, int indent, bool after_dash,
                     std::string* to) {
  if (!IsNested(value)) {
    absl::StrAppend(to, " ", Scalar(value), "\n");
    return;
  }
  if (after_dash && value.is_object()) {
    // The first key stands on the dash's own line.
    std::string nested;
    AppendYaml(value, indent + 2, &nested);
    absl::StrAppend(to, " ", nested.substr(indent + 2));
    return;
  }
  absl::StrAppend(to, "\n");
  AppendYaml(value, indent + 2, to);
}

void AppendYaml(const Document& value, int indent, std::string* to) {
  const std::string margin(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, element] : value.items()) {
      absl::StrAppend(to, margin, key, ":");
      AppendYamlValue(element, indent, /*after_dash=*/false, to);
    }
  } else {
    for (const Document& element : value) {
      absl::StrAppend(to, margin, "-");
      AppendYamlValue(element, indent, /*after_dash=*/true, to);
    }
  }
}

}  // namespace

absl::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "PENDING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kPaused:
      return "PAUSED";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
    case JobState::kUnknown:
      break;
  }
  return "UNKNOWN";
}

Document JobDocument(const JobView& job) {
  Document epochs = Document::array();
  for (const EpochView& epoch : job.epochs) {
    epochs.push_back(EpochDocument(epoch));
  }
  Document head = NameDocument(job);
  AppendTimes(job, &head);
  AppendReplicas(job, &head);
  return {{"job", std::move(head)},
          {"epochs", std::move(epochs)},
          {"model", {{"path", job.model_path}, {"digest", job.model_digest}}},
          {"records", {{"read", job.records_read}, {"bad", job.records_bad}}},
          {"recoveries", job.recoveries},
          {"checkpoint", job.checkpoint.has_value()
                             ? CheckpointDocument(*job.checkpoint)
                             : Document()},
          {"warnings", job.warnings}};
}

Document CheckpointDocument(const CheckpointView& checkpoint) {
  return {{"path", checkpoint.path},
          {"time", checkpoint.time},
          {"epoch", checkpoint.epoch},
          {"step", checkpoint.step},
          {"bytes", checkpoint.bytes}};
}

Document SubmittedDocument(const std::string& id, const std::string& name) {
  JobView job;
  job.id = id;
  job.name = name;
  job.state = JobState::kPending;
  return {{"job", NameDocument(job)}};
}

Document JobsDocument(const std::vector<JobView>& jobs) {
  Document list = Document::array();
  for (const JobView& job : jobs) {
    Document one = NameDocument(job);
    AppendTimes(job, &one);
    one["epochs_done"] = job.epochs.size();
    one["epochs_total"] = job.epochs_total;
    list.push_back(std::move(one));
  }
  return {{"jobs", std::move(list)}};
}

Document LogDocument(const std::vector<LogLine>& lines) {
  Document list = Document::array();
  for (const LogLine& line : lines) {
    list.push_back({{"time", line.time}, {"text", line.text}});
  }
  return {{"lines", std::move(list)}};
}

Document NodeDocument(const NodeView& node) {
  return {
      {"name", node.name},
      {"role", node.role},
      {"state", node.state},
      {"address", node.address},
      {"version", node.version},
      {"seconds_since_heartbeat", absl::ToDoubleSeconds(node.since_heartbeat)},
      {"memory_bytes", node.memory_bytes},
      {"partitions", node.partitions},
      {"primaries", node.primaries},
      {"backups", node.backups},
      {"rows", node.rows},
      {"ranks", node.ranks}};
}

Document ClusterDocument(const ClusterView& cluster) {
  Document nodes = Document::array();
  for (const NodeView& node : cluster.nodes) {
    nodes.push_back(NodeDocument(node));
  }
  return {{"cluster",
           {{"name", cluster.name},
            {"version", cluster.version},
            {"running_jobs", cluster.running_jobs},
            {"pending_jobs", cluster.pending_jobs},
            {"degraded_partitions", cluster.degraded_partitions}}},
          {"nodes", std::move(nodes)}};
}

Document ValuesDocument(const NamedValues& values) {
  Document object = Document::object();
  for (const auto& [name, value] : values) object[name] = value;
  return object;
}

std::string ToJsonText(const Document& document) {
  return absl::StrCat(Dump(document, 2), "\n");
}

std::string ToYamlText(const Document& document) {
  if (!IsNested(document)) return absl::StrCat(Scalar(document), "\n");
  std::string text;
  AppendYaml(document, 0, &text);
  return text;
}

}  // namespace seraph
