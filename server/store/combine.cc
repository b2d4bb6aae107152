#include "server/store/combine.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace seraph {
namespace {

// All keys of some sorted lists, ascending. Requires: there is one; none is
// empty.
std::vector<Key> Union(absl::Span<const KeySpan> lists) {
  if (lists.size() == 1) return lists[0].ToVector();
  const size_t half = lists.size() / 2;
  const std::vector<Key> a = Union(lists.first(half));
  const std::vector<Key> b = Union(lists.subspan(half));
  std::vector<Key> keys;
  keys.reserve(std::max(a.size(), b.size()));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(keys));
  return keys;
}

KeySet AllKeys(absl::Span<const Contribution> by_rank) {
  // Ranks often push the same keys; in dense tables they do.
  std::vector<KeySpan> lists;
  for (const Contribution& contribution : by_rank) {
    if (contribution.keys.empty()) continue;
    if (lists.empty() || !(lists.back() == contribution.keys)) {
      lists.push_back(contribution.keys);
    }
  }
  if (lists.empty()) return {};
  if (lists.size() == 1) return KeySet(lists[0]);
  return Union(lists);
}

// The first key in [from, end) that is not below `key`, which is often near.
const Key* Gallop(const Key* from, const Key* end, Key key) {
  ptrdiff_t stride = 1;
  while (stride < end - from && from[stride] < key) stride *= 2;
  return std::lower_bound(from, from + std::min(stride, end - from), key);
}

// Adds n values of a rank to what ranks below it left in `to`, or puts them
// there if there is nothing yet.
void Fold(CombineKind kind, float factor, bool first, const float* from,
          float* to, size_t n) {
  if (kind == CombineKind::kMean) {
    if (first) {
      for (size_t i = 0; i < n; ++i) to[i] = from[i] * factor;
    } else {
      for (size_t i = 0; i < n; ++i) to[i] += from[i] * factor;
    }
  } else if (first || kind == CombineKind::kLast) {
    std::copy_n(from, n, to);
  } else {
    for (size_t i = 0; i < n; ++i) to[i] += from[i];
  }
}

}  // namespace

Combined Combine(CombineKind kind, uint32_t width,
                 absl::Span<const Contribution> by_rank) {
  Combined combined;
  combined.keys = AllKeys(by_rank);
  combined.values.resize(combined.keys.size() * width);
  std::vector<bool> folded(combined.keys.size());  // Keys with a value so far.
  size_t folded_count = 0;
  uint64_t examples = 0;
  for (const Contribution& from : by_rank) {
    examples += from.examples;
    const float factor = static_cast<float>(from.examples);
    if (from.keys.size() == combined.keys.size() &&
        (folded_count == 0 || folded_count == folded.size())) {
      // All keys at once, as always in dense tables.
      Fold(kind, factor, folded_count == 0, from.values.data(),
           combined.values.data(), from.values.size());
      folded.assign(folded.size(), true);
      folded_count = folded.size();
      continue;
    }
    std::vector<Key> written;
    const absl::Span<const Key> all = combined.keys.span().WriteOut(&written);
    const Key* at = all.begin();
    for (size_t i = 0; i < from.keys.size(); ++i) {
      at = Gallop(at, all.end(), from.keys[i]);
      const size_t place = at - all.begin();
      Fold(kind, factor, !folded[place], &from.values[i * width],
           &combined.values[place * width], width);
      folded_count += !folded[place];
      folded[place] = true;
    }
  }
  if (kind == CombineKind::kMean) {
    const float divisor = static_cast<float>(std::max<uint64_t>(examples, 1));
    for (float& value : combined.values) value /= divisor;
  }
  return combined;
}

}  // namespace seraph
