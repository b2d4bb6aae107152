#include "common/config/address.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/problems.h"
#include "common/config/scalars.h"

namespace seraph {
namespace {

bool IsHostName(absl::string_view host) {
  for (const char c : host) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.' && c != '_') {
      return false;
    }
  }
  return !host.empty() && host[0] != '-';
}

bool IsIpv6(absl::string_view host) {
  for (const char c : host) {
    if (!absl::ascii_isxdigit(c) && c != ':' && c != '.' && c != '%') {
      return false;
    }
  }
  return absl::StrContains(host, ":");
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const auto error = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected host:port such as 127.0.0.1:7400, got ", Quoted(text), why));
  };
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return error(": there is no port");
  absl::string_view host = text.substr(0, colon);
  uint64_t port = 0;
  if (ReadWhole(text.substr(colon + 1), &port) != Parsed::kOk || port > 65535) {
    return error(": the port is not in 0..65535");
  }
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
    if (!IsIpv6(host)) return error(": no IPv6 address in the brackets");
  } else if (IsIpv6(host)) {
    return error(": an IPv6 address needs brackets");
  } else if (!IsHostName(host)) {
    return error("");
  }
  return Address{std::string(host), static_cast<uint16_t>(port)};
}

std::string ToString(const Address& address) {
  if (absl::StrContains(address.host, ":")) {
    return absl::StrCat("[", address.host, "]:", address.port);
  }
  return absl::StrCat(address.host, ":", address.port);
}

}  // namespace seraph
