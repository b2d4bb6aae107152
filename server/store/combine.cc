#include "server/store/combine.h"

#include <algorithm>

namespace seraph {
namespace {

// What one value of a rank is worth in the fold, and how the next is added.
// `factor` is 1 except for means, where x * 1 is x.
struct Folding {
  CombineKind kind;
  std::vector<float> factors;  // By rank.

  void First(size_t rank, const float* from, float* to, size_t n) const {
    if (kind != CombineKind::kMean) {
      std::copy_n(from, n, to);
      return;
    }
    const float factor = factors[rank];
    for (size_t i = 0; i < n; ++i) to[i] = from[i] * factor;
  }

  void Next(size_t rank, const float* from, float* to, size_t n) const {
    switch (kind) {
      case CombineKind::kSum:
        for (size_t i = 0; i < n; ++i) to[i] += from[i];
        return;
      case CombineKind::kMean: {
        const float factor = factors[rank];
        for (size_t i = 0; i < n; ++i) to[i] += from[i] * factor;
        return;
      }
      case CombineKind::kLast:
        std::copy_n(from, n, to);
        return;
    }
  }
};

// A rank's keys that are not merged yet.
struct Head {
  Key key;
  size_t rank;
  size_t index;

  // std's heaps have the largest on top; ours wants the least key and, of the
  // same key, the least rank.
  bool operator<(const Head& other) const {
    return key != other.key ? key > other.key : rank > other.rank;
  }
};

void Merge(const Folding& folding, size_t width,
           absl::Span<const Contribution> by_rank, Combined* combined) {
  std::vector<Head> heads;
  size_t longest = 0;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto& keys = by_rank[rank].keys;
    longest = std::max(longest, keys.size());
    if (!keys.empty()) heads.push_back({keys[0], rank, 0});
  }
  combined->keys.reserve(longest);
  combined->values.reserve(longest * width);
  std::make_heap(heads.begin(), heads.end());
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end());
    Head& head = heads.back();
    const Contribution& from = by_rank[head.rank];
    const float* values = from.values.data() + head.index * width;
    if (combined->keys.empty() || combined->keys.back() != head.key) {
      combined->keys.push_back(head.key);
      combined->values.resize(combined->values.size() + width);
      folding.First(head.rank, values,
                    &combined->values[combined->values.size() - width], width);
    } else {
      folding.Next(head.rank, values,
                   &combined->values[combined->values.size() - width], width);
    }
    if (++head.index == from.keys.size()) {
      heads.pop_back();
    } else {
      head.key = from.keys[head.index];
      std::push_heap(heads.begin(), heads.end());
    }
  }
}

// All ranks that pushed anything pushed the same keys, as they do in dense
// tables: the fold runs over whole arrays.
void FoldAligned(const Folding& folding, absl::Span<const Contribution> by_rank,
                 Combined* combined) {
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    const Contribution& from = by_rank[rank];
    if (from.keys.empty()) continue;
    if (combined->keys.empty()) {
      combined->keys.assign(from.keys.begin(), from.keys.end());
      combined->values.resize(from.values.size());
      folding.First(rank, from.values.data(), combined->values.data(),
                    from.values.size());
    } else {
      folding.Next(rank, from.values.data(), combined->values.data(),
                   from.values.size());
    }
  }
}

bool AllAligned(absl::Span<const Contribution> by_rank) {
  absl::Span<const Key> common;
  for (const Contribution& contribution : by_rank) {
    if (contribution.keys.empty()) continue;
    if (common.empty()) common = contribution.keys;
    if (contribution.keys != common) return false;
  }
  return true;
}

}  // namespace

Combined Combine(CombineKind kind, uint32_t width,
                 absl::Span<const Contribution> by_rank) {
  Folding folding{kind, {}};
  uint64_t examples = 0;
  for (const Contribution& contribution : by_rank) {
    examples += contribution.examples;
    folding.factors.push_back(static_cast<float>(contribution.examples));
  }
  Combined combined;
  if (AllAligned(by_rank)) {
    FoldAligned(folding, by_rank, &combined);
  } else {
    Merge(folding, width, by_rank, &combined);
  }
  if (kind == CombineKind::kMean) {
    const float divisor = static_cast<float>(std::max<uint64_t>(examples, 1));
    for (float& value : combined.values) value /= divisor;
  }
  return combined;
}

}  // namespace seraph
