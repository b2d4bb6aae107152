// From the paths of a job file to the list of files that the job reads.
#ifndef SERAPH_COMMON_DATASET_INPUT_FILES_H_
#define SERAPH_COMMON_DATASET_INPUT_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace seraph {

// A regular file as it was when the job began.
struct FileStamp {
  std::string path;         // Absolute if the base folder was.
  uint64_t size_bytes = 0;  // As stored, compressed or not.
  int64_t modified_ns = 0;  // Since 1970.

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// One file of records. idx keeps the labels in a file beside the images; for
// every other format `labels` has an empty path.
struct InputFile {
  FileStamp data;
  FileStamp labels;

  friend bool operator==(const InputFile&, const InputFile&) = default;
};

// The stamp of the regular file `path`, which this process may read.
// Errors: NotFound; PermissionDenied; InvalidArgument for what is no regular
// file.
absl::StatusOr<FileStamp> StampFile(const std::string& path);

// The files that `patterns` name, without repeats, sorted by the bytes of their
// paths: the same list on every machine that sees the same files.
//
// A pattern is a file, a folder or a glob (of *, ?, [...]), relative to
// `base_dir` unless it is absolute. A folder, also one that a glob matches,
// stands for every regular file under it, at any depth; names in it that begin
// with '.' or '_' are passed over.
// What exists under the pattern's very name is taken for no glob.
//
// Errors: NotFound for what does not exist, a glob that matches nothing, a
// folder without files; PermissionDenied for a file or folder that may not be
// read; InvalidArgument for an empty list, an empty pattern and for what is
// neither a regular file nor a folder. Each names the path.
absl::StatusOr<std::vector<FileStamp>> ResolveInputFiles(
    const std::string& base_dir, absl::Span<const std::string> patterns);

// Errors: FailedPrecondition if the file has another size or time than its
// stamp; NotFound or PermissionDenied if it is gone.
absl::Status VerifyUnchanged(const FileStamp& file);

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_INPUT_FILES_H_
