#include "server/store/key_index.h"

#include <bit>
#include <utility>

namespace seraph {
namespace {

constexpr size_t kFirstEntries = 16;

int ShiftOf(size_t entries) { return 64 - std::countr_zero(entries); }

}  // namespace

KeyIndex::KeyIndex()
    : entries_(std::make_unique<Entry[]>(kFirstEntries)),
      mask_(kFirstEntries - 1),
      shift_(ShiftOf(kFirstEntries)) {}

void KeyIndex::Insert(Key key, uint32_t row) {
  if (++size_ > (mask_ + 1) / 4 * 3) Grow();
  Place(key, row);
}

void KeyIndex::Place(Key key, uint32_t row) {
  size_t i = Home(key);
  while (entries_[i].row != kMissing) i = (i + 1) & mask_;
  entries_[i].key = key;
  entries_[i].row = row;
}

void KeyIndex::Grow() {
  const size_t before = mask_ + 1;
  const std::unique_ptr<Entry[]> old = std::move(entries_);
  entries_ = std::make_unique<Entry[]>(2 * before);
  mask_ = 2 * before - 1;
  shift_ = ShiftOf(2 * before);
  // In their old order, which nearly is the new one: no key has its place in
  // memory that was not just touched.
  for (size_t i = 0; i < before; ++i) {
    if (old[i].row != kMissing) Place(old[i].key, old[i].row);
  }
}

}  // namespace seraph
