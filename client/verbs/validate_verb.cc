#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/exit_code.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/job/job_file.h"
#include "client/render/documents.h"
#include "client/verbs/verbs.h"
#include "common/config/cluster_config.h"
#include "common/config/config_file.h"
#include "common/config/problems.h"
#include "common/config/yaml_tree.h"
#include "common/job/job_spec.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// How many of the file's top-level keys are those of `keys` ("train.epochs").
int KnownKeys(const YamlNode& root, const std::vector<KeyInfo>& keys) {
  return std::count_if(
      root.entries.begin(), root.entries.end(), [&](const YamlEntry& entry) {
        return std::any_of(keys.begin(), keys.end(), [&](const KeyInfo& key) {
          const std::pair<std::string, std::string> parts =
              absl::StrSplit(key.path, absl::MaxSplits('.', 1));
          return parts.first == entry.key;
        });
      });
}

// "job" or "cluster", by the keys of the file; what is neither is a job: people
// write those.
std::string KindOf(const std::string& text, const std::string& file) {
  Problems ignored;
  const std::optional<YamlNode> root = ParseYaml(text, file, true, &ignored);
  if (!root.has_value()) return "job";
  return KnownKeys(*root, DescribeClusterConfig()) >
                 KnownKeys(*root, DescribeJobSpec())
             ? "cluster"
             : "job";
}

class ValidateVerb final : public Verb {
 public:
  std::string name() const override { return "validate"; }
  std::string summary() const override {
    return "Checks a job or cluster file, and starts nothing.";
  }
  std::string examples() const override {
    return "  seraphctl validate job.yaml\n"
           "  seraphctl validate job.yaml --set train.epochs=0 -o json\n"
           "  seraphctl validate cluster.yaml\n"
           "The data files of a job are looked for too, unless --no-files is "
           "given.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "FILE", &file_, "A job or cluster file.");
    AddChoice(app, "--kind", {"job", "cluster"}, &kind_,
              "What the file is (default: what its keys look like).");
    AddValues(app, "--set", "PATH=VALUE", &sets_,
              "Overrides a value of the file, as in train.epochs=3.");
    AddSwitch(app, "--no-files", &no_files_,
              "Does not look for the files that a job names: they are on "
              "another machine.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    const absl::StatusOr<std::string> text = ReadConfigFile(file_);
    if (!text.ok()) return InputError(text.status());
    if (kind_.empty()) kind_ = KindOf(*text, file_);
    const absl::Status status =
        kind_ == "job" ? CheckJob() : LoadClusterConfig(file_, sets_).status();

    std::vector<std::string> problems;
    if (!status.ok()) {
      problems = absl::StrSplit(std::string(status.message()), '\n');
    }
    const Document document = {{"file", file_},
                               {"kind", kind_},
                               {"valid", status.ok()},
                               {"problems", problems}};
    const std::string table =
        status.ok() ? absl::StrCat(file_, ": a valid ", kind_, " file\n") : "";
    SERAPH_RETURN_IF_ERROR(PrintResult(options, env, document, table));
    if (status.ok()) return absl::OkStatus();
    *env.err << status.message() << std::endl;
    return Reported(ExitCodeOf(InputError(status)));
  }

 private:
  absl::Status CheckJob() const {
    SERAPH_ASSIGN_OR_RETURN(const JobFile job, LoadJobFile(file_, sets_));
    return no_files_ ? absl::OkStatus() : CheckFilesOf(job);
  }

  std::string file_;
  std::string kind_;
  std::vector<std::string> sets_;
  bool no_files_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeValidateVerb() {
  return std::make_unique<ValidateVerb>();
}

}  // namespace seraph
