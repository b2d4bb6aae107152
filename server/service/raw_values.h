// Values that lie in the bytes of a message.
#ifndef SERAPH_SERVER_SERVICE_RAW_VALUES_H_
#define SERAPH_SERVER_SERVICE_RAW_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace seraph {

// Replaces `values` by the `count` values at `bytes`, which need not be
// aligned. Memory that is written twice costs as much as what is done with it.
template <typename T>
void TakeValues(const char* bytes, size_t count, std::vector<T>* values) {
  if (reinterpret_cast<uintptr_t>(bytes) % alignof(T) == 0) {
    const T* const from = reinterpret_cast<const T*>(bytes);
    values->assign(from, from + count);
    return;
  }
  values->resize(count);
  if (count > 0) std::memcpy(values->data(), bytes, count * sizeof(T));
}

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_RAW_VALUES_H_
