// The sorted scores of a rank's validation share, on disk until the end of the
// epoch: the scheduler's memory does not grow with the validation set.
#ifndef SERAPH_SCHEDULER_IO_SCORE_SPOOL_H_
#define SERAPH_SCHEDULER_IO_SCORE_SPOOL_H_

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/metrics/auc.h"

namespace seraph {

// Writes runs of scores to one file. A run may come in several parts; a score
// that is not greater than the one before it begins another run.
//
// The file, in the byte order of this machine, which alone reads it: records of
// score, positives and negatives, 8 bytes each; the index of each run's first
// record; the number of runs.
//
// Threads: one at a time. Memory: 8 bytes a run.
class ScoreSpool {
 public:
  // Creates the file. It is removed with the object, unless Finish() was OK.
  explicit ScoreSpool(std::string path);
  ~ScoreSpool();
  ScoreSpool(const ScoreSpool&) = delete;
  ScoreSpool& operator=(const ScoreSpool&) = delete;

  // Errors: InvalidArgument for a score that is not a number; ResourceExhausted
  // and the like, with the path.
  absl::Status Append(absl::Span<const ScoreCount> scores);

  absl::Status Finish();

  const std::string& path() const { return path_; }

 private:
  absl::Status CheckDisk(int error_number) const;

  const std::string path_;
  std::ofstream file_;
  uint64_t records_ = 0;
  std::optional<double> last_;
  std::vector<uint64_t> runs_;
  bool keep_ = false;
};

// The sources of all runs of a spool file, each with a small buffer of its own.
// The file must stay until the sources are gone.
// Errors: NotFound and the like; DataLoss for a file that is not one.
absl::StatusOr<std::vector<AucRunSource>> OpenSpool(const std::string& path);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_SCORE_SPOOL_H_
