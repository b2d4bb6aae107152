// proto/parameters.proto's names of the forms of keys.
#ifndef SERAPH_COMMON_WIRE_KEY_ENCODING_H_
#define SERAPH_COMMON_WIRE_KEY_ENCODING_H_

#include <cstddef>
#include <optional>

#include "common/wire/key_codec.h"
#include "proto/parameters.pb.h"

namespace seraph {

static_assert(v1::KEY_ENCODING_RAW64 == static_cast<int>(KeyForm::kRaw64) &&
              v1::KEY_ENCODING_RANGE == static_cast<int>(KeyForm::kRange) &&
              v1::KEY_ENCODING_OFFSET32 ==
                  static_cast<int>(KeyForm::kOffset32) &&
              v1::KEY_ENCODING_DELTA == static_cast<int>(KeyForm::kDelta));

inline v1::KeyEncoding EncodingOf(KeyForm form) {
  return static_cast<v1::KeyEncoding>(form);
}

// Nullopt for an encoding that a later version may have, and for the name of a
// list.
inline std::optional<KeyForm> FormOf(v1::KeyEncoding encoding) {
  if (!v1::KeyEncoding_IsValid(encoding) ||
      encoding == v1::KEY_ENCODING_LISTED) {
    return std::nullopt;
  }
  return static_cast<KeyForm>(encoding);
}

// Bytes of the keys of a part of a pull or push. Requires: it has a form, or
// the name of a list.
template <typename Part>
size_t KeyBytesOf(const Part& part) {
  if (part.encoding() == v1::KEY_ENCODING_LISTED) return 0;
  return KeyBytes(*FormOf(part.encoding()), part.key_count(), part.key_bytes());
}

// Sets a part's keys in the form that costs least, and appends their bytes.
template <typename Part>
void SetKeys(absl::Span<const Key> keys, Part* part, std::string* bytes) {
  const KeyForm form = ChooseKeyForm(keys);
  part->set_key_count(keys.size());
  part->set_encoding(EncodingOf(form));
  if (form != KeyForm::kRaw64) part->set_first_key(keys.front());
  const size_t before = bytes->size();
  AppendKeys(form, keys, bytes);
  if (form == KeyForm::kDelta) part->set_key_bytes(bytes->size() - before);
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_KEY_ENCODING_H_
