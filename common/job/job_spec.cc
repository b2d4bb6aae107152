#include "common/job/job_spec.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/config/overrides.h"
#include "common/config/problems.h"
#include "common/config/yaml_reader.h"
#include "common/config/yaml_tree.h"
#include "common/config/yaml_writer.h"
#include "common/job/data_section.h"
#include "common/job/model_section.h"
#include "common/job/train_section.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr size_t kLongestName = 100;

constexpr std::pair<ValueKind, absl::string_view> kTransports[] = {
    {ValueKind::kFloat32, "float32"},
    {ValueKind::kFloat16, "float16"},
    {ValueKind::kBfloat16, "bfloat16"},
    {ValueKind::kInt8, "int8"},
};

constexpr std::pair<SyncMode, absl::string_view> kSyncModes[] = {
    {SyncMode::kBsp, "bsp"},
    {SyncMode::kSsp, "ssp"},
    {SyncMode::kAsp, "asp"},
};

constexpr std::pair<Combine, absl::string_view> kCombines[] = {
    {Combine::kMean, "mean"},
    {Combine::kSum, "sum"},
};

// Names of jobs become names of folders and of metrics' labels.
bool IsJobName(absl::string_view name) {
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.') return false;
  }
  return !name.empty() && name.size() <= kLongestName &&
         absl::ascii_isalnum(name[0]);
}

void VisitName(Section& root, std::string* name) {
  const bool read =
      root.Key("name",
               "What people call the job: letters, digits, - and ., at most "
               "100, a letter or digit first.")
          .Required()
          .Bind(name);
  if (read && !IsJobName(*name)) {
    root.Complain("name",
                  absl::StrCat(Quoted(*name),
                               " is not a name: letters, digits, - and ., at "
                               "most ",
                               kLongestName, ", a letter or digit first"));
  }
}

void VisitSync(Section& section, SyncSpec* sync) {
  section
      .Key("mode",
           "bsp: a pull sees exactly the clocks before. ssp: at most "
           "`staleness` clocks are missing. asp: what is there.")
      .BindChoice<SyncMode>(&sync->mode, kSyncModes);
  section.Key("staleness", "ssp: the most clocks that a pull may miss.")
      .Between(0, 1e6)
      .Bind(&sync->staleness);
  section
      .Key("combine",
           "bsp: gradients are averaged over the clock's examples, or summed "
           "over ranks.")
      .BindChoice<Combine>(&sync->combine, kCombines);
  section
      .Key("pipeline",
           "asp, ssp: pushes of its own that a rank may have unacknowledged "
           "when it goes on.")
      .Between(0, 1000)
      .Bind(&sync->pipeline);
  if (section.Failed("mode")) return;
  if (sync->staleness > 0 && sync->mode != SyncMode::kSsp) {
    section.Complain(
        "staleness",
        absl::StrCat(sync->staleness, " contradicts mode: ",
                     SyncModeName(sync->mode), "; only ssp is stale"));
  }
  if (sync->pipeline > 0 && sync->mode == SyncMode::kBsp) {
    section.Complain("pipeline",
                     absl::StrCat(sync->pipeline,
                                  " contradicts mode: bsp, where a rank waits "
                                  "for every push; use asp or ssp"));
  }
}

void VisitTables(Section& section, const ModelSpec& model, TablesSpec* tables) {
  section
      .Key("partitions",
           "Key ranges of each table, spread over the servers. A table has no "
           "more than its keys allow.")
      .Between(1, 4096)
      .DefaultText("tables.partitions of the cluster")
      .Bind(&tables->partitions);
  section
      .Key("replicas",
           "Copies of each partition, on different servers: with all of them "
           "in step, the loss of all but one loses nothing. No more than the "
           "cluster has servers.")
      .Between(1, 16)
      .Bind(&tables->replicas);
  section
      .Key("min_in_sync",
           "With fewer copies in step than this a partition waits.")
      .AtLeast(1)
      .Bind(&tables->min_in_sync);
  if (tables->min_in_sync > tables->replicas) {
    section.Complain("min_in_sync",
                     absl::StrCat(tables->min_in_sync, " is more than the ",
                                  tables->replicas, " of tables.replicas"));
  }
  section
      .Key("scramble",
           "Sparse tables: mixes keys before they are cut into ranges, so that "
           "neighbouring hot keys lie apart.")
      .Bind(&tables->scramble);
  section
      .Key("admit_after",
           "Sparse tables: a key comes into being when it is pushed for this "
           "many times, once for each rank and clock; what was pushed to it "
           "before is dropped.")
      .Between(1, 255)
      .Bind(&tables->admit_after);
  section
      .Key(
          "expire_after_epochs",
          "Sparse tables: at the end of an epoch, the keys go to which nothing "
          "was pushed for this many epochs. 0: none.")
      .Bind(&tables->expire_after_epochs);
  section
      .Key("transport",
           "What values travel as, both ways; they are kept and computed with "
           "as float32. int8 has one power of two for each row as its scale.")
      .BindChoice<ValueKind>(&tables->transport, kTransports);
  if (model.keys.has_value() && tables->admit_after > 1) {
    section.Complain("admit_after",
                     "is for sparse tables: model.keys makes dense ones");
  }
  if (model.keys.has_value() && tables->expire_after_epochs > 0) {
    section.Complain("expire_after_epochs",
                     "is for sparse tables: model.keys makes dense ones");
  }
  if (tables->scramble && model.keys.has_value()) {
    section.Complain("scramble",
                     "is for sparse tables: model.keys makes dense ones");
  }
}

void VisitCheckpoint(Section& section, CheckpointSpec* checkpoint) {
  section
      .Key("directory",
           "Where checkpoints go, relative to the job file: into a folder "
           "named by the job's id. The scheduler and all servers must see it "
           "at the same place.")
      .Required()
      .NotEmpty()
      .Bind(&checkpoint->directory);
  section.Key("every_epochs", "Epochs between checkpoints. 0: none by epochs.")
      .Bind(&checkpoint->every_epochs);
  section
      .Key("every_clocks",
           "Clocks between checkpoints, of the slowest rank. 0: none by "
           "clocks.")
      .Bind(&checkpoint->every_clocks);
  section
      .Key("keep",
           "Checkpoints that are kept; older ones are removed, with the files "
           "that no kept one needs.")
      .AtLeast(1)
      .Bind(&checkpoint->keep);
  if (checkpoint->every_epochs == 0 && checkpoint->every_clocks == 0) {
    section.Complain("every_epochs",
                     "and every_clocks are both 0: there would be none");
  }
}

void VisitJob(Section& root, JobSpec* job) {
  VisitName(root, &job->name);
  root.Key("seed", "Everything random in the job follows from it.")
      .Bind(&job->seed);
  root.Key("ranks",
           "Logical tasks that share the work. Part of the job: the result "
           "depends on it, and not on how many workers run them.")
      .Between(1, 10000)
      .Bind(&job->ranks);
  bool model_known = false;
  root.Map("model", "What is trained.",
           [&](Section& s) { model_known = VisitModel(s, &job->model); });
  root.Map("data", "What it is trained on.",
           [&](Section& s) { VisitData(s, job->model, &job->data); });
  root.Map("train", "How it is trained.", [&](Section& s) {
    VisitTrain(s, job->model, model_known, job->data, &job->train);
  });
  root.Map("sync", "How the ranks' work is brought together.",
           [&](Section& s) { VisitSync(s, &job->sync); });
  root.Map("tables", "Where the parameters are.",
           [&](Section& s) { VisitTables(s, job->model, &job->tables); });
  root.OptionalMap<CheckpointSpec>(
      "checkpoint",
      "What a job goes back to when it has lost all copies of a partition, and "
      "when it is resumed. Absent: only to what `seraphctl checkpoint` and "
      "`pause` wrote, or to its start.",
      &job->checkpoint, [](Section& s, CheckpointSpec* checkpoint) {
        VisitCheckpoint(s, checkpoint);
      });
  root.Map("init", "Where the parameters start.", [&](Section& s) {
    s.Key("model",
          "A model to go on from, relative to the job file: a model file, a "
          "checkpoint (`g1-c4.checkpoint`), or a folder of one job's "
          "checkpoints, whose newest sound one is taken. Of a checkpoint the "
          "weights count alone; optimizer and clocks start anew. Empty: the "
          "job starts anew.")
        .Bind(&job->init_model);
  });
  root.Map("output", "Where the result goes.", [&](Section& s) {
    s.Key("directory",
          "A folder, relative to the job file, for the model (`model`) and the "
          "run's record (`result.json`).")
        .NotEmpty()
        .Bind(&job->output_directory);
  });
}

}  // namespace

absl::StatusOr<ParsedJob> ParseJobFile(absl::string_view text,
                                       absl::string_view file_name,
                                       absl::Span<const std::string> sets) {
  Problems problems;
  std::optional<YamlNode> root =
      ParseYaml(text, file_name, /*lines=*/true, &problems);
  if (!root.has_value()) return problems.ToStatus();
  if (root->kind == YamlNode::Kind::kNull && sets.empty()) {
    problems.Add(root->place, "the file is empty");
    return problems.ToStatus();
  }
  for (const std::string& set : sets) ApplySet(set, &*root, &problems);
  ParsedJob job;
  ReadConfig(
      *root, DescribeJobSpec(), [&](Section& s) { VisitJob(s, &job.spec); },
      &problems, &job.origins);
  SERAPH_RETURN_IF_ERROR(problems.ToStatus());
  return job;
}

absl::StatusOr<JobSpec> ParseJobSpec(absl::string_view text,
                                     absl::string_view file_name,
                                     absl::Span<const std::string> sets) {
  SERAPH_ASSIGN_OR_RETURN(ParsedJob job, ParseJobFile(text, file_name, sets));
  return std::move(job.spec);
}

std::string ToYaml(const JobSpec& spec) {
  JobSpec job = spec;
  const YamlNode root = WriteConfig([&](Section& s) { VisitJob(s, &job); });
  return WriteYaml(root, [](absl::string_view) { return std::string(); });
}

std::vector<KeyInfo> DescribeJobSpec() {
  JobSpec job;
  return DescribeConfig([&](Section& s) { VisitJob(s, &job); });
}

}  // namespace seraph
