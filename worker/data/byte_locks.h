// Locks that processes of one machine share, as bytes of a file.
#ifndef SERAPH_WORKER_DATA_BYTE_LOCKS_H_
#define SERAPH_WORKER_DATA_BYTE_LOCKS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace seraph {

// Each byte of the file, whether it exists or not, is a lock that many may hold
// shared or one exclusively. What a process holds goes with the process, also
// when it is killed. One descriptor serves for all locks.
//
// A holder is a ByteLocks object (Linux: open file description locks), so that
// two objects of one process exclude each other like two processes; the threads
// that use one object have to agree among themselves.
//
// Bytes: 0..2^63 - 1.
class ByteLocks {
 public:
  // Makes the file if need be. Errors: by errno.
  static absl::StatusOr<std::unique_ptr<ByteLocks>> Open(
      const std::string& path);

  ~ByteLocks();
  ByteLocks(const ByteLocks&) = delete;
  ByteLocks& operator=(const ByteLocks&) = delete;

  // Waits until the lock is free, then holds it exclusively.
  // Errors: by errno.
  absl::Status Lock(uint64_t byte);

  // Likewise, shared.
  absl::Status LockShared(uint64_t byte);

  // Holds it exclusively, from nothing or from shared, if nobody else holds
  // it, and returns whether that is so. Nothing changes otherwise.
  bool TryLock(uint64_t byte);

  void Unlock(uint64_t byte);

 private:
  ByteLocks(int fd, std::string path);

  absl::Status Set(int command, short type, uint64_t byte);

  const int fd_;
  const std::string path_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_BYTE_LOCKS_H_
