// proto/types.proto's names of the kinds of values.
#ifndef SERAPH_COMMON_WIRE_VALUE_ENCODING_H_
#define SERAPH_COMMON_WIRE_VALUE_ENCODING_H_

#include <optional>

#include "common/table/value_kind.h"
#include "proto/types.pb.h"

namespace seraph {

static_assert(
    v1::VALUE_ENCODING_FLOAT32 == static_cast<int>(ValueKind::kFloat32) &&
    v1::VALUE_ENCODING_FLOAT16 == static_cast<int>(ValueKind::kFloat16) &&
    v1::VALUE_ENCODING_BFLOAT16 == static_cast<int>(ValueKind::kBfloat16) &&
    v1::VALUE_ENCODING_INT8 == static_cast<int>(ValueKind::kInt8));

inline v1::ValueEncoding EncodingOf(ValueKind kind) {
  return static_cast<v1::ValueEncoding>(kind);
}

// Nullopt for an encoding that a later version may have.
inline std::optional<ValueKind> KindOf(v1::ValueEncoding encoding) {
  if (!v1::ValueEncoding_IsValid(encoding)) return std::nullopt;
  return static_cast<ValueKind>(encoding);
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_VALUE_ENCODING_H_
