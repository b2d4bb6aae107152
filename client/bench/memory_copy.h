// How fast memory is copied.
#ifndef SERAPH_CLIENT_BENCH_MEMORY_COPY_H_
#define SERAPH_CLIENT_BENCH_MEMORY_COPY_H_

#include <cstddef>

namespace seraph {

// Bytes a second that one thread copies in pieces of this size, between two
// stretches of memory that are larger than caches.
double CopiedBytesPerSecond(size_t piece);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_MEMORY_COPY_H_
