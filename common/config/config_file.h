// The bytes of a configuration file.
#ifndef SERAPH_COMMON_CONFIG_CONFIG_FILE_H_
#define SERAPH_COMMON_CONFIG_CONFIG_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace seraph {

// Reads a regular file, or a pipe to its end, of at most kMaxYamlBytes.
// Errors, each naming the path: NotFound; PermissionDenied; FailedPrecondition
// for a folder; InvalidArgument for a larger file; what else errno says.
absl::StatusOr<std::string> ReadConfigFile(const std::string& path);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_CONFIG_FILE_H_
