// How the values of rows travel.
#ifndef SERAPH_COMMON_TABLE_VALUE_KIND_H_
#define SERAPH_COMMON_TABLE_VALUE_KIND_H_

namespace seraph {

// Rows are kept and computed with as float32, whatever they travel as.
enum class ValueKind {
  kFloat32,
  kFloat16,   // IEEE binary16: 11 bits, up to 65504.
  kBfloat16,  // The upper half of a float32: 8 bits, its range.
  kInt8,      // Multiples -127 .. 127 of a power of two, one for each row.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_TABLE_VALUE_KIND_H_
