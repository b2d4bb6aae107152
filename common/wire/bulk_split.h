// Reads a protobuf message whose bulk stays where it lies.
#ifndef SERAPH_COMMON_WIRE_BULK_SPLIT_H_
#define SERAPH_COMMON_WIRE_BULK_SPLIT_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/wire/bulk_schema.h"
#include "common/wire/byte_slices.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/message_lite.h"

namespace seraph {

// Where the bulk of a message lies.
struct FoundBulk {
  const BulkField* field = nullptr;
  ByteSlices bytes;
};

// Takes the bulk out of a message: `head` becomes the message without it, in
// wire form, for protobuf to parse.
//
// False, with nothing to be used of the results, for what is better left to
// protobuf as a whole: what is no message, and what none of our writers would
// write, such as a field of the schema twice, whose parts protobuf merges.
bool SplitBulk(const ByteSlices& message, const BulkSchema& schema,
               std::string* head, std::vector<FoundBulk>* bulk);

// The bulk of a message that lies outside of it; the message's fields are empty
// there.
struct BulkOutside {
  // The bytes of a field. `inside`: the field itself, which must outlive them.
  ByteSlices Bulk(const BulkField& field, const std::string& inside) const {
    for (const FoundBulk& found : bulk) {
      if (found.field == &field) return found.bytes;
    }
    return ByteSlices(inside, nullptr);
  }

  std::vector<FoundBulk> bulk;  // In the order of the message.
};

// A message of which some bulk fields may lie outside of it.
template <typename Message>
struct WithBulk : BulkOutside {
  WithBulk() = default;
  // With all of its bulk inside.
  WithBulk(Message message) : head(std::move(message)) {}  // NOLINT

  // On the wire, about.
  size_t bytes() const {
    size_t bytes = head.ByteSizeLong();
    for (const FoundBulk& found : bulk) bytes += found.bytes.size();
    return bytes;
  }

  Message* message() { return &head; }

  Message head;
};

// The same, of a message on an arena, which must outlive it.
template <typename Message>
struct WithBulkOnArena : BulkOutside {
  explicit WithBulkOnArena(google::protobuf::Arena* arena)
      : head(google::protobuf::Arena::CreateMessage<Message>(arena)) {}

  Message* message() { return head; }

  Message* head;
};

// The same as protobuf's own parser makes of the bytes: `message`, which is
// empty, and what lies outside of it.
// Errors: InvalidArgument for what is no such message.
absl::Status ParseOutside(const ByteSlices& bytes, const BulkSchema& schema,
                          google::protobuf::MessageLite* message,
                          std::vector<FoundBulk>* bulk);

template <typename Message>
absl::StatusOr<WithBulk<Message>> ParseWithBulk(const ByteSlices& bytes,
                                                const BulkSchema& schema) {
  WithBulk<Message> parsed;
  if (absl::Status status =
          ParseOutside(bytes, schema, &parsed.head, &parsed.bulk);
      !status.ok()) {
    return status;
  }
  return parsed;
}

// What came as one message of a stream: `Message` itself, or several in its
// field `batch`, which `batch_schema` begins with; `schema` is that of one.
// `is_batch` says which. `make` gives an empty WithBulk or WithBulkOnArena.
// Errors: InvalidArgument, also for a batch with a batch in it.
template <typename Message, typename Make>
auto ParseBatch(const ByteSlices& bytes, const BulkSchema& batch_schema,
                const BulkSchema& schema, Make make, bool* is_batch)
    -> absl::StatusOr<std::vector<decltype(make())>> {
  auto whole = make();
  if (absl::Status status =
          ParseOutside(bytes, batch_schema, whole.message(), &whole.bulk);
      !status.ok()) {
    return status;
  }
  std::vector<decltype(make())> messages;
  messages.reserve(whole.bulk.size());
  for (const FoundBulk& found : whole.bulk) {
    if (found.field != &batch_schema.fields[0]) continue;
    messages.push_back(make());
    if (absl::Status status =
            ParseOutside(found.bytes, schema, messages.back().message(),
                         &messages.back().bulk);
        !status.ok()) {
      return status;
    }
  }
  // Where it was parsed as a whole.
  for (Message& one : *whole.message()->mutable_batch()) {
    messages.push_back(make());
    *messages.back().message() = std::move(one);
  }
  *is_batch = !messages.empty();
  if (!*is_batch) messages.push_back(std::move(whole));
  for (auto& one : messages) {
    if (one.message()->batch_size() > 0) {
      return absl::InvalidArgumentError("a batch in a batch");
    }
  }
  return messages;
}

template <typename Message>
absl::StatusOr<std::vector<WithBulk<Message>>> ParseBatch(
    const ByteSlices& bytes, const BulkSchema& batch_schema,
    const BulkSchema& schema, bool* is_batch) {
  return ParseBatch<Message>(
      bytes, batch_schema, schema, [] { return WithBulk<Message>(); },
      is_batch);
}

// On an arena, which must outlive them.
template <typename Message>
absl::StatusOr<std::vector<WithBulkOnArena<Message>>> ParseBatchOnArena(
    const ByteSlices& bytes, const BulkSchema& batch_schema,
    const BulkSchema& schema, google::protobuf::Arena* arena, bool* is_batch) {
  return ParseBatch<Message>(
      bytes, batch_schema, schema,
      [arena] { return WithBulkOnArena<Message>(arena); }, is_batch);
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_BULK_SPLIT_H_
