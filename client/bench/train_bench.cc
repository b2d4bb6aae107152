#include "client/bench/train_bench.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/generated_examples.h"
#include "client/bench/local_ranks.h"
#include "client/bench/percentiles.h"
#include "client/bench/process_cost.h"
#include "client/bench/scratch_folder.h"
#include "client/job/job_file.h"
#include "client/render/numbers.h"
#include "client/render/progress_line.h"
#include "client/render/progress_renderer.h"
#include "client/rpc/job_lookup.h"
#include "common/cluster/node_identity.h"
#include "common/job/optimizer_keys.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr uint32_t kEpochs = 5;
// Entries of a rank that travel while it computes.
constexpr uint32_t kPipeline = 2;
// Set apart, so that the parameters stand still between epochs and their
// beginnings and ends are known.
constexpr double kValidation = 0.02;

std::string TrainJobYaml(const BenchOptions& options) {
  return absl::StrCat(
      "name: bench-train\nseed: ", options.seed, "\nranks: ", options.ranks,
      "\nmodel: {kind: logistic_regression}\n",
      "data: {format: libsvm, train: [examples.txt], validation_fraction: ",
      kValidation, "}\ntrain: {epochs: ", kEpochs,
      ", batch_size: ", options.batch_size,
      ", optimizer: {kind: ", OptimizerKindName(options.optimizer),
      "}}\nsync: {mode: asp, pipeline: ", kPipeline, "}\n",
      "tables: {scramble: true, replicas: ", options.replicas,
      options.partitions > 0
          ? absl::StrCat(", partitions: ", options.partitions)
          : "",
      "}\noutput: {directory: out}\n");
}

double ValueOf(const NamedValues& values, absl::string_view name) {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  return 0;
}

class TrainBench {
 public:
  TrainBench(const BenchOptions& options, const BenchPlace& place,
             const Environment& env)
      : options_(options),
        place_(place),
        env_(env),
        progress_(env.err, env.err_terminal, env.clock) {
    report_.options = options;
  }

  absl::StatusOr<TrainReport> Run() {
    SERAPH_ASSIGN_OR_RETURN(
        folder_, ScratchFolder::Create(place_.local.temporary_directory));
    SERAPH_RETURN_IF_ERROR(MakeJob());
    SERAPH_RETURN_IF_ERROR(TrainOnServers());
    SERAPH_RETURN_IF_ERROR(TrainHere());
    progress_.Clear();
    return report_;
  }

 private:
  absl::Status MakeJob() {
    progress_.Show("making examples", std::nullopt,
                   WithCommas(options_.examples));
    SERAPH_RETURN_IF_ERROR(WriteExamples({.examples = options_.examples,
                                          .nonzeros = options_.nonzeros,
                                          .features = options_.table_keys,
                                          .distribution = options_.distribution,
                                          .seed = options_.seed},
                                         folder_->path() + "/examples.txt"));
    const std::string path = folder_->path() + "/job.yaml";
    std::ofstream file(path);
    file << TrainJobYaml(options_);
    file.close();
    if (!file) return absl::UnknownError(absl::StrCat("cannot write ", path));
    SERAPH_ASSIGN_OR_RETURN(job_, LoadJobFile(path, {}));
    return env_.interrupt->Check();
  }

  absl::Status TrainOnServers() {
    std::unique_ptr<BenchCluster> cluster;
    if (place_.scheduler.has_value()) {
      cluster =
          BenchCluster::Connect(*place_.scheduler, place_.call_timeout, env_);
    } else {
      progress_.Show("starting a local cluster", std::nullopt, "");
      LocalClusterOptions local = place_.local;
      local.servers = options_.servers;
      local.workers = 1;
      SERAPH_ASSIGN_OR_RETURN(cluster, BenchCluster::StartLocal(local, env_));
    }
    progress_.Clear();
    SERAPH_ASSIGN_OR_RETURN(
        const std::string id,
        cluster->scheduler()->SubmitJob(SubmissionOf(
            job_, absl::StrCat("bench-", absl::Hex(NewIncarnation())))));
    ProgressRenderer renderer(env_.err, env_.err_terminal, env_.clock);
    const absl::StatusOr<JobView> job = WatchUntilEnd(
        cluster->scheduler(), id, env_.scheduler_patience, *env_.interrupt,
        [&](const JobView& view) { renderer.Update(view); });
    renderer.Finish();
    if (!job.ok()) {
      cluster->scheduler()->CancelJob(id).IgnoreError();
      return job.status();
    }
    if (job->state != JobState::kSucceeded || job->epochs.size() < 2) {
      return absl::FailedPreconditionError(
          absl::StrCat("the training did not succeed: ", job->error));
    }
    report_.cpu_us_per_example = MicrosecondsPerExample(*cluster, *job);
    std::vector<double> seconds;
    for (size_t i = 1; i < job->epochs.size(); ++i) {
      seconds.push_back(job->epochs[i].seconds);
    }
    report_.epochs = job->epochs.size();
    report_.examples = job->epochs.back().examples;
    report_.seconds = PercentilesOf(std::move(seconds)).p50;
    report_.examples_per_second = double(report_.examples) / report_.seconds;
    report_.log_loss = ValueOf(job->epochs.back().validation, "log_loss");
    return absl::OkStatus();
  }

  // Of all that servers and workers have done for the job.
  static std::optional<double> MicrosecondsPerExample(
      const BenchCluster& cluster, const JobView& job) {
    absl::Duration sum;
    for (const auto* const processes :
         {&cluster.servers(), &cluster.workers()}) {
      if (processes->empty()) return std::nullopt;
      for (const pid_t process : *processes) {
        const absl::StatusOr<absl::Duration> time = ProcessorTime(process);
        if (!time.ok()) return std::nullopt;
        sum += *time;
      }
    }
    double examples = 0;
    for (const EpochView& epoch : job.epochs) examples += epoch.examples;
    return absl::ToDoubleMicroseconds(sum) / examples;
  }

  absl::Status TrainHere() {
    progress_.Show("training on local tables", std::nullopt, "");
    SERAPH_ASSIGN_OR_RETURN(const absl::Duration before, ProcessorTime(0));
    SERAPH_ASSIGN_OR_RETURN(const std::vector<LocalEpoch> epochs,
                            RunRanksLocally(job_, folder_->path()));
    SERAPH_ASSIGN_OR_RETURN(const absl::Duration after, ProcessorTime(0));
    report_.local_cpu_us_per_example =
        absl::ToDoubleMicroseconds(after - before) /
        double(report_.examples * epochs.size());
    std::vector<double> seconds;
    for (size_t i = 1; i < epochs.size(); ++i) {
      seconds.push_back(epochs[i].train_seconds);
    }
    report_.local_examples_per_second =
        double(report_.examples) / PercentilesOf(std::move(seconds)).p50;
    const MetricSums& last = epochs.back().validation;
    report_.local_log_loss = last.log_loss / last.examples;
    return absl::OkStatus();
  }

  const BenchOptions options_;
  const BenchPlace& place_;
  const Environment& env_;
  ProgressLine progress_;
  std::unique_ptr<ScratchFolder> folder_;
  JobFile job_;
  TrainReport report_;
};

}  // namespace

absl::StatusOr<TrainReport> BenchTraining(const BenchOptions& options,
                                          const BenchPlace& place,
                                          const Environment& env) {
  SERAPH_RETURN_IF_ERROR(Validate(options));
  return TrainBench(options, place, env).Run();
}

}  // namespace seraph
