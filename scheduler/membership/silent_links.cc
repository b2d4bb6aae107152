#include "scheduler/membership/silent_links.h"

#include <algorithm>

namespace seraph {
namespace {

std::pair<uint64_t, uint64_t> Link(uint64_t a, uint64_t b) {
  return std::minmax(a, b);
}

}  // namespace

void SilentLinks::Report(uint64_t from, absl::Span<const uint64_t> silent,
                         absl::Duration now) {
  std::erase_if(said_,
                [&](const auto& link) { return now - link.second > memory_; });
  for (const uint64_t peer : silent) {
    if (peer != from) said_[Link(from, peer)] = now;
  }
}

bool SilentLinks::Between(uint64_t a, uint64_t b) const {
  return said_.contains(Link(a, b));
}

size_t SilentLinks::Count(uint64_t server) const {
  return std::count_if(said_.begin(), said_.end(), [&](const auto& link) {
    return link.first.first == server || link.first.second == server;
  });
}

void SilentLinks::Forget(uint64_t server) {
  std::erase_if(said_, [&](const auto& link) {
    return link.first.first == server || link.first.second == server;
  });
}

}  // namespace seraph
