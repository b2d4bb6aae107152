// Parts of a push, and their results, that are numbers in place of messages.
#ifndef SERAPH_COMMON_WIRE_PUSH_PARTS_H_
#define SERAPH_COMMON_WIRE_PUSH_PARTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "proto/parameters.pb.h"

namespace seraph {

// A part without keys: PushRequest.empty_parts.
struct EmptyPart {
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;

  friend bool operator==(const EmptyPart&, const EmptyPart&) = default;
};

inline constexpr int kNumbersPerEmptyPart = 2;
inline constexpr int kNumbersPerTaken = 2;

// Errors: InvalidArgument for numbers that are no parts.
absl::Status CheckEmptyParts(const v1::PushRequest& push);

inline size_t EmptyPartsOf(const v1::PushRequest& push) {
  return push.empty_parts_size() / kNumbersPerEmptyPart;
}

// Requires: CheckEmptyParts is OK, and index < EmptyPartsOf(push).
inline EmptyPart EmptyPartAt(const v1::PushRequest& push, size_t index) {
  const uint64_t* const part =
      push.empty_parts().data() + index * kNumbersPerEmptyPart;
  return {static_cast<uint32_t>(part[0] >> 32), static_cast<uint32_t>(part[0]),
          part[1]};
}

inline void AddEmptyPart(const EmptyPart& part, v1::PushRequest* push) {
  push->add_empty_parts(uint64_t{part.table} << 32 | part.partition);
  push->add_empty_parts(part.epoch);
}

// Of both kinds, in the order of their results.
inline size_t PartsOf(const v1::PushRequest& push) {
  return push.parts_size() + EmptyPartsOf(push);
}

inline void AddTaken(uint64_t epoch, uint64_t position, v1::PushReply* reply) {
  reply->add_taken(epoch);
  reply->add_taken(position);
}

// How many parts the reply has a result of, in either form. None where it
// contradicts itself.
inline size_t ResultsOf(const v1::PushReply& reply) {
  if (reply.taken().empty()) return reply.results_size();
  if (!reply.results().empty() || reply.taken_size() % kNumbersPerTaken != 0) {
    return 0;
  }
  return reply.taken_size() / kNumbersPerTaken;
}

// Requires: index < ResultsOf(reply). `room` is for a result that has to be
// made.
inline const v1::PartResult& ResultAt(const v1::PushReply& reply, size_t index,
                                      v1::PartResult* room) {
  if (reply.taken().empty()) return reply.results(index);
  const uint64_t* const taken = reply.taken().data() + index * kNumbersPerTaken;
  room->Clear();
  room->set_epoch(taken[0]);
  room->set_position(taken[1]);
  return *room;
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_PUSH_PARTS_H_
