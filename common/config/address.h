// Addresses as configurations write them.
#ifndef SERAPH_COMMON_CONFIG_ADDRESS_H_
#define SERAPH_COMMON_CONFIG_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

// host:port; the host is a name, an IPv4 address, or an IPv6 address in
// brackets, which `host` is without.
struct Address {
  std::string host;
  uint16_t port = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

// Reads the form alone; no name is looked up.
// Errors: InvalidArgument, with what is wrong.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// What ParseAddress reads back.
std::string ToString(const Address& address);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_ADDRESS_H_
