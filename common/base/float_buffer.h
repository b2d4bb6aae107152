// Values whose memory is not cleared before they are written.
#ifndef SERAPH_COMMON_BASE_FLOAT_BUFFER_H_
#define SERAPH_COMMON_BASE_FLOAT_BUFFER_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace seraph {

// Leaves elements as their memory is where std::allocator sets them to zero.
template <typename T>
struct UnfilledAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UnfilledAllocator<U>;
  };

  UnfilledAllocator() = default;
  template <typename U>
  UnfilledAllocator(const UnfilledAllocator<U>&) {}  // NOLINT: an allocator's

  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename First, typename... Rest>
  void construct(U* place, First&& first, Rest&&... rest) {
    ::new (static_cast<void*>(place))
        U(std::forward<First>(first), std::forward<Rest>(rest)...);
  }
};

// The bulk of a message: what is written next, all of it, is not set to zero
// before, which takes as long as to write it. FloatBuffer(n) and resize(n)
// leave new elements UNDEFINED; (n, 0.0f) does not.
class FloatBuffer : public std::vector<float, UnfilledAllocator<float>> {
 public:
  using Base = std::vector<float, UnfilledAllocator<float>>;
  using Base::Base;
  FloatBuffer() = default;
  FloatBuffer(const std::vector<float>& values)  // NOLINT: a copy
      : Base(values.begin(), values.end()) {}
};

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_FLOAT_BUFFER_H_
