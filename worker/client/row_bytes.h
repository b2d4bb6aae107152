// Copies of single rows by an inlined move where their size is a usual one.
#ifndef SERAPH_WORKER_CLIENT_ROW_BYTES_H_
#define SERAPH_WORKER_CLIENT_ROW_BYTES_H_

#include <cstddef>
#include <type_traits>

namespace seraph {

// Calls `visit` with `row_bytes`: as a number that the compiler knows, if it is
// that of a row of width 1 or of a few of the others.
template <typename Visit>
void WithRowBytes(size_t row_bytes, Visit visit) {
  switch (row_bytes) {
    case 2:
      return visit(std::integral_constant<size_t, 2>());
    case 4:
      return visit(std::integral_constant<size_t, 4>());
    case 8:
      return visit(std::integral_constant<size_t, 8>());
    case 16:
      return visit(std::integral_constant<size_t, 16>());
    case 32:
      return visit(std::integral_constant<size_t, 32>());
    case 64:
      return visit(std::integral_constant<size_t, 64>());
    default:
      return visit(row_bytes);
  }
}

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_ROW_BYTES_H_
