#include "worker/client/send_window.h"

#include "common/base/planted_bug.h"

namespace seraph {

bool SendWindow::TakesRoom(const Request& request) {
  if (IsPlanted(PlantedBug::kParkedPullsFillWindow)) return true;
  return request.kind == Kind::kPush;
}

bool SendWindow::MayLeave(const Request& request) const {
  return out_.empty() || bytes_out_ + request.bytes <= limit_ ||
         (request.entry != 0 && entries_out_.contains(request.entry));
}

void SendWindow::Leave(const Request& request, std::vector<uint64_t>* leaving) {
  bytes_out_ += request.bytes;
  out_.emplace(request.id, request);
  if (request.entry != 0) ++entries_out_[request.entry];
  leaving->push_back(request.id);
}

void SendWindow::Add(const Request& request, std::vector<uint64_t>* leaving) {
  if (!TakesRoom(request)) {
    leaving->push_back(request.id);
    return;
  }
  waiting_.push_back(request);
  // Behind others only a piece of an entry that is under way may leave.
  if (waiting_.size() == 1 || request.entry != 0) {
    if (MayLeave(request) &&
        (waiting_.size() == 1 || entries_out_.contains(request.entry))) {
      waiting_.pop_back();
      Leave(request, leaving);
    }
  }
}

void SendWindow::Remove(uint64_t id, std::vector<uint64_t>* leaving) {
  const auto found = out_.find(id);
  if (found == out_.end()) return;
  const Request gone = found->second;
  out_.erase(found);
  bytes_out_ -= gone.bytes;
  if (gone.entry != 0 && --entries_out_[gone.entry] == 0) {
    entries_out_.erase(gone.entry);
  }
  bool full = false;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const bool may = full ? it->entry != 0 && entries_out_.contains(it->entry)
                          : MayLeave(*it);
    if (!may) {
      full = true;
      ++it;
      continue;
    }
    Leave(*it, leaving);
    it = waiting_.erase(it);
  }
}

}  // namespace seraph
