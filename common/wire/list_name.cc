#include "common/wire/list_name.h"

#include <string>

#include "common/base/little_endian.h"
#include "xxhash.h"

namespace seraph {

ListName NameOfList(absl::string_view job, uint64_t generation, uint32_t table,
                    absl::Span<const Key> keys) {
  const XXH128_hash_t of_keys =
      XXH3_128bits(keys.data(), keys.size() * sizeof(Key));
  std::string whole;
  AppendLittleEndian<uint64_t>(of_keys.low64, &whole);
  AppendLittleEndian<uint64_t>(of_keys.high64, &whole);
  AppendLittleEndian(generation, &whole);
  AppendLittleEndian(table, &whole);
  whole.append(job.data(), job.size());
  const XXH128_hash_t hash = XXH3_128bits(whole.data(), whole.size());
  return {hash.low64, hash.high64};
}

}  // namespace seraph
