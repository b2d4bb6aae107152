// Freed memory that each thread keeps for itself.
#ifndef SERAPH_COMMON_DAEMON_THREAD_CACHES_H_
#define SERAPH_COMMON_DAEMON_THREAD_CACHES_H_

namespace seraph {

// For processes that take and answer many small messages: a request of few keys
// is some hundred pieces of memory, and glibc keeps seven freed ones of a size
// for each thread; for more of them it takes the lock of their heap. With this
// it keeps 128, of a size up to 1 KiB.
//
// glibc reads that number when a process starts, from the environment
// (GLIBC_TUNABLES), and has no call for it. So, where it is not there yet, this
// does not return: the process starts its program anew, with the number in its
// environment and all else as it was: its id, its parent, `argv`, its open
// files. Where that fails it returns, and the process goes on as it is. An
// operator's own number stays.
//
// To be called before there are threads, and before anything is done that must
// not be done twice. `argv`: main's, ending in null.
void EnlargeThreadCaches(char** argv);

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_THREAD_CACHES_H_
