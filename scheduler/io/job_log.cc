#include "scheduler/io/job_log.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"

namespace seraph {

std::string Timestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

JobLog::JobLog(std::string folder) : folder_(std::move(folder)) {}

void JobLog::Restore(const std::string& job) {
  if (folder_.empty()) return;
  std::ifstream file(absl::StrCat(folder_, "/", job, ".log"));
  Kept kept;
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    JobEvent event;
    // One that a power cut has left in pieces is passed over.
    if (space == std::string::npos ||
        !absl::ParseTime(absl::RFC3339_full, line.substr(0, space), &event.time,
                         nullptr)) {
      continue;
    }
    event.text = line.substr(space + 1);
    kept.events.push_back(std::move(event));
    if (kept.events.size() > kMaxLines) {
      kept.events.pop_front();
      ++kept.first;
    }
  }
  if (kept.events.empty()) return;
  MutexLock lock(&mu_);
  jobs_.insert_or_assign(job, std::move(kept));
}

void JobLog::Append(const std::string& job, const JobEvent& event) {
  {
    MutexLock lock(&mu_);
    Kept& kept = jobs_[job];
    kept.events.push_back(event);
    if (kept.events.size() > kMaxLines) {
      kept.events.pop_front();
      ++kept.first;
    }
  }
  if (folder_.empty()) return;
  const std::string path = absl::StrCat(folder_, "/", job, ".log");
  std::ofstream file(path, std::ios::app);
  file << Timestamp(event.time) << ' ' << event.text << '\n';
  if (file.flush().good()) return;
  MutexLock lock(&mu_);
  if (!std::exchange(warned_, true)) {
    spdlog::warn("job.log_not_written path={} next=kept_in_memory_only", path);
  }
}

JobLog::Lines JobLog::Read(const std::string& job, uint64_t from,
                           size_t max) const {
  Lines lines;
  lines.next = from;
  MutexLock lock(&mu_);
  const auto it = jobs_.find(job);
  if (it == jobs_.end()) return lines;
  const Kept& kept = it->second;
  const uint64_t end = kept.first + kept.events.size();
  for (uint64_t line = std::max(from, kept.first);
       line < end && lines.events.size() < max; ++line) {
    lines.events.push_back(kept.events[line - kept.first]);
    lines.next = line + 1;
  }
  return lines;
}

void JobLog::Forget(const std::string& job) {
  MutexLock lock(&mu_);
  jobs_.erase(job);
}

}  // namespace seraph
