// Numbers as bytes, the least significant first, as files and messages of ours
// have them.
#ifndef SERAPH_COMMON_BASE_LITTLE_ENDIAN_H_
#define SERAPH_COMMON_BASE_LITTLE_ENDIAN_H_

#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace seraph {

static_assert(std::endian::native == std::endian::little,
              "bulk arrays are copied as they lie in memory");

template <typename T>
void AppendLittleEndian(T value, std::string* to) {
  static_assert(std::is_arithmetic_v<T>);
  to->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
void AppendLittleEndian(absl::Span<const T> values, std::string* to) {
  static_assert(std::is_arithmetic_v<T>);
  to->append(reinterpret_cast<const char*>(values.data()),
             values.size() * sizeof(T));
}

// Reads `*to` from the front of `from` and removes it there. Returns false, and
// changes nothing, if `from` is too short.
template <typename T>
bool TakeLittleEndian(absl::string_view* from, T* to) {
  static_assert(std::is_arithmetic_v<T>);
  if (from->size() < sizeof(T)) return false;
  std::memcpy(to, from->data(), sizeof(T));
  from->remove_prefix(sizeof(T));
  return true;
}

// The same for an array; the front of `from` need not be aligned.
template <typename T>
bool TakeLittleEndian(absl::string_view* from, absl::Span<T> to) {
  static_assert(std::is_arithmetic_v<T>);
  const size_t bytes = to.size() * sizeof(T);
  if (from->size() < bytes) return false;
  if (bytes > 0) std::memcpy(to.data(), from->data(), bytes);
  from->remove_prefix(bytes);
  return true;
}

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_LITTLE_ENDIAN_H_
