// What a list of keys is called between a client and a server.
#ifndef SERAPH_COMMON_WIRE_LIST_NAME_H_
#define SERAPH_COMMON_WIRE_LIST_NAME_H_

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/key.h"

namespace seraph {

// 128 bits of a hash over all that tells two lists apart: that lists of equal
// names differ need not be thought of, unless somebody means harm.
struct ListName {
  uint64_t low = 0;
  uint64_t high = 0;

  friend auto operator<=>(const ListName&, const ListName&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ListName& name) {
    return H::combine(std::move(h), name.low, name.high);
  }
};

// `keys`: mixed ones, as they are: never what a message makes of them, which
// depends on where a table is cut. XXH3 (128 bits, without a seed) of, one
// after the other and little-endian: XXH3 of the keys, its lower half first;
// the generation, 8 bytes; the table, 4 bytes; the job.
ListName NameOfList(absl::string_view job, uint64_t generation, uint32_t table,
                    absl::Span<const Key> keys);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_LIST_NAME_H_
