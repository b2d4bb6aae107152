#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
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

// A verb that has the scheduler change one job.
class JobChange : public Verb {
 public:
  std::string examples() const override {
    return absl::StrCat("  seraphctl ", name(), " adult-lr\n  seraphctl ",
                        name(), " 3f9a -o json\n", More());
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "ID", &id_, "The job's id, its beginning, or its name.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<std::string> id = FindJobId(client.get(), id_);
    if (!id.ok()) return CallError(id.status());
    return Change(*id, client.get(), options, env);
  }

 protected:
  virtual std::string More() const { return ""; }
  virtual absl::Status Change(const std::string& id, SchedulerClient* client,
                              const GlobalOptions& options,
                              const Environment& env) = 0;

  static absl::Status Report(const absl::StatusOr<JobView>& job,
                             const GlobalOptions& options,
                             const Environment& env) {
    if (!job.ok()) return CallError(job.status());
    return PrintResult(options, env, JobDocument(*job), ResultText(*job));
  }

 private:
  std::string id_;
};

class CancelVerb final : public JobChange {
 public:
  std::string name() const override { return "cancel"; }
  std::string summary() const override {
    return "Stops a job and frees all it holds; no model is written.";
  }

 private:
  absl::Status Change(const std::string& id, SchedulerClient* client,
                      const GlobalOptions& options,
                      const Environment& env) override {
    return Report(client->CancelJob(id), options, env);
  }
};

class PauseVerb final : public JobChange {
 public:
  std::string name() const override { return "pause"; }
  std::string summary() const override {
    return "Makes a checkpoint of a job and frees all it holds.";
  }

 private:
  std::string More() const override {
    return "Waits until the job is paused; 'seraphctl resume' lets it go on.\n";
  }
  absl::Status Change(const std::string& id, SchedulerClient* client,
                      const GlobalOptions& options,
                      const Environment& env) override {
    return Report(client->PauseJob(id), options, env);
  }
};

class ResumeVerb final : public JobChange {
 public:
  std::string name() const override { return "resume"; }
  std::string summary() const override {
    return "Lets a paused job go on from its checkpoint.";
  }

 private:
  std::string More() const override {
    return "'seraphctl watch' follows it then.\n";
  }
  absl::Status Change(const std::string& id, SchedulerClient* client,
                      const GlobalOptions& options,
                      const Environment& env) override {
    return Report(client->ResumeJob(id), options, env);
  }
};

class CheckpointVerb final : public JobChange {
 public:
  std::string name() const override { return "checkpoint"; }
  std::string summary() const override {
    return "Makes a checkpoint of a job that trains, which goes on.";
  }

 private:
  std::string More() const override {
    return "Waits until the checkpoint is complete, and prints where it is.\n";
  }
  absl::Status Change(const std::string& id, SchedulerClient* client,
                      const GlobalOptions& options,
                      const Environment& env) override {
    const absl::StatusOr<CheckpointView> checkpoint = client->CheckpointJob(id);
    if (!checkpoint.ok()) return CallError(checkpoint.status());
    return PrintResult(options, env,
                       {{"checkpoint", CheckpointDocument(*checkpoint)}},
                       absl::StrCat(CheckpointText(*checkpoint), "\n"));
  }
};

}  // namespace

std::unique_ptr<Verb> MakeCancelVerb() {
  return std::make_unique<CancelVerb>();
}
std::unique_ptr<Verb> MakePauseVerb() { return std::make_unique<PauseVerb>(); }
std::unique_ptr<Verb> MakeResumeVerb() {
  return std::make_unique<ResumeVerb>();
}
std::unique_ptr<Verb> MakeCheckpointVerb() {
  return std::make_unique<CheckpointVerb>();
}

}  // namespace seraph
