// The end of a partition's log: what another replica may still need.
#ifndef SERAPH_SERVER_CORE_LOG_TAIL_H_
#define SERAPH_SERVER_CORE_LOG_TAIL_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "server/core/log_record.h"
#include "server/core/peer_message.h"

namespace seraph {

// Records base() + 1 .. last(), without gaps, and the commit number. A value.
class LogTail {
 public:
  struct Kept {
    LogPosition position;
    RecordPtr record;
    uint64_t end_bytes = 0;  // Of all records so far, with this one.
  };

  // Empty behind `number`, which is committed.
  void Start(uint64_t number);

  // The next record.
  void Append(LogPosition position, RecordPtr record);

  // All members have the records up to `number`; a lower one than was said
  // before changes nothing.
  void Commit(uint64_t number);

  // Forgets the records up to `number`.
  void TrimTo(uint64_t number);

  uint64_t commit() const { return commit_; }
  uint64_t base() const { return base_; }
  uint64_t last() const { return base_ + kept_.size(); }
  // Requires: base() < number <= last().
  const Kept& At(uint64_t number) const { return kept_[number - base_ - 1]; }
  // Bytes of the records behind `from`, up to `to`.
  // Requires: base() <= from <= to <= last().
  uint64_t BytesBetween(uint64_t from, uint64_t to) const {
    return EndBytes(to) - EndBytes(from);
  }
  size_t bytes() const { return BytesBetween(base(), last()); }

 private:
  uint64_t EndBytes(uint64_t number) const {
    return number == base_ ? base_bytes_ : At(number).end_bytes;
  }

  uint64_t base_ = 0;
  uint64_t base_bytes_ = 0;
  uint64_t commit_ = 0;
  std::deque<Kept> kept_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_LOG_TAIL_H_
