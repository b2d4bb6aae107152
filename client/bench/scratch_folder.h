// A folder for the time of a measurement.
#ifndef SERAPH_CLIENT_BENCH_SCRATCH_FOLDER_H_
#define SERAPH_CLIENT_BENCH_SCRATCH_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace seraph {

// Removed with all that is in it.
class ScratchFolder {
 public:
  // Below `directory`. Errors: the system's reason.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Create(
      const std::string& directory);

  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_SCRATCH_FOLDER_H_
