// Owns a file descriptor.
#ifndef SERAPH_COMMON_RPC_UNIQUE_FD_H_
#define SERAPH_COMMON_RPC_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace seraph {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }  // -1: none.
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }

  void Reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) close(old);
  }

 private:
  int fd_ = -1;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_UNIQUE_FD_H_
