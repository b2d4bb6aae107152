#include "client/bench/process_cost.h"

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace seraph {

absl::StatusOr<absl::Duration> ProcessorTime(pid_t process) {
  clockid_t clock;
  if (const int error = clock_getcpuclockid(process, &clock); error != 0) {
    return absl::ErrnoToStatus(
        error, absl::StrCat("the processor time of process ", process));
  }
  timespec time;
  if (clock_gettime(clock, &time) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("the processor time of process ", process));
  }
  return absl::DurationFromTimespec(time);
}

absl::StatusOr<uint64_t> ResidentMemory(pid_t process) {
  const std::string path = process == 0
                               ? "/proc/self/statm"
                               : absl::StrCat("/proc/", process, "/statm");
  std::ifstream file(path);
  uint64_t all = 0, resident = 0;  // Pages.
  if (!(file >> all >> resident)) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace seraph
