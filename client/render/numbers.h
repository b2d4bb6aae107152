// Numbers for people.
#ifndef SERAPH_CLIENT_RENDER_NUMBERS_H_
#define SERAPH_CLIENT_RENDER_NUMBERS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace seraph {

// "32,561".
std::string WithCommas(uint64_t number);

// "512 B", "1.5 KiB", "23 MiB".
std::string HumanBytes(uint64_t bytes);

// "0.21s", "5.3s", "48s", "3m12s", "2h05m", "4d03h". Negative is 0.
std::string HumanDuration(absl::Duration duration);

// Six significant digits, as metrics are shown: "0.341235".
std::string ShortNumber(double number);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_NUMBERS_H_
