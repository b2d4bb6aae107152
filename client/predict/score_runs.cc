#include "client/predict/score_runs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr size_t kElementsAtOnce = 4096;

absl::Status FileError(absl::string_view what) {
  return absl::ErrnoToStatus(
      errno,
      absl::StrCat("cannot ", what, " the temporary file for the scores in '",
                   std::filesystem::temp_directory_path().string(), "'"));
}

// A file that goes when it is closed.
absl::StatusOr<int> OpenNameless() {
  std::string path = absl::StrCat(
      std::filesystem::temp_directory_path().string(), "/seraph-scores-XXXXXX");
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return FileError("create");
  unlink(path.c_str());
  return fd;
}

// All of `bytes`, at `offset`.
absl::Status WriteAll(int fd, const char* bytes, size_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, bytes, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write");
    bytes += n;
    size -= n;
    offset += n;
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int fd, char* bytes, size_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t n = pread(fd, bytes, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read");
    if (n == 0) return absl::DataLossError("the scores' file was cut off");
    bytes += n;
    size -= n;
    offset += n;
  }
  return absl::OkStatus();
}

}  // namespace

ScoreRuns::ScoreRuns(size_t max_scores)
    : builder_(max_scores, [this](AucRun run) { Write(std::move(run)); }) {}

ScoreRuns::~ScoreRuns() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::optional<double>> ScoreRuns::Finish() {
  builder_.Finish();
  SERAPH_RETURN_IF_ERROR(status_);
  std::vector<AucRunSource> sources;
  for (const Run& run : runs_) sources.push_back(SourceOf(run));
  SERAPH_ASSIGN_OR_RETURN(const AucResult result, MergeAuc(std::move(sources)));
  return result.auc;
}

void ScoreRuns::Write(AucRun run) {
  if (!status_.ok()) return;
  if (fd_ < 0) {
    const absl::StatusOr<int> fd = OpenNameless();
    status_ = fd.status();
    if (!fd.ok()) return;
    fd_ = *fd;
  }
  status_ =
      WriteAll(fd_, reinterpret_cast<const char*>(run.data()),
               run.size() * sizeof(ScoreCount), written_ * sizeof(ScoreCount));
  runs_.push_back({written_, run.size()});
  written_ += run.size();
}

AucRunSource ScoreRuns::SourceOf(const Run& run) const {
  return [fd = fd_, next = run.offset, end = run.offset + run.size,
          buffer = std::vector<ScoreCount>(),
          used = size_t{
              0}]() mutable -> absl::StatusOr<std::optional<ScoreCount>> {
    if (used == buffer.size()) {
      if (next == end) return std::nullopt;
      buffer.resize(std::min<uint64_t>(kElementsAtOnce, end - next));
      SERAPH_RETURN_IF_ERROR(ReadAll(fd, reinterpret_cast<char*>(buffer.data()),
                                     buffer.size() * sizeof(ScoreCount),
                                     next * sizeof(ScoreCount)));
      next += buffer.size();
      used = 0;
    }
    return buffer[used++];
  };
}

}  // namespace seraph
