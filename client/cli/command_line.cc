#include "client/cli/command_line.h"

#include <algorithm>
#include <utility>

#include "CLI/Config.hpp"
#include "CLI/Error.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "common/config/nearest.h"
#include "common/version/version.h"

namespace seraph {
namespace {

constexpr char kProgram[] = "seraphctl";
constexpr char kSchedulerVariable[] = "SERAPH_SCHEDULER";

constexpr size_t kHelpColumn = 32;

constexpr char kFooter[] =
    "Exit codes: 0 done, 1 failed, 2 wrong usage or an invalid file, 3 the "
    "cluster cannot\nbe reached, 130 interrupted.\n\n"
    "Examples:\n"
    "  seraphctl run job.yaml --servers 2 --workers 2\n"
    "  seraphctl run job.yaml -o json > result.json\n"
    "  seraphctl export out/model --format text weights.tsv\n"
    "  seraphctl run --help\n";

OutputFormat FormatOf(const std::string& name) {
  if (name == "json") return OutputFormat::kJson;
  if (name == "yaml") return OutputFormat::kYaml;
  return OutputFormat::kTable;
}

}  // namespace

CommandLine::CommandLine(std::vector<std::unique_ptr<Verb>> verbs,
                         const Environment* env)
    : verbs_(std::move(verbs)),
      env_(*env),
      app_("Trains models on a Seraph cluster, or on a local one.", kProgram) {
  app_.footer(kFooter);
  const std::shared_ptr<CLI::FormatterBase> formatter = app_.get_formatter();
  formatter->column_width(kHelpColumn);
  formatter->label("SUBCOMMAND", "VERB");
  formatter->label("Positionals", "Arguments");
  AddGlobalFlags(&app_);
  for (const std::unique_ptr<Verb>& verb : verbs_) {
    CLI::App* sub = app_.add_subcommand(verb->name(), verb->summary());
    sub->group("Verbs");
    sub->footer(absl::StrCat("Examples:\n", verb->examples()));
    verb->Define(sub);
    AddGlobalFlags(sub);
  }
}

void CommandLine::AddGlobalFlags(CLI::App* app) {
  app->set_help_flag("-h,--help", "Prints this, and ends.");
  app->set_version_flag("--version", absl::StrCat(kProgram, " ", kVersion),
                        "Prints the version, and ends.");
  const std::vector<CLI::Option*> global = {
      AddChoice(app, "-o,--output", {"table", "json", "yaml"}, &output_,
                "What to print: a table for people (default), or one document "
                "for programs."),
      AddValue(app, "--scheduler", "HOST:PORT", &options_.scheduler,
               absl::StrCat("Where the cluster's scheduler is (default: ",
                            kSchedulerVariable, ", else ", options_.scheduler,
                            ").")),
      AddDuration(app, "--timeout", &options_.timeout,
                  "The longest wait for an answer of the scheduler (default: "
                  "5s).")};
  for (CLI::Option* option : global) option->group("Global options");
  scheduler_flags_.push_back(global[1]);
}

int CommandLine::Run(std::vector<std::string> arguments) {
  const std::string scheduler = env_.Variable(kSchedulerVariable);
  if (!scheduler.empty()) options_.scheduler = scheduler;
  try {
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants it.
    app_.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return ParseError(error);
  }
  options_.output = FormatOf(output_);
  options_.scheduler_given =
      std::any_of(scheduler_flags_.begin(), scheduler_flags_.end(),
                  [](const CLI::Option* flag) { return flag->count() > 0; });
  for (const std::unique_ptr<Verb>& verb : verbs_) {
    if (!app_.got_subcommand(verb->name())) continue;
    const absl::Status status = verb->Run(options_, env_);
    const ExitCode code = ExitCodeOf(status);
    if (!IsReported(status)) {
      *env_.err << kProgram << ": "
                << (code == ExitCode::kInterrupted ? "interrupted"
                                                   : status.message())
                << std::endl;
    }
    return static_cast<int>(code);
  }
  *env_.err << app_.help() << std::flush;
  return static_cast<int>(ExitCode::kUsage);
}

int CommandLine::ParseError(const CLI::ParseError& error) {
  // Help and version come as exceptions too.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&error);
    // help() is that of the verb where there is one.
    return static_cast<int>(ExitCodeOf(PrintText(
        env_, version ? absl::StrCat(error.what(), "\n") : app_.help())));
  }
  const std::vector<std::string> rest = app_.remaining();
  if (!app_.get_subcommands().empty() || rest.empty() ||
      absl::StartsWith(rest.front(), "-")) {
    return Usage(error.what());
  }
  const std::string& verb = rest.front();
  std::vector<std::string> names;
  for (const std::unique_ptr<Verb>& known : verbs_) {
    names.push_back(known->name());
  }
  return Usage(
      absl::StrCat("there is no verb '", verb, "'", DidYouMean(verb, names)));
}

int CommandLine::Usage(const std::string& message) {
  const std::vector<CLI::App*> used = app_.get_subcommands();
  const std::string verb =
      used.empty() ? "" : absl::StrCat(" ", used.front()->get_name());
  *env_.err << kProgram << verb << ": " << message << "\n'" << kProgram << verb
            << " --help' shows how to use it." << std::endl;
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace seraph
