#include "server/core/chunk_stage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {

size_t BytesOf(const PushMessage& message) {
  size_t bytes = sizeof(PushMessage) + message.keys.bytes() +
                 message.values.size() * sizeof(float);
  for (const FunctionCall& call : message.calls) bytes += BytesOf(call);
  return bytes;
}

absl::StatusOr<std::optional<ChunkStage::Whole>> ChunkStage::Add(
    PushMessage message) {
  const uint32_t rank = message.rank->rank;
  const auto found = staged_.find(rank);
  if (found != staged_.end() &&
      (found->second.clock != message.clock ||
       found->second.chunks.size() != message.chunks)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " changed the chunks of entry ",
                     ToString(message.clock), " under way"));
  }
  Staged& staged = staged_[rank];
  if (found == staged_.end()) {
    staged.clock = message.clock;
    staged.chunks.resize(message.chunks);
    staged.missing = message.chunks;
  }
  staged.tickets.push_back(message.ticket);
  std::optional<PushMessage>& place = staged.chunks[message.chunk];
  if (place.has_value()) return std::nullopt;  // A repeat.
  staged.bytes += BytesOf(message);
  bytes_ += BytesOf(message);
  place = std::move(message);
  if (--staged.missing > 0) return std::nullopt;

  Whole whole{.entry = std::move(*staged.chunks[0]),
              .tickets = std::move(staged.tickets)};
  for (size_t i = 1; i < staged.chunks.size(); ++i) {
    const PushMessage& chunk = *staged.chunks[i];
    whole.entry.keys.Append(chunk.keys);
    const size_t before = whole.entry.values.size();
    whole.entry.values.resize(before + chunk.values.size());
    std::copy(chunk.values.begin(), chunk.values.end(),
              whole.entry.values.begin() + before);
  }
  whole.entry.list = nullptr;  // It was of the first one's keys.
  whole.entry.chunk = 0;
  whole.entry.chunks = 1;
  Drop(rank);
  return whole;
}

std::vector<Ticket> ChunkStage::Drop(uint32_t rank) {
  auto node = staged_.extract(rank);
  if (node.empty()) return {};
  bytes_ -= node.mapped().bytes;
  return std::move(node.mapped().tickets);
}

std::vector<Ticket> ChunkStage::DropAll() {
  std::vector<Ticket> tickets;
  for (const auto& [rank, staged] : staged_) {
    tickets.insert(tickets.end(), staged.tickets.begin(), staged.tickets.end());
  }
  staged_.clear();
  bytes_ = 0;
  return tickets;
}

}  // namespace seraph
