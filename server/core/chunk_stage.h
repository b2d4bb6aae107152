// Entries of which not all chunks are there.
#ifndef SERAPH_SERVER_CORE_CHUNK_STAGE_H_
#define SERAPH_SERVER_CORE_CHUNK_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/partition_messages.h"

namespace seraph {

// One entry of each rank at a time. Chunks are answered when their entry is, so
// all their tickets are kept.
class ChunkStage {
 public:
  struct Whole {
    PushMessage entry;            // Joined: chunk 0 of 1.
    std::vector<Ticket> tickets;  // Of all chunks and repeats of them.
  };

  // Adds a chunk of a rank's entry; the whole when it was the last one missing.
  // Errors, which change nothing: InvalidArgument for another cut of an entry
  // that is under way.
  absl::StatusOr<std::optional<Whole>> Add(PushMessage message);

  // Forgets what is there of the rank; its tickets.
  std::vector<Ticket> Drop(uint32_t rank);
  std::vector<Ticket> DropAll();

  size_t bytes() const { return bytes_; }

 private:
  struct Staged {
    Clock clock;
    std::vector<std::optional<PushMessage>> chunks;
    size_t missing = 0;
    size_t bytes = 0;
    std::vector<Ticket> tickets;
  };

  std::map<uint32_t, Staged> staged_;  // By rank.
  size_t bytes_ = 0;
};

size_t BytesOf(const PushMessage& message);

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_CHUNK_STAGE_H_
