// Which servers have said lately that others are silent.
#ifndef SERAPH_SCHEDULER_MEMBERSHIP_SILENT_LINKS_H_
#define SERAPH_SCHEDULER_MEMBERSHIP_SILENT_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace seraph {

// Both servers send heartbeats, but one does not get the other's confirmations.
// Whose fault it is cannot be told from one such link; the server with more of
// them is the likelier one. Servers are named by incarnation.
//
// Threads: one at a time.
class SilentLinks {
 public:
  // What was said is forgotten after `memory` without a repeat.
  explicit SilentLinks(absl::Duration memory) : memory_(memory) {}

  void Report(uint64_t from, absl::Span<const uint64_t> silent,
              absl::Duration now);

  // Whether one of the two has complained of the other.
  bool Between(uint64_t a, uint64_t b) const;

  // How many other servers have such a link with `server`.
  size_t Count(uint64_t server) const;

  // The server is gone.
  void Forget(uint64_t server);

 private:
  const absl::Duration memory_;
  // When it was said last, by pair, the smaller incarnation first.
  std::map<std::pair<uint64_t, uint64_t>, absl::Duration> said_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_MEMBERSHIP_SILENT_LINKS_H_
