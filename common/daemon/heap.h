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
// are several (glibc: eight a processor). To be called first before there are
// threads.
void KeepFreedMemory(size_t most_bytes = size_t{128} << 20);

// Gives back what is freed, wherever in the heap it lies. Takes milliseconds,
// in which threads that want memory wait: for processes at rest (IdleWatch).
void ReturnFreedMemory();

// What this process has used of all processors so far.
absl::Duration ProcessorTime();

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_HEAP_H_
