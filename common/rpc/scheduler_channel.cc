#include "common/rpc/scheduler_channel.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/status/errors.h"

namespace seraph {

SchedulerChannel::SchedulerChannel(absl::string_view addresses,
                                   const ChannelOptions& options) {
  for (const absl::string_view part : absl::StrSplit(addresses, ',')) {
    const absl::string_view text = absl::StripAsciiWhitespace(part);
    std::string address(text.data(), text.size());
    std::shared_ptr<grpc::Channel> channel = MakeChannel(address, options);
    known_.push_back({std::move(channel), std::move(address)});
  }
}

SchedulerChannel::Target SchedulerChannel::Get() const {
  MutexLock lock(&mu_);
  return known_[current_];
}

bool SchedulerChannel::Report(const Target& target,
                              const absl::Status& status) {
  const bool silent =
      absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  std::string leader;
  if (ReasonOf(status) == "NOT_LEADER") {
    const auto values = ReasonValuesOf(status);
    if (const auto it = values.find("leader"); it != values.end()) {
      leader = it->second;
    }
  }

  MutexLock lock(&mu_);
  const bool is_current = target.channel == known_[current_].channel;
  if (!silent) {
    if (is_current) moves_ = 0;
    return false;
  }
  if (!is_current) return true;  // Somebody else has moved on.
  size_t next = (current_ + 1) % known_.size();
  for (size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].address == leader && i != current_) next = i;
  }
  current_ = next;
  // It may stand in a pause between attempts to connect.
  ReconnectNow(known_[current_].channel.get());
  return ++moves_ < known_.size();
}

}  // namespace seraph
