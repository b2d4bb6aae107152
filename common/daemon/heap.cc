#include "common/daemon/heap.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

namespace seraph {
namespace {

// The largest that glibc takes.
constexpr int kMappedBytes = 32 << 20;
// Free memory at a heap's end that is not given back.
std::atomic<int> kept_bytes = 0;
constexpr int kKeptAtRestBytes = 256 << 10;
// Freeing so much makes glibc look at the heap's end.
constexpr size_t kLookedAtBytes = 128 << 10;

// Of glibc's own choice.
int MostHeaps() {
  return 8 *
         static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}
int ThreadsForAllHeaps() { return std::min(2 * MostHeaps(), 128); }

}  // namespace

void KeepFreedMemory(size_t most_bytes, int most_heaps) {
  kept_bytes = static_cast<int>(
      std::min<size_t>(most_bytes, std::numeric_limits<int>::max()));
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
  mallopt(M_ARENA_MAX, most_heaps > 0 ? std::min(most_heaps, MostHeaps()) : 0);
}

void ReturnFreedMemory() {
  // malloc_trim gives back what is free between pieces in use, in all heaps,
  // but the end of the first heap alone. Those of the others go when a thread
  // of that heap frees a large piece. So there are to be threads of all heaps:
  // new ones get heaps of their own as long as there may be more, and then
  // those that there are, in turn.
  mallopt(M_TRIM_THRESHOLD, kKeptAtRestBytes);
  const int n = ThreadsForAllHeaps();
  std::barrier all_have_heaps(n);
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) {
    threads.emplace_back([&all_have_heaps] {
      void* volatile piece = std::malloc(kLookedAtBytes);
      all_have_heaps.arrive_and_wait();
      std::free(piece);
    });
  }
  for (std::thread& thread : threads) thread.join();
  malloc_trim(0);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
}

size_t FreedBytes() { return mallinfo2().fordblks; }

void ReturnSomeFreedMemory() { malloc_trim(0); }

absl::Duration ProcessorTime() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

}  // namespace seraph
