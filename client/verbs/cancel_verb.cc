#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/render/job_text.h"
#include "client/rpc/job_lookup.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class CancelVerb final : public Verb {
 public:
  std::string name() const override { return "cancel"; }
  std::string summary() const override {
    return "Stops a job and frees all it holds; no model is written.";
  }
  std::string examples() const override {
    return "  seraphctl cancel adult-lr\n"
           "  seraphctl cancel 3f9a -o json\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "ID", &id_, "The job's id, its beginning, or its name.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<std::string> id = FindJobId(client.get(), id_);
    if (!id.ok()) return CallError(id.status());
    const absl::StatusOr<JobView> job = client->CancelJob(*id);
    if (!job.ok()) return CallError(job.status());
    return PrintResult(options, env, JobDocument(*job), ResultText(*job));
  }

 private:
  std::string id_;
};

}  // namespace

std::unique_ptr<Verb> MakeCancelVerb() {
  return std::make_unique<CancelVerb>();
}

}  // namespace seraph
