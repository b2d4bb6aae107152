// Numbers and texts of text files.
#ifndef SERAPH_WORKER_DATA_NUMBER_H_
#define SERAPH_WORKER_DATA_NUMBER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace seraph {

enum class NumberError {
  kNone,
  kNotANumber,
  kNotFinite,  // "nan", "inf"
  kTooLarge,   // For the type.
};

// Exact, whatever the locale: the nearest float (double) of the whole of
// `text`: decimal, with or without a sign, a point and an exponent. What is too
// small for the type is 0 or a denormal number. `value` is only set with kNone.
NumberError ParseFloat(absl::string_view text, float* value);
NumberError ParseDouble(absl::string_view text, double* value);

// The whole of `text` as decimal digits. kNotANumber for any sign.
NumberError ParseUint64(absl::string_view text, uint64_t* value);

// "is not a number", "is not finite", "is too large".
absl::string_view Reason(NumberError error);

// Whether `text` is well-formed UTF-8 (RFC 3629).
bool IsUtf8(absl::string_view text);

// `text` for a message: in quotes, at most 40 bytes of it, printable ASCII.
std::string InQuotes(absl::string_view text);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_NUMBER_H_
