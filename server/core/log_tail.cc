#include "server/core/log_tail.h"

#include <algorithm>
#include <utility>

namespace seraph {

void LogTail::Start(uint64_t number) {
  kept_.clear();
  base_ = commit_ = number;
  base_bytes_ = 0;
}

void LogTail::Append(LogPosition position, RecordPtr record) {
  const uint64_t end = EndBytes(last()) + BytesOf(*record);
  kept_.push_back({position, std::move(record), end});
}

void LogTail::Commit(uint64_t number) { commit_ = std::max(commit_, number); }

void LogTail::TrimTo(uint64_t number) {
  while (base_ < number && !kept_.empty()) {
    base_bytes_ = kept_.front().end_bytes;
    kept_.pop_front();
    ++base_;
  }
}

}  // namespace seraph
