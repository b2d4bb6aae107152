// A push whose parts and results are all messages, for those that play one end
// of the protocol.
#ifndef SERAPH_COMMON_WIRE_SPELLED_PARTS_H_
#define SERAPH_COMMON_WIRE_SPELLED_PARTS_H_

#include <cstddef>

#include "common/wire/push_parts.h"
#include "proto/parameters.pb.h"

namespace seraph::testing {

// What says the same without `empty_parts` and `reads_taken`.
inline v1::PushRequest Spelled(v1::PushRequest push) {
  for (size_t i = 0; i < EmptyPartsOf(push); ++i) {
    const EmptyPart empty = EmptyPartAt(push, i);
    v1::PushPart* part = push.add_parts();
    part->set_table(empty.table);
    part->set_partition(empty.partition);
    part->set_epoch(empty.epoch);
  }
  push.clear_empty_parts();
  push.clear_reads_taken();
  return push;
}

// What says the same without `taken`.
inline v1::PushReply Spelled(const v1::PushReply& reply) {
  v1::PushReply spelled;
  v1::PartResult room;
  for (size_t i = 0; i < ResultsOf(reply); ++i) {
    *spelled.add_results() = ResultAt(reply, i, &room);
  }
  return spelled;
}

// Pulls have but one form.
inline v1::PullRequest Spelled(v1::PullRequest pull) { return pull; }

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_WIRE_SPELLED_PARTS_H_
