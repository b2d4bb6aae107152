#include "worker/data/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

// Whether a decimal number that from_chars finds out of range is too small, not
// too large: whether its first digit that counts is far behind the point.
bool IsUnderflow(absl::string_view text) {
  int64_t exponent = 0;  // Of that first digit, as a power of ten.
  bool seen_digit = false, seen_point = false;
  size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      seen_point = true;
    } else if (absl::ascii_isdigit(text[i])) {
      if (seen_digit) {
        if (!seen_point) ++exponent;
      } else if (text[i] != '0') {
        seen_digit = true;
        if (seen_point) --exponent;
      } else if (seen_point) {
        --exponent;
      }
    }
  }
  if (i < text.size()) {
    absl::string_view written = text.substr(i + 1);
    const bool negative = !written.empty() && written[0] == '-';
    if (!written.empty() && (negative || written[0] == '+')) {
      written.remove_prefix(1);
    }
    int64_t value = 0;
    const auto result =
        std::from_chars(written.data(), written.data() + written.size(), value);
    // An exponent of more than 18 digits outweighs any number of digits.
    if (result.ec != std::errc()) return negative;
    exponent += negative ? -value : value;
  }
  return exponent < 0;
}

template <typename T>
NumberError ParseReal(absl::string_view text, T* value) {
  // from_chars takes no plus sign.
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      return NumberError::kNotANumber;
    }
  }
  const char* const end = text.data() + text.size();
  T parsed;
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error == std::errc::invalid_argument || stop != end) {
    return NumberError::kNotANumber;
  }
  if (error == std::errc::result_out_of_range) {
    if (!IsUnderflow(text)) return NumberError::kTooLarge;
    parsed = text[0] == '-' ? -T{0} : T{0};
  }
  if (!std::isfinite(parsed)) {
    return absl::ascii_isdigit(text.back()) || text.back() == '.'
               ? NumberError::kTooLarge
               : NumberError::kNotFinite;
  }
  *value = parsed;
  return NumberError::kNone;
}

// Both are exact as float, so their quotient is the nearest float of the text:
// Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990.
constexpr uint32_t kExactMantissa = 1u << 24;
constexpr float kExactPowers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f,
                                  1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

}  // namespace

NumberError ParseFloat(absl::string_view text, float* value) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  uint32_t mantissa = 0;
  const char* const digits = at;
  // Nine digits fit 32 bits; longer numbers go the long way.
  while (at != end && absl::ascii_isdigit(*at) && at - digits < 9) {
    mantissa = mantissa * 10 + (*at++ - '0');
  }
  int decimals = 0;
  int count = static_cast<int>(at - digits);
  if (at != end && *at == '.' && count > 0) {
    const char* const point = at++;
    while (at != end && absl::ascii_isdigit(*at) && count < 9) {
      mantissa = mantissa * 10 + (*at++ - '0');
      ++count;
    }
    decimals = static_cast<int>(at - point) - 1;
  }
  if (at == end && count > 0 && mantissa <= kExactMantissa) {
    const float magnitude =
        static_cast<float>(mantissa) / kExactPowers[decimals];
    *value = negative ? -magnitude : magnitude;
    return NumberError::kNone;
  }
  return ParseReal(text, value);
}

NumberError ParseDouble(absl::string_view text, double* value) {
  return ParseReal(text, value);
}

NumberError ParseUint64(absl::string_view text, uint64_t* value) {
  const char* const end = text.data() + text.size();
  uint64_t parsed = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, parsed);
  if (error == std::errc::invalid_argument || stop != end) {
    return NumberError::kNotANumber;
  }
  if (error == std::errc::result_out_of_range) return NumberError::kTooLarge;
  *value = parsed;
  return NumberError::kNone;
}

absl::string_view Reason(NumberError error) {
  switch (error) {
    case NumberError::kNotANumber:
      return "is not a number";
    case NumberError::kNotFinite:
      return "is not finite";
    case NumberError::kTooLarge:
      return "is too large";
    case NumberError::kNone:
      break;
  }
  return "is right";
}

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&text](size_t at) {
      return static_cast<unsigned char>(text[at]);
    };
    const unsigned lead = byte(i++);
    if (lead < 0x80) continue;
    const int tail = lead >= 0xc2 && lead < 0xe0   ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                   : -1;
    if (tail < 0 || text.size() - i < static_cast<size_t>(tail)) return false;
    // The second byte excludes long forms, surrogates and what is beyond
    // U+10FFFF.
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(i) < low || byte(i) > high) return false;
    for (int k = 1; k < tail; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    i += tail;
  }
  return true;
}

std::string InQuotes(absl::string_view text) {
  constexpr size_t kShown = 40;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kShown)),
                      text.size() > kShown ? "...'" : "'");
}

}  // namespace seraph
