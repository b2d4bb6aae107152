#include "scheduler/io/job_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_model.h"
#include "common/dataset/input_files.h"
#include "common/dataset/resolve_dataset.h"
#include "common/dataset/stream_reader.h"
#include "common/model_file/model_file_reader.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

absl::StatusOr<bool> IsSplittable(const InputFile& file) {
  std::ifstream stream(file.data.path, std::ios::binary);
  char head[16];
  stream.read(head, sizeof(head));
  SERAPH_ASSIGN_OR_RETURN(
      const Compression compression,
      CompressionOf(absl::string_view(head, stream.gcount())));
  return compression == Compression::kNone;
}

absl::StatusOr<std::vector<ResolvedFile>> Resolve(
    const JobRequest& request, const std::vector<std::string>& patterns,
    const std::vector<std::string>& label_patterns) {
  std::vector<ResolvedFile> resolved;
  if (patterns.empty()) return resolved;
  SERAPH_ASSIGN_OR_RETURN(
      const std::vector<InputFile> files,
      ResolveDataset(request.base_directory, patterns, request.spec.data.format,
                     label_patterns));
  for (const InputFile& file : files) {
    const absl::StatusOr<bool> splittable = IsSplittable(file);
    if (!splittable.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.data.path, ": ", splittable.status().message()));
    }
    resolved.push_back({file, *splittable});
  }
  return resolved;
}

absl::StatusOr<ResolvedFiles> ResolveAll(const JobRequest& request,
                                         std::vector<std::string>* problems) {
  ResolvedFiles files;
  const DataSpec& data = request.spec.data;
  auto train = Resolve(request, data.train, data.options.labels);
  if (train.ok()) {
    files.train = *std::move(train);
  } else {
    problems->push_back(absl::StrCat("data.train: ", train.status().message()));
  }
  auto validation = Resolve(request, data.validation, {});
  if (validation.ok()) {
    files.validation = *std::move(validation);
  } else {
    problems->push_back(
        absl::StrCat("data.validation: ", validation.status().message()));
  }
  if (!problems->empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(*problems, "\n"));
  }
  return files;
}

// Of a model file or a checkpoint.
absl::StatusOr<ModelMetadata> MetadataOf(const std::string& path,
                                         std::vector<std::string>* warnings) {
  if (CheckpointModel::IsCheckpoint(path)) {
    SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointModel> model,
                            CheckpointModel::Open(path));
    for (const std::string& refused : model->refused()) {
      warnings->push_back(absl::StrCat("init.model: ", refused,
                                       "; the job starts from ", model->path(),
                                       ", which is older"));
    }
    return model->metadata();
  }
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<ModelFileReader> model,
                          ModelFileReader::Open(path));
  return model->metadata();
}

}  // namespace

absl::Status CheckInputs(const JobRequest& request) {
  std::vector<std::string> problems;
  const absl::Status data = ResolveAll(request, &problems).status();
  const std::string& model = request.spec.init_model;
  if (!model.empty()) {
    const std::string path = PathOf(request.base_directory, model);
    std::error_code error;
    const absl::Status there = std::filesystem::is_directory(path, error)
                                   ? absl::OkStatus()
                                   : StampFile(path).status();
    if (!there.ok()) {
      problems.push_back(absl::StrCat("init.model: ", there.message()));
    }
  }
  if (problems.empty()) return data;
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
}

absl::StatusOr<ResolvedFiles> ResolveInputs(const JobRequest& request) {
  std::vector<std::string> problems;
  SERAPH_ASSIGN_OR_RETURN(ResolvedFiles files, ResolveAll(request, &problems));
  if (!request.spec.init_model.empty()) {
    absl::StatusOr<ModelMetadata> model =
        MetadataOf(PathOf(request.base_directory, request.spec.init_model),
                   &files.warnings);
    if (!model.ok()) return Annotate(model.status(), "init.model");
    files.init = *std::move(model);
  }
  return files;
}

absl::Status ProveOutput(const JobRequest& request, const std::string& job_id) {
  namespace fs = std::filesystem;
  const std::string folder =
      PathOf(request.base_directory, request.spec.output_directory);
  const auto error = [&](const std::string& path, absl::string_view reason) {
    return absl::FailedPreconditionError(
        absl::StrCat("output.directory: cannot write ", path, ": ", reason,
                     "; choose a folder that the scheduler may write to"));
  };
  std::error_code made;
  fs::create_directories(folder, made);
  if (made) return error(folder, made.message());
  for (const std::string& path :
       {ModelPath(request.spec, request.base_directory),
        RecordPath(request.spec, request.base_directory)}) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      return error(path, "a folder of that name is there");
    }
  }
  const std::string token = absl::StrCat(folder, "/.seraph-", job_id);
  const int fd =
      ::open(token.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return error(folder, std::generic_category().message(errno));
  }
  // A page: a full disk takes the name but no bytes.
  const std::string bytes(4096, 's');
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  int failed = written < 0 ? errno : written < bytes.size() ? ENOSPC : 0;
  if (::close(fd) != 0 && failed == 0) failed = errno;
  ::unlink(token.c_str());
  if (failed != 0) {
    return error(folder, std::generic_category().message(failed));
  }
  return absl::OkStatus();
}

}  // namespace seraph
