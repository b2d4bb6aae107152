#include "client/job/job_file.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_model.h"
#include "common/config/config_file.h"
#include "common/dataset/input_files.h"
#include "common/dataset/resolve_dataset.h"
#include "common/model_file/model_file_reader.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

// Collects problems with the places of their values.
class Places {
 public:
  explicit Places(const JobFile& job) : job_(job) {}

  void Add(const std::string& value, const absl::Status& status) {
    if (status.ok()) return;
    const auto found = job_.parsed.origins.find(value);
    lines_.push_back(absl::StrCat(
        found == job_.parsed.origins.end() ? job_.path : found->second, ": ",
        value, ": ", status.message()));
  }

  bool empty() const { return lines_.empty(); }

  absl::Status ToStatus() const {
    if (lines_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
  }

 private:
  const JobFile& job_;
  std::vector<std::string> lines_;
};

std::string Absolute(const JobFile& job, const std::string& path) {
  return (fs::path(job.base_directory) / path).lexically_normal().string();
}

void CheckPatterns(const JobFile& job, const std::string& key,
                   const std::vector<std::string>& patterns, Places* places) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    places->Add(absl::StrCat(key, "[", i, "]"),
                ResolveInputFiles(job.base_directory, {patterns[i]}).status());
  }
}

// idx: whether images and labels pair.
void CheckPairs(const JobFile& job, Places* places) {
  const DataSpec& data = job.parsed.spec.data;
  if (data.format != DataFormat::kIdx || !places->empty()) return;
  places->Add("data.train", ResolveDataset(job.base_directory, data.train,
                                           data.format, data.options.labels)
                                .status());
  if (data.validation.empty()) return;
  places->Add(
      "data.validation",
      ResolveDataset(job.base_directory, data.validation, data.format, {})
          .status());
}

// Whether `path` is a folder, or could be made one: the nearest thing above it
// that exists is a folder that may be written to.
absl::Status CheckFolderCanBe(const std::string& path) {
  fs::path existing = path;
  std::error_code error;
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  if (!fs::is_directory(existing, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder '", path, "' cannot be made: '",
                     existing.string(), "' is no folder"));
  }
  if (access(existing.c_str(), W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the folder '", path, "' cannot be written: '",
                     existing.string(), "' may not be written to"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobFile> LoadJobFile(const std::string& path,
                                    const std::vector<std::string>& sets) {
  SERAPH_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  JobFile job;
  job.path = path;
  job.base_directory =
      fs::absolute(path).lexically_normal().parent_path().string();
  SERAPH_ASSIGN_OR_RETURN(job.parsed, ParseJobFile(text, path, sets));
  return job;
}

absl::Status CheckFilesOf(const JobFile& job) {
  const JobSpec& spec = job.parsed.spec;
  Places places(job);
  CheckPatterns(job, "data.train", spec.data.train, &places);
  CheckPatterns(job, "data.validation", spec.data.validation, &places);
  CheckPatterns(job, "data.options.labels", spec.data.options.labels, &places);
  CheckPairs(job, &places);
  if (!spec.init_model.empty()) {
    const std::string init = Absolute(job, spec.init_model);
    places.Add("init.model", CheckpointModel::IsCheckpoint(init)
                                 ? CheckpointModel::Open(init).status()
                                 : ModelFileReader::Open(init).status());
  }
  places.Add("output.directory",
             CheckFolderCanBe(Absolute(job, spec.output_directory)));
  return places.ToStatus();
}

JobSubmission SubmissionOf(const JobFile& job,
                           const std::string& submission_id) {
  return {ToYaml(job.parsed.spec), job.path, job.base_directory, submission_id};
}

}  // namespace seraph
