// The version of this build.
#ifndef SERAPH_COMMON_VERSION_VERSION_H_
#define SERAPH_COMMON_VERSION_VERSION_H_

namespace seraph {

// MAJOR.MINOR.PATCH. Daemons of one cluster have the same major and minor
// version; others are refused by name at registration.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace seraph

#endif  // SERAPH_COMMON_VERSION_VERSION_H_
