#include "common/config/scalars.h"

#include <charconv>
#include <limits>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

struct SizeUnit {
  absl::string_view name;
  uint64_t bytes;
};

// Binary units from the largest down: WriteSize takes the first that fits.
constexpr SizeUnit kUnits[] = {
    {"TiB", uint64_t{1} << 40},
    {"GiB", uint64_t{1} << 30},
    {"MiB", uint64_t{1} << 20},
    {"KiB", uint64_t{1} << 10},
    {"B", 1},
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
};

bool AllDigits(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return !text.empty();
}

}  // namespace

Parsed ReadBool(absl::string_view text, bool* value) {
  if (text != "true" && text != "false") return Parsed::kWrongType;
  *value = text == "true";
  return Parsed::kOk;
}

Parsed ReadWhole(absl::string_view text, uint64_t* value) {
  if (absl::StartsWith(text, "-") && AllDigits(text.substr(1))) {
    return Parsed::kOutOfRange;
  }
  if (!AllDigits(text)) return Parsed::kWrongType;
  uint64_t parsed = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc()) return Parsed::kOutOfRange;
  *value = parsed;
  return Parsed::kOk;
}

Parsed ReadNumber(absl::string_view text, double* value) {
  // from_chars would also take "inf" and "nan(...)".
  for (const char c : text) {
    if (!absl::ascii_isdigit(c) &&
        absl::string_view("+-.eE").find(c) == absl::string_view::npos) {
      return Parsed::kWrongType;
    }
  }
  double parsed = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, parsed);
  if (end != text_end || error == std::errc::invalid_argument) {
    return Parsed::kWrongType;
  }
  if (error != std::errc()) return Parsed::kOutOfRange;
  *value = parsed;
  return Parsed::kOk;
}

Parsed ReadDuration(absl::string_view text, absl::Duration* value) {
  // absl::ParseDuration also takes "0", "inf" and signs.
  const bool negative = absl::StartsWith(text, "-");
  const absl::string_view size = negative ? text.substr(1) : text;
  if (size.empty() || !absl::ascii_isdigit(size[0]) ||
      !absl::ascii_isalpha(size.back())) {
    return Parsed::kWrongType;
  }
  absl::Duration parsed;
  if (!absl::ParseDuration(size, &parsed)) return Parsed::kWrongType;
  // What int64 nanoseconds hold: those who wait convert to std::chrono.
  if (negative ||
      parsed > absl::Nanoseconds(std::numeric_limits<int64_t>::max())) {
    return Parsed::kOutOfRange;
  }
  *value = parsed;
  return Parsed::kOk;
}

Parsed ReadSize(absl::string_view text, uint64_t* bytes) {
  const size_t digits = text.find_first_not_of("-0123456789");
  if (digits == absl::string_view::npos) return Parsed::kWrongType;
  for (const SizeUnit& unit : kUnits) {
    if (text.substr(digits) != unit.name) continue;
    uint64_t count = 0;
    if (const Parsed parsed = ReadWhole(text.substr(0, digits), &count);
        parsed != Parsed::kOk) {
      return parsed;
    }
    if (count > std::numeric_limits<uint64_t>::max() / unit.bytes) {
      return Parsed::kOutOfRange;
    }
    *bytes = count * unit.bytes;
    return Parsed::kOk;
  }
  return Parsed::kWrongType;
}

std::string WriteNumber(double value) {
  char buffer[32];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end);
}

std::string WriteDuration(absl::Duration value) {
  if (value == absl::ZeroDuration()) return "0s";
  return absl::FormatDuration(value);
}

std::string WriteSize(uint64_t bytes) {
  for (const SizeUnit& unit : kUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return absl::StrCat(bytes / unit.bytes, unit.name);
    }
  }
  return "0B";
}

}  // namespace seraph
