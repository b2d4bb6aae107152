#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/exit_code.h"
#include "client/bench/table_bench.h"
#include "client/bench/train_bench.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/local/daemon_paths.h"
#include "client/verbs/verbs.h"
#include "common/config/cluster_config.h"
#include "common/job/optimizer_keys.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr int kMostProcesses = 256;

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : OptimizerKinds()) names.emplace_back(name);
  return names;
}

OptimizerKind ParseOptimizer(const std::string& wanted) {
  for (const auto& [kind, name] : OptimizerKinds()) {
    if (name == wanted) return kind;
  }
  return OptimizerKind::kSum;
}

class BenchVerb final : public Verb {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override {
    return "Measures pull, push and training, beside what the machine can do.";
  }
  std::string examples() const override {
    return "  seraphctl bench push\n"
           "  seraphctl bench pull --table-keys 10000000 --distribution zipf\n"
           "  seraphctl bench pull --keys-per-request 1 --in-flight 64 -o "
           "json\n"
           "  seraphctl bench push --scheduler host:7400 --replicas 2\n"
           "  seraphctl bench train\n"
           "Without --scheduler it starts a local cluster of real daemons, and "
           "stops it.\n";
  }
  void Define(CLI::App* app) override {
    AddChoice(app, "WHAT", OperationNames(), &what_, "What to measure.")
        ->required();
    AddCount(app, "--keys-per-request", &options_.keys_per_request,
             "Keys of a request (default: 100000).");
    AddCount(app, "--width", &options_.width, "Values of a key (default: 1).");
    AddCount(app, "--table-keys", &options_.table_keys,
             "Keys of the table (default: 1000000).");
    AddChoice(app, "--table", {"dense", "sparse"}, &table_,
              "What table (default: sparse).");
    AddChoice(app, "--optimizer", OptimizerNames(), &optimizer_,
              "What a push does to a row (default: sum, for train adagrad).");
    AddChoice(app, "--distribution", DistributionNames(), &distribution_,
              "Which keys (default: uniform, for train zipf).");
    AddValue(app, "--keys-file", "FILE", &options_.keys_file,
             "A libsvm file, whose records' keys are requested "
             "(--distribution file).");
    AddCount(app, "--in-flight", &options_.in_flight,
             "Unanswered requests of a client (default: 4).");
    AddSeconds(app, "--seconds", 0.01, 1e5, &seconds_,
               "How long to measure (default: 3).");
    AddNumber(app, "--servers", 1, kMostProcesses, &options_.servers,
              "Servers of a local cluster (default: 1).");
    AddCount(app, "--clients", &options_.clients,
             "Clients, each with connections of its own (default: 1).");
    AddCount(app, "--replicas", &options_.replicas,
             "Copies of each row (default: 1).");
    AddCount(app, "--partitions", &options_.partitions,
             "Partitions of the table (default: 8).");
    AddSwitch(app, "--repeat-keys", &options_.repeat_keys,
              "Every request of a client has the same keys.");
    AddSeconds(app, "--settle", 0, 1e5, &settle_,
               "How long the filled table is at rest before the servers' "
               "memory is read (default: 0).");
    AddChoice(app, "--transport", KnownTransports(), &options_.transport,
              "How messages travel (default: auto).");
    AddCount(app, "--ranks", &options_.ranks,
             "Of train: ranks that share the examples (default: 2).");
    AddCount(app, "--batch-size", &options_.batch_size,
             "Of train: examples of a minibatch (default: 1000).");
    AddCount(app, "--examples", &options_.examples,
             "Of train: examples of an epoch (default: 200000).");
    AddCount(app, "--nonzeros", &options_.nonzeros,
             "Of train: features of an example (default: 40).");
    AddCount(app, "--seed", &options_.seed,
             "Of all that is random (default: 1).");
    AddValues(app, "--cluster-set", "PATH=VALUE", &sets_,
              "Overrides a value of a local cluster's configuration.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    options_.operation = ParseOperation(what_);
    options_.table = table_ == "dense" ? TableKind::kDense : TableKind::kSparse;
    const bool trains = options_.operation == BenchOperation::kTrain;
    if (distribution_.empty()) distribution_ = trains ? "zipf" : "uniform";
    if (optimizer_.empty()) optimizer_ = trains ? "adagrad" : "sum";
    options_.distribution = ParseDistribution(distribution_);
    options_.duration = absl::Seconds(seconds_);
    options_.settle = absl::Seconds(settle_);
    options_.optimizer = ParseOptimizer(optimizer_);
    if (const absl::Status valid = Validate(options_); !valid.ok()) {
      return InputError(valid);
    }
    if (const auto config = ParseClusterConfig({"", "", {}, sets_});
        !config.ok()) {
      return InputError(config.status());
    }
    BenchPlace place;
    place.call_timeout = options.timeout;
    if (options.scheduler_given) place.scheduler = options.scheduler;
    place.local.sets = sets_;
    SERAPH_ASSIGN_OR_RETURN(const std::string self, SelfPath());
    SERAPH_ASSIGN_OR_RETURN(place.local.daemons,
                            FindDaemons(self, env.Variable("PATH")));
    place.local.environment = env.variables;
    if (const std::string folder = env.Variable("TMPDIR"); !folder.empty()) {
      place.local.temporary_directory = folder;
    }
    if (trains) {
      const absl::StatusOr<TrainReport> report =
          BenchTraining(options_, place, env);
      if (!report.ok()) return CallError(report.status());
      return PrintResult(options, env, ReportDocument(*report),
                         ReportText(*report));
    }
    const absl::StatusOr<TableReport> report = BenchTable(options_, place, env);
    if (!report.ok()) return CallError(report.status());
    return PrintResult(options, env, ReportDocument(*report),
                       ReportText(*report));
  }

 private:
  std::string what_;
  std::string table_ = "sparse";
  std::string optimizer_;
  std::string distribution_;  // "": as fits what is measured.
  double seconds_ = 3;
  double settle_ = 0;
  std::vector<std::string> sets_;
  BenchOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeBenchVerb() { return std::make_unique<BenchVerb>(); }

}  // namespace seraph
