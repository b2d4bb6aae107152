#include "scheduler/io/score_spool.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

static_assert(std::is_trivially_copyable_v<ScoreCount> &&
              sizeof(ScoreCount) == 24);

constexpr uint64_t kRecordsPerRead = 1024;

absl::Status SystemError(int error_number, absl::string_view what,
                         const std::string& path) {
  return absl::ErrnoToStatus(error_number == 0 ? EIO : error_number,
                             absl::StrCat(what, " ", path));
}

// One run of a file.
class RunReader {
 public:
  RunReader(std::shared_ptr<std::ifstream> file, std::string path,
            uint64_t begin, uint64_t end)
      : file_(std::move(file)),
        path_(std::move(path)),
        next_(begin),
        end_(end) {}

  absl::StatusOr<std::optional<ScoreCount>> Next() {
    if (used_ == buffer_.size()) {
      if (next_ == end_) return std::nullopt;
      buffer_.resize(std::min(kRecordsPerRead, end_ - next_));
      used_ = 0;
      file_->seekg(next_ * sizeof(ScoreCount));
      file_->read(reinterpret_cast<char*>(buffer_.data()),
                  buffer_.size() * sizeof(ScoreCount));
      if (!file_->good()) return SystemError(errno, "reading", path_);
      next_ += buffer_.size();
    }
    return buffer_[used_++];
  }

 private:
  // Shared by the runs of the file, which are read in turn.
  const std::shared_ptr<std::ifstream> file_;
  const std::string path_;
  uint64_t next_;
  const uint64_t end_;
  std::vector<ScoreCount> buffer_;
  size_t used_ = 0;
};

}  // namespace

ScoreSpool::ScoreSpool(std::string path)
    : path_(std::move(path)),
      file_(path_, std::ios::binary | std::ios::trunc) {}

ScoreSpool::~ScoreSpool() {
  file_.close();
  if (!keep_) std::remove(path_.c_str());
}

absl::Status ScoreSpool::CheckDisk(int error_number) const {
  if (file_.good()) return absl::OkStatus();
  return SystemError(error_number, "writing", path_);
}

absl::Status ScoreSpool::Append(absl::Span<const ScoreCount> scores) {
  for (const ScoreCount& count : scores) {
    if (std::isnan(count.score)) {
      return absl::InvalidArgumentError("a score is not a number");
    }
    if (!last_.has_value() || count.score <= *last_) runs_.push_back(records_);
    last_ = count.score;
    ++records_;
  }
  errno = 0;
  file_.write(reinterpret_cast<const char*>(scores.data()),
              scores.size() * sizeof(ScoreCount));
  return CheckDisk(errno);
}

absl::Status ScoreSpool::Finish() {
  const uint64_t runs = runs_.size();
  errno = 0;
  file_.write(reinterpret_cast<const char*>(runs_.data()),
              runs_.size() * sizeof(uint64_t));
  file_.write(reinterpret_cast<const char*>(&runs), sizeof(runs));
  file_.flush();
  SERAPH_RETURN_IF_ERROR(CheckDisk(errno));
  keep_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AucRunSource>> OpenSpool(const std::string& path) {
  errno = 0;
  const auto file =
      std::make_shared<std::ifstream>(path, std::ios::binary | std::ios::ate);
  if (!file->good()) return SystemError(errno, "opening", path);
  const uint64_t size = file->tellg();
  const auto damaged = [&path] {
    return absl::DataLossError(absl::StrCat(path, " is no file of scores"));
  };
  uint64_t runs = 0;
  if (size < sizeof(runs)) return damaged();
  file->seekg(size - sizeof(runs));
  file->read(reinterpret_cast<char*>(&runs), sizeof(runs));
  if (!file->good()) return SystemError(errno, "reading", path);
  if (runs > size / sizeof(uint64_t) - 1) return damaged();
  const uint64_t record_bytes = size - (runs + 1) * sizeof(uint64_t);
  if (record_bytes % sizeof(ScoreCount) != 0) return damaged();

  std::vector<uint64_t> begins(runs);
  file->seekg(record_bytes);
  file->read(reinterpret_cast<char*>(begins.data()), runs * sizeof(uint64_t));
  if (!file->good()) return SystemError(errno, "reading", path);
  begins.push_back(record_bytes / sizeof(ScoreCount));
  std::vector<AucRunSource> sources;
  for (uint64_t run = 0; run < runs; ++run) {
    if (begins[run] >= begins[run + 1]) return damaged();
    const auto reader =
        std::make_shared<RunReader>(file, path, begins[run], begins[run + 1]);
    sources.push_back([reader] { return reader->Next(); });
  }
  return sources;
}

}  // namespace seraph
