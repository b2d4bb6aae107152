// Which fields of a message are bulk: keys, values, pieces of files.
#ifndef SERAPH_COMMON_WIRE_BULK_SCHEMA_H_
#define SERAPH_COMMON_WIRE_BULK_SCHEMA_H_

#include <cstdint>

#include "absl/types/span.h"

namespace seraph {

struct BulkSchema;

// A field that is bulk, or a message that has some.
struct BulkField {
  uint32_t number = 0;
  const BulkSchema* message = nullptr;  // Null: it is bulk itself.
  bool repeated = false;                // Of bulk.
};

// What is bulk in a message. All others of its fields are its head.
struct BulkSchema {
  absl::Span<const BulkField> fields;
  bool one_of = false;  // They are members of one oneof.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_BULK_SCHEMA_H_
