#include "server/store/overwritten.h"

#include <utility>
#include <vector>

namespace seraph {

void MergeOverwritten(const Overwritten& more, size_t width,
                      Overwritten* into) {
  if (more.keys.empty()) return;
  Overwritten merged;
  const size_t size = into->keys.size() + more.keys.size();
  std::vector<Key> keys;
  keys.reserve(size);
  merged.values.reserve(size * width);
  merged.existed.reserve(size);
  merged.sums = into->sums;
  const auto take = [&](const Overwritten& from, size_t i) {
    keys.push_back(from.keys[i]);
    merged.existed.push_back(from.existed[i]);
    const auto row = from.values.begin() + i * width;
    merged.values.insert(merged.values.end(), row, row + width);
  };
  size_t a = 0, b = 0;
  while (a < into->keys.size() || b < more.keys.size()) {
    const bool first = b == more.keys.size() ||
                       (a < into->keys.size() && into->keys[a] < more.keys[b]);
    if (first) {
      take(*into, a++);
    } else {
      take(more, b++);
    }
  }
  merged.keys = std::move(keys);
  *into = std::move(merged);
}

}  // namespace seraph
