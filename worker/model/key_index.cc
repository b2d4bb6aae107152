#include "worker/model/key_index.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace seraph {
namespace {

// Spreads keys over the slots: the upper bits of a product with 2^64 divided
// by the golden ratio (Knuth, "The Art of Computer Programming", 6.4).
size_t SlotOf(Key key, int shift) {
  return (key * 0x9e3779b97f4a7c15u) >> shift;
}

}  // namespace

void KeyIndex::Build(absl::Span<const Key> keys, std::vector<Key>* distinct,
                     std::vector<uint32_t>* positions) {
  positions->resize(keys.size());
  distinct->clear();
  if (keys.empty()) return;

  bool increasing = true;
  Key largest = keys[0];
  for (size_t i = 1; i < keys.size(); ++i) {
    increasing &= keys[i - 1] < keys[i];
    largest = std::max(largest, keys[i]);
  }
  if (increasing) {  // A batch of one example.
    distinct->assign(keys.begin(), keys.end());
    std::iota(positions->begin(), positions->end(), 0);
  } else if (largest / 64 <= 4 * keys.size()) {
    BuildByBitmap(keys, largest, distinct, positions);
  } else {
    BuildByHash(keys, distinct, positions);
  }
}

void KeyIndex::BuildByBitmap(absl::Span<const Key> keys, Key largest,
                             std::vector<Key>* distinct,
                             std::vector<uint32_t>* positions) {
  const size_t words = largest / 64 + 1;
  if (bits_.size() < words) {
    bits_.resize(words, 0);
    below_.resize(words);
  }
  // Neighbours of a sorted row share words: gather the bits of one first.
  size_t word = keys[0] / 64;
  uint64_t gathered = 0;
  for (const Key key : keys) {
    if (key / 64 != word) {
      bits_[word] |= gathered;
      word = key / 64;
      gathered = 0;
    }
    gathered |= uint64_t{1} << (key % 64);
  }
  bits_[word] |= gathered;

  for (size_t w = 0; w < words; ++w) {
    below_[w] = distinct->size();
    for (uint64_t rest = bits_[w]; rest != 0; rest &= rest - 1) {
      distinct->push_back(w * 64 + std::countr_zero(rest));
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t before = (uint64_t{1} << (keys[i] % 64)) - 1;
    (*positions)[i] =
        below_[keys[i] / 64] + std::popcount(bits_[keys[i] / 64] & before);
  }
  std::fill_n(bits_.begin(), words, 0);
}

void KeyIndex::BuildByHash(absl::Span<const Key> keys,
                           std::vector<Key>* distinct,
                           std::vector<uint32_t>* positions) {
  if (slots_.size() < 2 * keys.size()) {
    slots_.assign(std::bit_ceil(2 * keys.size()), Slot());
    build_ = 0;
  }
  if (++build_ == 0) {  // Wrapped: old slots would look filled.
    std::fill(slots_.begin(), slots_.end(), Slot());
    build_ = 1;
  }
  const int shift = 64 - std::countr_zero(slots_.size());
  const size_t mask = slots_.size() - 1;
  numbered_.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Key key = keys[i];
    size_t s = SlotOf(key, shift);
    while (slots_[s].build == build_ && slots_[s].key != key) {
      s = (s + 1) & mask;
    }
    if (slots_[s].build != build_) {
      const uint32_t id = numbered_.size();
      slots_[s] = {key, id, build_};
      numbered_.push_back({key, id});
    }
    (*positions)[i] = slots_[s].id;
  }

  sorter_.Sort(&numbered_);
  distinct->resize(numbered_.size());
  position_of_id_.resize(numbered_.size());
  for (size_t i = 0; i < numbered_.size(); ++i) {
    (*distinct)[i] = numbered_[i].key;
    position_of_id_[numbered_[i].number] = i;
  }
  for (uint32_t& position : *positions) position = position_of_id_[position];
}

}  // namespace seraph
