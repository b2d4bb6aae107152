// Whether several machines see the same folder.
#ifndef SERAPH_COMMON_CHECKPOINT_FOLDER_PROOF_H_
#define SERAPH_COMMON_CHECKPOINT_FOLDER_PROOF_H_

#include <string>

#include "absl/status/status.h"

namespace seraph {

// Creates the folder, and leaves a token of that name there for others to see.
// Errors: FailedPrecondition, naming the path and the system's reason.
absl::Status LeaveToken(const std::string& folder, const std::string& token);

// The token is there, and this process can write beside it: it leaves, and
// removes, a file that `who` makes its own. An empty `who` only looks.
// Errors: FailedPrecondition, naming the path and what the system says; reason
// FOLDER_NOT_SHARED where the token is not found, FOLDER_NOT_WRITABLE where it
// is (no permission, a full disk).
absl::Status SeeToken(const std::string& folder, const std::string& token,
                      const std::string& who);

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_FOLDER_PROOF_H_
