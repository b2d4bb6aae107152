#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/verbs/job_reports.h"
#include "client/verbs/verbs.h"
#include "common/cluster/node_identity.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class SubmitVerb final : public Verb {
 public:
  std::string name() const override { return "submit"; }
  std::string summary() const override {
    return "Submits a job to a cluster; prints its id.";
  }
  std::string examples() const override {
    return "  seraphctl submit job.yaml\n"
           "  seraphctl submit job.yaml --set train.epochs=3 --watch\n"
           "  SERAPH_SCHEDULER=10.0.0.1:7400 seraphctl submit job.yaml "
           "-o json\n"
           "The paths in the job file start at its folder; the workers must "
           "see them too.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "JOB", &job_, "The job file.");
    AddValues(app, "--set", "PATH=VALUE", &sets_,
              "Overrides a value of the job file, as in train.epochs=3.");
    AddSwitch(app, "--watch", &watch_,
              "Follows the job to its end, and prints its result.");
    AddValue(app, "--submission-id", "ID", &submission_id_,
             "A name of your own for this submission: a repeat with the same "
             "name and file is the same job.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(
        const JobFile job,
        LoadJobOrReport(job_, sets_, /*check_files=*/false, env));
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    // Without a name a call that is repeated, at the scheduler that takes over,
    // would be another job.
    if (submission_id_.empty()) {
      submission_id_ = absl::StrCat("seraphctl-", absl::Hex(NewIncarnation()),
                                    absl::Hex(NewIncarnation()));
    }
    const absl::StatusOr<std::string> id =
        client->SubmitJob(SubmissionOf(job, submission_id_));
    if (!id.ok()) return CallError(id.status());
    if (!watch_) {
      return PrintResult(options, env,
                         SubmittedDocument(*id, job.parsed.spec.name),
                         absl::StrCat(*id, "\n"));
    }
    *env.err << "submitted as " << *id << std::endl;
    JobView submitted;
    submitted.id = *id;
    submitted.name = job.parsed.spec.name;
    submitted.state = JobState::kPending;
    return FollowJob(options, env, client.get(), std::move(submitted));
  }

 private:
  std::string job_;
  std::vector<std::string> sets_;
  bool watch_ = false;
  std::string submission_id_;
};

}  // namespace

std::unique_ptr<Verb> MakeSubmitVerb() {
  return std::make_unique<SubmitVerb>();
}

}  // namespace seraph
