#include "common/daemon/heap.h"

#include <malloc.h>
#include <time.h>

namespace seraph {
namespace {

// The largest that glibc takes.
constexpr int kMappedBytes = 32 << 20;
// Free memory at a heap's end that is not given back.
constexpr int kKeptBytes = 128 << 20;

}  // namespace

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

void ReturnFreedMemory() { malloc_trim(0); }

absl::Duration ProcessorTime() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

}  // namespace seraph
