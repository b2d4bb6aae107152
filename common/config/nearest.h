// "did you mean ...?": the known name nearest to a misspelt one.
#ifndef SERAPH_COMMON_CONFIG_NEAREST_H_
#define SERAPH_COMMON_CONFIG_NEAREST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace seraph {

// Insertions, deletions, replacements and swaps of neighbours that turn `a`
// into `b` (optimal string alignment: Damerau, "A technique for computer
// detection and correction of spelling errors", CACM 1964). Upper and lower
// case, and '-' and '_', count as the same. O(|a| |b|) time.
size_t EditDistance(absl::string_view a, absl::string_view b);

// The name of `known` that somebody who wrote `name` most likely meant; "" if
// none is near: more than a third of it would have to change, and neither is
// the beginning of the other. Of equally near ones the first.
std::string Nearest(absl::string_view name,
                    absl::Span<const std::string> known);

// " (did you mean 'optimizer'?)", or "" if no name is near.
std::string DidYouMean(absl::string_view name,
                       absl::Span<const std::string> known);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_NEAREST_H_
