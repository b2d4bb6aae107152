// Compressed bytes for tests.
#ifndef SERAPH_COMMON_TESTING_COMPRESS_H_
#define SERAPH_COMMON_TESTING_COMPRESS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace seraph::testing {

// One gzip member (zstd frame) that holds `content`.
std::string Gzip(absl::string_view content);
std::string Zstd(absl::string_view content);

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_TESTING_COMPRESS_H_
