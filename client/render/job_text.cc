#include "client/render/job_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/render/documents.h"
#include "client/render/numbers.h"
#include "client/render/text_table.h"

namespace seraph {
namespace {

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// "2024-05-01 12:00:00" of RFC 3339 with fractions; "-" of nothing.
std::string TimeText(const std::string& time) {
  const std::string text = OrDash(time).substr(0, 19);
  return absl::StrReplaceAll(text, {{"T", " "}});
}

// "3/10", or what a job that is not training does.
std::string EpochOf(const JobView& job) {
  if (job.epochs_total == 0) return absl::StrCat(job.epochs.size());
  return absl::StrCat(job.epochs.size(), "/", job.epochs_total);
}

// The names of the metrics of all epochs, in the order of their first mention.
std::vector<std::string> MetricNamesOf(const std::vector<EpochView>& epochs,
                                       NamedValues EpochView::*part) {
  std::vector<std::string> names;
  for (const EpochView& epoch : epochs) {
    for (const auto& [name, value] : epoch.*part) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

std::string ValueOf(const NamedValues& values, const std::string& name) {
  for (const auto& [candidate, value] : values) {
    if (candidate == name) return ShortNumber(value);
  }
  return "-";
}

std::string EpochsText(const std::vector<EpochView>& epochs) {
  const std::vector<std::string> train =
      MetricNamesOf(epochs, &EpochView::train);
  const std::vector<std::string> validation =
      MetricNamesOf(epochs, &EpochView::validation);
  std::vector<TextTable::Column> columns = {{"EPOCH", true},
                                            {"EXAMPLES", true},
                                            {"TIME", true},
                                            {"EXAMPLES/S", true}};
  for (const std::string& name : train) {
    columns.push_back({absl::StrCat("train ", name), true});
  }
  for (const std::string& name : validation) {
    columns.push_back({absl::StrCat("valid. ", name), true});
  }
  TextTable table(columns);
  for (const EpochView& epoch : epochs) {
    std::vector<std::string> row = {
        absl::StrCat(epoch.epoch), WithCommas(epoch.examples),
        HumanDuration(absl::Seconds(epoch.seconds)),
        epoch.seconds > 0
            ? WithCommas(static_cast<uint64_t>(epoch.examples / epoch.seconds))
            : "-"};
    for (const std::string& name : train) {
      row.push_back(ValueOf(epoch.train, name));
    }
    for (const std::string& name : validation) {
      row.push_back(ValueOf(epoch.validation, name));
    }
    table.AddRow(row);
  }
  return table.ToString();
}

// "key   value", the values aligned.
class Pairs {
 public:
  void Add(const std::string& key, const std::string& value) {
    absl::StrAppend(
        &text_, key,
        std::string(std::max<size_t>(13, key.size() + 1) - key.size(), ' '),
        value, "\n");
  }
  void AddIfSet(const std::string& key, const std::string& value) {
    if (!value.empty()) Add(key, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// "2", or "2, of a partition only 1 in sync".
std::string ReplicasOf(const JobView& job) {
  const bool degraded = !HasEnded(job.state) && job.least_in_sync > 0 &&
                        job.least_in_sync < job.replicas;
  return absl::StrCat(job.replicas,
                      degraded ? absl::StrCat(", of a partition only ",
                                              job.least_in_sync, " in sync")
                               : "");
}

void AddOutcome(const JobView& job, Pairs* pairs) {
  pairs->AddIfSet("error", job.error);
  pairs->AddIfSet("model", job.model_path);
  pairs->AddIfSet("digest", job.model_digest);
  if (job.records_read > 0 || job.records_bad > 0) {
    pairs->Add("records", absl::StrCat(WithCommas(job.records_read), " read, ",
                                       WithCommas(job.records_bad), " bad"));
  }
  if (job.recoveries > 0) {
    pairs->Add("recoveries", absl::StrCat(job.recoveries));
  }
  if (job.checkpoint.has_value()) {
    pairs->Add("checkpoint", CheckpointText(*job.checkpoint));
  }
}

}  // namespace

std::string JobsText(const std::vector<JobView>& jobs) {
  if (jobs.empty()) return "no jobs\n";
  TextTable table({{"ID"},
                   {"NAME"},
                   {"STATE"},
                   {"EPOCHS", true},
                   {"PHASE"},
                   {"SUBMITTED (UTC)"},
                   {"ENDED (UTC)"}});
  for (const JobView& job : jobs) {
    table.AddRow({job.id, job.name, std::string(JobStateName(job.state)),
                  EpochOf(job), HasEnded(job.state) ? "-" : OrDash(job.phase),
                  TimeText(job.submitted), TimeText(job.ended)});
  }
  return table.ToString();
}

std::string JobText(const JobView& job) {
  Pairs pairs;
  pairs.Add("id", job.id);
  pairs.Add("name", job.name);
  pairs.Add("state", std::string(JobStateName(job.state)));
  if (!HasEnded(job.state)) {
    pairs.AddIfSet("phase", job.phase);
    pairs.AddIfSet("waiting for", job.waiting_for);
  }
  pairs.Add("epochs", EpochOf(job));
  if (job.ranks > 0) pairs.Add("ranks", absl::StrCat(job.ranks));
  if (job.replicas > 0) pairs.Add("replicas", ReplicasOf(job));
  pairs.AddIfSet("submitted", job.submitted);
  pairs.AddIfSet("started", job.started);
  pairs.AddIfSet("ended", job.ended);
  AddOutcome(job, &pairs);
  for (const std::string& warning : job.warnings) {
    pairs.Add("warning", warning);
  }
  if (job.epochs.empty()) return pairs.text();
  return absl::StrCat(pairs.text(), "\n", EpochsText(job.epochs));
}

std::string ResultText(const JobView& job) {
  Pairs pairs;
  pairs.Add("job", job.id.empty() ? job.name
                                  : absl::StrCat(job.name, " (", job.id, ")"));
  pairs.Add("state", std::string(JobStateName(job.state)));
  if (!job.epochs.empty()) {
    const EpochView& last = job.epochs.back();
    pairs.Add("epochs", EpochOf(job));
    pairs.AddIfSet("train", ValuesText(last.train));
    pairs.AddIfSet("validation", ValuesText(last.validation));
  }
  AddOutcome(job, &pairs);
  return pairs.text();
}

std::string CheckpointText(const CheckpointView& checkpoint) {
  return absl::StrCat(
      checkpoint.path, ", ", checkpoint.epoch, " epochs",
      checkpoint.step > 0 ? absl::StrCat(" and ", checkpoint.step, " steps")
                          : "",
      checkpoint.time.empty() ? ""
                              : absl::StrCat(", ", TimeText(checkpoint.time)));
}

std::string ClusterText(const ClusterView& cluster) {
  std::string text = absl::StrCat(
      "cluster '", cluster.name, "', version ", cluster.version, ": ",
      cluster.running_jobs, " running, ", cluster.pending_jobs, " pending",
      cluster.degraded_partitions > 0
          ? absl::StrCat(", ", cluster.degraded_partitions,
                         " partitions with fewer replicas in sync than wanted")
          : "",
      "\n");
  if (cluster.nodes.empty()) return absl::StrCat(text, "no nodes\n");
  TextTable table({{"NODE"},
                   {"ROLE"},
                   {"STATE"},
                   {"HEARTBEAT", true},
                   {"MEMORY", true},
                   {"PRIMARIES", true},
                   {"BACKUPS", true},
                   {"ROWS", true},
                   {"RANKS", true},
                   {"VERSION"}});
  for (const NodeView& node : cluster.nodes) {
    table.AddRow({node.name, node.role, node.state,
                  absl::StrCat(HumanDuration(node.since_heartbeat), " ago"),
                  HumanBytes(node.memory_bytes), absl::StrCat(node.primaries),
                  absl::StrCat(node.backups), WithCommas(node.rows),
                  absl::StrCat(node.ranks), node.version});
  }
  return absl::StrCat(text, "\n", table.ToString());
}

std::string ValuesText(const NamedValues& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const auto& value) {
    absl::StrAppend(out, value.first, " ", ShortNumber(value.second));
  });
}

}  // namespace seraph
