// Memory that two processes of one machine share.
#ifndef SERAPH_COMMON_SHM_SHARED_SEGMENT_H_
#define SERAPH_COMMON_SHM_SHARED_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/rpc/unique_fd.h"

namespace seraph {

// What a peer needs to find a segment. It is told in a message.
struct SegmentName {
  int64_t pid = 0;  // Of its maker ...
  int32_t fd = -1;  // ... and its descriptor there.
  uint64_t bytes = 0;
  uint64_t maker = 0;  // Incarnations of both ends.
  uint64_t peer = 0;
  uint64_t token = 0;  // Random: no other segment has it.

  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};

// Anonymous memory (memfd_create), which has no name in any file system: it
// goes with the last process that holds it, also if that is killed, and nobody
// finds one that is left over. The peer opens it through /proc, which takes the
// same user and the same namespace of processes; where that fails, messages
// carry their bulk themselves.
//
// Its size is sealed: nobody can take pages away under the other's hands.
//
// Threads: const methods and Bytes may be called from any thread.
class SharedSegment {
 public:
  // Bytes at its begin that belong to the segment itself.
  static constexpr size_t kHeadBytes = 192;

  // Errors: Unavailable (no memory, no descriptor), with the reason.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Make(uint64_t bytes,
                                                             uint64_t maker,
                                                             uint64_t peer);

  // Errors: Unavailable where it cannot be opened; InvalidArgument where it is
  // another one than the name says, or can shrink.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Open(
      const SegmentName& name);

  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  const SegmentName& name() const { return name_; }
  uint64_t bytes() const { return name_.bytes; }

  // [bytes()], aligned to a page. The other end may write to it at any time.
  char* data() const { return data_; }

  // The peer has opened it. Either end may be lied to by the other: nothing may
  // depend on it but what the liar gets.
  bool is_opened() const;
  void SetOpened() const;

  // A number by which the peer says how far it is.
  std::atomic<uint64_t>* done() const;

 private:
  SharedSegment(const SegmentName& name, UniqueFd fd, char* data)
      : name_(name), fd_(std::move(fd)), data_(data) {}

  const SegmentName name_;
  const UniqueFd fd_;  // Of the maker.
  char* const data_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_SHM_SHARED_SEGMENT_H_
