#include "common/config/problems.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

constexpr size_t kLongestQuote = 60;

// Cuts to at most `size` bytes without tearing a UTF-8 character.
absl::string_view CutAtCharacter(absl::string_view text, size_t size) {
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    --size;
  }
  return text.substr(0, size);
}

}  // namespace

std::string ToString(const Place& place) {
  if (place.line == 0) return place.source;
  return absl::StrCat(place.source, ":", place.line, ":", place.column);
}

std::string Quoted(absl::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  std::string quoted = "'";
  for (const char c : cut ? CutAtCharacter(text, kLongestQuote) : text) {
    if (absl::ascii_iscntrl(c)) {
      absl::StrAppend(&quoted, absl::CEscape(absl::string_view(&c, 1)));
    } else {
      quoted.push_back(c);
    }
  }
  return absl::StrCat(quoted, cut ? "...'" : "'");
}

void Problems::Add(const Place& place, absl::string_view message) {
  if (full()) {
    ++dropped_;
    return;
  }
  problems_.push_back({place, std::string(message)});
}

absl::Status Problems::ToStatus() const {
  if (empty()) return absl::OkStatus();
  std::vector<Problem> sorted = problems_;
  std::stable_sort(
      sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
        const auto order = [](const Place& place) {
          return std::tuple(place.line == 0, place.line, place.column);
        };
        return order(a.place) < order(b.place);
      });
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) {
    lines.push_back(
        absl::StrCat(ToString(problem.place), ": ", problem.message));
  }
  if (dropped_ > 0)
    lines.push_back(absl::StrCat("... and ", dropped_, " more"));
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace seraph
