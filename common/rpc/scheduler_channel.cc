#include "common/rpc/scheduler_channel.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/status/errors.h"

namespace seraph {
namespace {

std::vector<std::string> SplitAddresses(absl::string_view addresses) {
  std::vector<std::string> split;
  for (const absl::string_view part : absl::StrSplit(addresses, ',')) {
    const absl::string_view address = absl::StripAsciiWhitespace(part);
    split.emplace_back(address.data(), address.size());
  }
  return split;
}

}  // namespace

SchedulerChannel::SchedulerChannel(absl::string_view addresses,
                                   const ChannelOptions& options)
    : options_(options), configured_(SplitAddresses(addresses).size()) {
  MutexLock lock(&mu_);
  for (std::string& address : SplitAddresses(addresses)) {
    std::shared_ptr<grpc::Channel> channel = MakeChannel(address, options_);
    known_.push_back({std::move(address), std::move(channel)});
  }
}

SchedulerChannel::Target SchedulerChannel::Get() const {
  MutexLock lock(&mu_);
  return {known_[current_].channel, known_[current_].address};
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
  if (!silent) {
    if (target.channel == known_[current_].channel) moves_ = 0;
    return false;
  }
  // Somebody else has moved on.
  if (target.channel != known_[current_].channel) return true;
  if (!leader.empty() && leader != target.address) {
    for (size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].address == leader) {
        MoveTo(i);
        return moves_ <= configured_;
      }
    }
    known_.resize(configured_);
    known_.push_back({leader, MakeChannel(leader, options_)});
    MoveTo(configured_);
    return moves_ <= configured_;
  }
  MoveTo(current_ + 1 < configured_ ? current_ + 1 : 0);
  return moves_ < configured_;
}

void SchedulerChannel::MoveTo(size_t index) {
  current_ = index;
  ++moves_;
  // It may have stood in a pause between attempts to connect.
  ReconnectNow(known_[current_].channel.get());
}

}  // namespace seraph
