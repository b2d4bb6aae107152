#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/flags.h"
#include "client/rpc/job_lookup.h"
#include "client/verbs/job_reports.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class WatchVerb final : public Verb {
 public:
  std::string name() const override { return "watch"; }
  std::string summary() const override {
    return "Follows a job to its end, and prints its result.";
  }
  std::string examples() const override {
    return "  seraphctl watch adult-lr\n"
           "  seraphctl watch 3f9a -o json > result.json\n"
           "Ctrl-C ends the watching, not the job.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "ID", &id_, "The job's id, its beginning, or its name.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<JobView> job = FindJob(client.get(), id_);
    if (!job.ok()) return CallError(job.status());
    return FollowJob(options, env, client.get(), *job);
  }

 private:
  std::string id_;
};

}  // namespace

std::unique_ptr<Verb> MakeWatchVerb() { return std::make_unique<WatchVerb>(); }

}  // namespace seraph
