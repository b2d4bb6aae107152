#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/flags.h"
#include "client/local/daemon_paths.h"
#include "client/local/local_cluster.h"
#include "client/local/local_job.h"
#include "client/verbs/job_reports.h"
#include "client/verbs/verbs.h"
#include "common/config/cluster_config.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// More would not fit on a machine, and points to a slip of the finger.
constexpr int kMostDaemons = 256;

class RunVerb final : public Verb {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override {
    return "Starts a local cluster, trains a job on it, and stops it.";
  }
  std::string examples() const override {
    return "  seraphctl run job.yaml\n"
           "  seraphctl run job.yaml --servers 2 --workers 2\n"
           "  seraphctl run job.yaml --set train.epochs=3 -o json > "
           "result.json\n"
           "Ctrl-C cancels the job and stops everything.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "JOB", &job_, "The job file.");
    AddNumber(app, "--servers", 1, kMostDaemons, &options_.servers,
              "Servers to start (default: 1).");
    AddNumber(app, "--workers", 1, kMostDaemons, &options_.workers,
              "Workers to start (default: 1).");
    AddValues(app, "--set", "PATH=VALUE", &sets_,
              "Overrides a value of the job file, as in train.epochs=3.");
    AddValues(app, "--cluster-set", "PATH=VALUE", &options_.sets,
              "Overrides a value of the daemons' configuration, as in "
              "log.level=debug.");
    AddSwitch(app, "--keep", &keep_,
              "Keeps the daemons' folder, with their logs, and says where.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(
        const JobFile job,
        LoadJobOrReport(job_, sets_, /*check_files=*/true, env));
    const auto config = ParseClusterConfig({"", "", {}, options_.sets});
    if (!config.ok()) return InputError(config.status());
    SERAPH_ASSIGN_OR_RETURN(const std::string self, SelfPath());
    SERAPH_ASSIGN_OR_RETURN(options_.daemons,
                            FindDaemons(self, env.Variable("PATH")));
    options_.environment = env.variables;
    if (const std::string folder = env.Variable("TMPDIR"); !folder.empty()) {
      options_.temporary_directory = folder;
    }
    const LocalJobResult result = RunLocally(job, options_, keep_, env);
    const absl::Status reported = ReportResult(options, env, result.job);
    if (result.interrupted) return Reported(ExitCode::kInterrupted);
    if (result.refused) return Reported(ExitCode::kUsage);
    return reported;
  }

 private:
  std::string job_;
  std::vector<std::string> sets_;
  bool keep_ = false;
  LocalClusterOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeRunVerb() { return std::make_unique<RunVerb>(); }

}  // namespace seraph
