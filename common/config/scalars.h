// The plain values of configuration files: strict reading, exact writing.
//
// Nothing is guessed: "1e3" is no whole number, "yes" is no boolean, and a
// duration or size without a unit is refused.
#ifndef SERAPH_COMMON_CONFIG_SCALARS_H_
#define SERAPH_COMMON_CONFIG_SCALARS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace seraph {

enum class Parsed {
  kOk,
  kWrongType,   // Something else altogether.
  kOutOfRange,  // Right in form, but the type cannot hold it.
};

// "true" or "false".
Parsed ReadBool(absl::string_view text, bool* value);

// Decimal digits; out of range are negative numbers and those past 2^64 - 1.
Parsed ReadWhole(absl::string_view text, uint64_t* value);

// Decimal, as "0.1", "-3" or "1e-3"; NaN and infinities are of the wrong type,
// what double cannot hold is out of range.
Parsed ReadNumber(absl::string_view text, double* value);

// Numbers with ns, us, ms, s, m or h: "500ms", "1.5s", "1m30s". Negative ones
// and those past 292 years are out of range.
Parsed ReadDuration(absl::string_view text, absl::Duration* value);

// A whole number with B, KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB
// (powers of 1000).
Parsed ReadSize(absl::string_view text, uint64_t* bytes);

// What reads back to the same value.
std::string WriteNumber(double value);
std::string WriteDuration(absl::Duration value);
std::string WriteSize(uint64_t bytes);  // In the largest exact binary unit.

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_SCALARS_H_
