// The events of jobs, for people.
#ifndef SERAPH_SCHEDULER_IO_JOB_LOG_H_
#define SERAPH_SCHEDULER_IO_JOB_LOG_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"

namespace seraph {

struct JobEvent {
  absl::Time time;
  std::string text;
};

// "2024-05-01T12:34:56.123456Z", UTC.
std::string Timestamp(absl::Time time);

// Keeps the last lines of each job in memory, and writes all of them to files
// where there is a folder for it.
//
// Threads: every method may be called from any thread. Append does IO.
class JobLog {
 public:
  static constexpr size_t kMaxLines = 2000;  // In memory, for each job.

  // "<folder>/<job>.log"; "": no files.
  explicit JobLog(std::string folder);

  // Takes the last lines of a job's file into memory, as a scheduler that
  // starts again does before anything is appended. Without a file it does
  // nothing.
  void Restore(const std::string& job) ABSL_LOCKS_EXCLUDED(mu_);

  // A file that cannot be written is given up, with one warning in the log of
  // the process.
  void Append(const std::string& job, const JobEvent& event)
      ABSL_LOCKS_EXCLUDED(mu_);

  struct Lines {
    std::vector<JobEvent> events;
    uint64_t next = 0;  // To ask for what comes after them.
  };

  // The lines from number `from` on, at most `max` of them, beginning with 0;
  // those that are not in memory any more are passed over.
  Lines Read(const std::string& job, uint64_t from, size_t max) const
      ABSL_LOCKS_EXCLUDED(mu_);

  // Frees the memory of a job; its file stays.
  void Forget(const std::string& job) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Kept {
    uint64_t first = 0;  // Number of the first line in `events`.
    std::deque<JobEvent> events;
  };

  const std::string folder_;

  mutable Mutex mu_;
  std::map<std::string, Kept> jobs_ ABSL_GUARDED_BY(mu_);
  bool warned_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_JOB_LOG_H_
