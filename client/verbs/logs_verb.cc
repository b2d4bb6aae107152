#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/rpc/job_lookup.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class LogsVerb final : public Verb {
 public:
  std::string name() const override { return "logs"; }
  std::string summary() const override { return "Prints the events of a job."; }
  std::string examples() const override {
    return "  seraphctl logs adult-lr\n"
           "  seraphctl logs 3f9a --follow\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "ID", &id_, "The job's id, its beginning, or its name.");
    AddSwitch(app, "-f,--follow", &follow_,
              "Waits for more events until the job has ended.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<std::string> id = FindJobId(client.get(), id_);
    if (!id.ok()) return CallError(id.status());
    // People read along; a document is printed when all of it is there.
    const bool at_once = options.output == OutputFormat::kTable;
    std::vector<LogLine> lines;
    absl::Status printed;
    const absl::Status read =
        client->ReadJobLog(*id, follow_, [&](const LogLine& line) {
          if (at_once) {
            printed =
                PrintText(env, absl::StrCat(line.time, " ", line.text, "\n"));
          } else {
            lines.push_back(line);
          }
          return printed.ok();
        });
    SERAPH_RETURN_IF_ERROR(printed);
    if (!read.ok()) return CallError(read);
    if (at_once) return absl::OkStatus();
    return PrintResult(options, env, LogDocument(lines), "");
  }

 private:
  std::string id_;
  bool follow_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeLogsVerb() { return std::make_unique<LogsVerb>(); }

}  // namespace seraph
