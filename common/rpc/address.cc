#include "common/rpc/address.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/address.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

bool IsWildcard(absl::string_view host) {
  return host == "0.0.0.0" || host == "::";
}

}  // namespace

bool ParseUnixAddress(absl::string_view address, std::string* path) {
  if (!absl::ConsumePrefix(&address, "unix:")) return false;
  *path = std::string(address);
  return true;
}

absl::StatusOr<std::string> AdvertisedAddress(absl::string_view advertise,
                                              absl::string_view bound,
                                              absl::string_view machine) {
  std::string path;
  if (advertise.empty() && ParseUnixAddress(bound, &path)) {
    return std::string(bound);
  }
  if (ParseUnixAddress(advertise, &path)) return std::string(advertise);
  if (advertise.empty()) {
    SERAPH_ASSIGN_OR_RETURN(Address result, ParseAddress(bound));
    if (IsWildcard(result.host)) result.host = std::string(machine);
    return ToString(result);
  }

  absl::StatusOr<Address> result = ParseAddress(advertise);
  if (!result.ok()) {
    // Perhaps a host alone.
    result = ParseAddress(absl::StrCat(advertise, ":0"));
    if (!result.ok()) return ParseAddress(advertise).status();
  }
  if (result->port == 0) {
    SERAPH_ASSIGN_OR_RETURN(const Address listening, ParseAddress(bound));
    result->port = listening.port;
  }
  return ToString(*result);
}

std::string MachineName() {
  char name[256] = {};
  // Fails only if the buffer is too small, which the kernel's limit excludes.
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace seraph
