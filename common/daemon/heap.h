// How this process uses its heap.
#ifndef SERAPH_COMMON_DAEMON_HEAP_H_
#define SERAPH_COMMON_DAEMON_HEAP_H_

#include <cstddef>

#include "absl/time/time.h"

namespace seraph {

// For processes that get and let go of messages of megabytes all the time: such
// pieces come from the heap, and some of what is freed stays with it. glibc
// would map each of them anew, and the kernel would give it every page at its
// first touch and fill it with zeros, which costs as much as a copy through the
// network does.
//
// What is kept is at most `most_bytes` at the end of each heap, of which there
// are `most_heaps` at most (0: glibc's choice, eight a processor), and what
// lies between pieces in use. Each heap has to hold what its threads need at
// once, so many of them take much; few of them make threads wait for each
// other. To be called first before there are threads.
void KeepFreedMemory(size_t most_bytes = size_t{128} << 20, int most_heaps = 0);

// Gives back what is freed, wherever in the heap it lies. Takes milliseconds,
// in which threads that want memory wait: for processes at rest (IdleWatch).
void ReturnFreedMemory();

// What is freed and kept, in all heaps.
size_t FreedBytes();

// As ReturnFreedMemory, but for most of the heaps' ends: quicker, for processes
// at work that have little room left.
void ReturnSomeFreedMemory();

// What this process has used of all processors so far.
absl::Duration ProcessorTime();

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_HEAP_H_
