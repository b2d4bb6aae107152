// Sorted keys in fewer bytes than eight each.
#ifndef SERAPH_COMMON_WIRE_KEY_CODEC_H_
#define SERAPH_COMMON_WIRE_KEY_CODEC_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/wire/byte_slices.h"

namespace seraph {

// How the keys of a part lie in its message, which says the first one too.
enum class KeyForm {
  kRaw64,     // 8 bytes each.
  kRange,     // first, first + 1, ...: no bytes.
  kOffset32,  // 4 bytes each: key - first.
  kDelta,     // A varint each: key - first for the first key, that is 0, and
              // key - (the key before it) - 1 for the others.
};

// The form that costs least, of strictly increasing keys: from the bytes that
// it needs, about, and what they and their arithmetic cost
// (docs/performance.md).
KeyForm ChooseKeyForm(absl::Span<const Key> keys);

// Appends strictly increasing keys. Requires: the form can have them.
void AppendKeys(KeyForm form, absl::Span<const Key> keys, std::string* out);

// Bytes of `count` keys; `delta_bytes` is what a message says of a kDelta.
inline size_t KeyBytes(KeyForm form, size_t count, size_t delta_bytes) {
  switch (form) {
    case KeyForm::kRaw64:
      return count * sizeof(Key);
    case KeyForm::kRange:
      return 0;
    case KeyForm::kOffset32:
      return count * sizeof(uint32_t);
    case KeyForm::kDelta:
      return delta_bytes;
  }
  return 0;
}

// Replaces `keys` by the `count` keys in the next `bytes` of `from`; those are
// skipped in any case. No memory is taken that the bytes do not stand for.
// Whether keys ascend is for others to check, but for kDelta, where they do.
// Requires: the form is not kRange; `bytes` is KeyBytes, and so many are left.
// Errors: InvalidArgument: beyond the greatest key, a varint of more than 64
// bits or cut off, bytes that are left over.
absl::Status TakeKeys(KeyForm form, Key first, size_t count, size_t bytes,
                      SliceReader* from, std::vector<Key>* keys);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_KEY_CODEC_H_
