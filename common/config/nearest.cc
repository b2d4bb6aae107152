#include "common/config/nearest.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

// Longer names are nobody's typing error, and the table of distances grows
// with the square of the length.
constexpr size_t kLongestName = 100;

// Shorter beginnings say too little.
constexpr size_t kShortestBeginning = 3;

std::string Normal(absl::string_view name) {
  std::string normal = absl::AsciiStrToLower(name);
  std::replace(normal.begin(), normal.end(), '-', '_');
  return normal;
}

bool OneBeginsTheOther(const std::string& a, const std::string& b) {
  return std::min(a.size(), b.size()) >= kShortestBeginning &&
         (absl::StartsWith(a, b) || absl::StartsWith(b, a));
}

}  // namespace

size_t EditDistance(absl::string_view a_text, absl::string_view b_text) {
  const std::string a = Normal(a_text);
  const std::string b = Normal(b_text);
  // Three rows of the usual table: the swap looks two rows back.
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string Nearest(absl::string_view name,
                    absl::Span<const std::string> known) {
  if (name.empty() || name.size() > kLongestName) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  const std::string normal = Normal(name);
  for (const std::string& candidate : known) {
    if (OneBeginsTheOther(normal, Normal(candidate))) return candidate;
  }
  return "";
}

std::string DidYouMean(absl::string_view name,
                       absl::Span<const std::string> known) {
  const std::string nearest = Nearest(name, known);
  if (nearest.empty()) return "";
  return absl::StrCat(" (did you mean '", nearest, "'?)");
}

}  // namespace seraph
