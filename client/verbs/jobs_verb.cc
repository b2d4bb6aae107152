#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/render/job_text.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class JobsVerb final : public Verb {
 public:
  std::string name() const override { return "jobs"; }
  std::string summary() const override {
    return "Lists the cluster's jobs, newest first.";
  }
  std::string examples() const override {
    return "  seraphctl jobs\n"
           "  seraphctl jobs --scheduler 10.0.0.1:7400 -o json\n";
  }
  void Define(CLI::App* app) override {}

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<std::vector<JobView>> jobs = client->ListJobs();
    if (!jobs.ok()) return CallError(jobs.status());
    return PrintResult(options, env, JobsDocument(*jobs), JobsText(*jobs));
  }
};

}  // namespace

std::unique_ptr<Verb> MakeJobsVerb() { return std::make_unique<JobsVerb>(); }

}  // namespace seraph
