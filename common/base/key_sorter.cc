#include "common/base/key_sorter.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace seraph {
namespace {

constexpr size_t kFewKeys = 64;
// Keys of a bucket, on average: less than a line of the cache's.
constexpr size_t kBucketKeys = 4;
constexpr size_t kInsertionKeys = 24;

bool ByKey(const NumberedKey& a, const NumberedKey& b) { return a.key < b.key; }

void InsertionSort(NumberedKey* begin, NumberedKey* end) {
  for (NumberedKey* next = begin + 1; next < end; ++next) {
    const NumberedKey moving = *next;
    NumberedKey* hole = next;
    for (; hole > begin && moving.key < hole[-1].key; --hole) *hole = hole[-1];
    *hole = moving;
  }
}

}  // namespace

void KeySorter::Sort(std::vector<NumberedKey>* keys) {
  const size_t n = keys->size();
  if (n < kFewKeys) {
    std::sort(keys->begin(), keys->end(), ByKey);
    return;
  }
  Key least = keys->front().key, largest = keys->front().key;
  for (const NumberedKey& one : *keys) {
    least = std::min(least, one.key);
    largest = std::max(largest, one.key);
  }
  const int bits = std::bit_width(largest - least);
  const int shift = std::max<int>(0, bits - std::bit_width(n / kBucketKeys));
  ends_.assign(((largest - least) >> shift) + 2, 0);
  // Counted one further, so that the sums are where buckets begin, and end when
  // they are filled.
  for (const NumberedKey& one : *keys)
    ++ends_[((one.key - least) >> shift) + 1];
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  scattered_.resize(n);
  for (const NumberedKey& one : *keys) {
    scattered_[ends_[(one.key - least) >> shift]++] = one;
  }
  keys->swap(scattered_);
  NumberedKey* const first = keys->data();
  uint32_t begin = 0;
  for (size_t bucket = 0; bucket + 1 < ends_.size(); ++bucket) {
    const uint32_t end = ends_[bucket];
    if (end - begin > kInsertionKeys) {
      std::sort(first + begin, first + end, ByKey);
    } else {
      InsertionSort(first + begin, first + end);
    }
    begin = end;
  }
}

}  // namespace seraph
