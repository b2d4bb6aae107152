#include "scheduler/store/state_batch.h"

#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace seraph {
namespace {

void Append(absl::string_view bytes, std::string* out) {
  for (uint64_t shift = 0, size = bytes.size(); shift < 64; shift += 8) {
    out->push_back(static_cast<char>(size >> shift));
  }
  out->append(bytes.data(), bytes.size());
}

std::optional<std::string> Take(absl::string_view* bytes) {
  if (bytes->size() < 8) return std::nullopt;
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) {
    size = size << 8 | static_cast<unsigned char>((*bytes)[i]);
  }
  bytes->remove_prefix(8);
  if (bytes->size() < size) return std::nullopt;
  std::string taken(bytes->data(), size);
  bytes->remove_prefix(size);
  return taken;
}

}  // namespace

std::string SerializeBatch(const StateWrites& writes) {
  std::string bytes;
  for (const StateWrite& write : writes) {
    Append(write.key, &bytes);
    bytes.push_back(write.value.has_value() ? 1 : 0);
    if (write.value.has_value()) Append(*write.value, &bytes);
  }
  return bytes;
}

absl::StatusOr<StateWrites> ParseBatch(absl::string_view bytes) {
  const auto damaged = [] {
    return absl::DataLossError("a batch of stored writes is damaged");
  };
  StateWrites writes;
  while (!bytes.empty()) {
    std::optional<std::string> key = Take(&bytes);
    if (!key.has_value() || bytes.empty() || (bytes[0] != 0 && bytes[0] != 1)) {
      return damaged();
    }
    StateWrite& write = writes.emplace_back();
    write.key = *std::move(key);
    const bool has_value = bytes[0] == 1;
    bytes.remove_prefix(1);
    if (!has_value) continue;
    write.value = Take(&bytes);
    if (!write.value.has_value()) return damaged();
  }
  return writes;
}

}  // namespace seraph
