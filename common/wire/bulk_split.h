// Reads a protobuf message whose bulk stays where it lies.
#ifndef SERAPH_COMMON_WIRE_BULK_SPLIT_H_
#define SERAPH_COMMON_WIRE_BULK_SPLIT_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/wire/bulk_schema.h"
#include "common/wire/byte_slices.h"
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

// A message of which some bulk fields may lie outside of it; it is empty there.
template <typename Message>
struct WithBulk {
  WithBulk() = default;
  // With all of its bulk inside.
  WithBulk(Message message) : head(std::move(message)) {}  // NOLINT

  // The bytes of a field. `inside`: the field itself, which must outlive them.
  ByteSlices Bulk(const BulkField& field, const std::string& inside) const {
    for (const FoundBulk& found : bulk) {
      if (found.field == &field) return found.bytes;
    }
    return ByteSlices(inside, nullptr);
  }

  // On the wire, about.
  size_t bytes() const {
    size_t bytes = head.ByteSizeLong();
    for (const FoundBulk& found : bulk) bytes += found.bytes.size();
    return bytes;
  }

  Message head;
  std::vector<FoundBulk> bulk;  // In the order of the message.
};

// The same as protobuf's own parser makes of the bytes.
// Errors: InvalidArgument for what is no such message.
template <typename Message>
absl::StatusOr<WithBulk<Message>> ParseWithBulk(const ByteSlices& bytes,
                                                const BulkSchema& schema) {
  std::string head;
  WithBulk<Message> parsed;
  if (!SplitBulk(bytes, schema, &head, &parsed.bulk)) {
    head = bytes.ToString();
    parsed.bulk.clear();
  }
  if (!parsed.head.ParseFromString(head)) {
    return absl::InvalidArgumentError("bytes that are no such message");
  }
  return parsed;
}

// What came as one message of a stream: `Message` itself, or several in its
// field `batch`, which `batch_schema` begins with; `schema` is that of one.
// `is_batch` says which.
// Errors: InvalidArgument, also for a batch with a batch in it.
template <typename Message>
absl::StatusOr<std::vector<WithBulk<Message>>> ParseBatch(
    const ByteSlices& bytes, const BulkSchema& batch_schema,
    const BulkSchema& schema, bool* is_batch) {
  auto whole = ParseWithBulk<Message>(bytes, batch_schema);
  if (!whole.ok()) return whole.status();
  std::vector<WithBulk<Message>> messages;
  messages.reserve(whole->bulk.size());
  for (const FoundBulk& found : whole->bulk) {
    if (found.field != &batch_schema.fields[0]) continue;
    auto one = ParseWithBulk<Message>(found.bytes, schema);
    if (!one.ok()) return one.status();
    messages.push_back(*std::move(one));
  }
  // Where it was parsed as a whole.
  for (Message& one : *whole->head.mutable_batch()) {
    messages.push_back(std::move(one));
  }
  *is_batch = !messages.empty();
  if (!*is_batch) messages.push_back(*std::move(whole));
  for (const WithBulk<Message>& one : messages) {
    if (one.head.batch_size() > 0) {
      return absl::InvalidArgumentError("a batch in a batch");
    }
  }
  return messages;
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_BULK_SPLIT_H_
