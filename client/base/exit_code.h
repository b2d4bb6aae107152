// What the command line's exit code says: docs/command-line.md.
#ifndef SERAPH_CLIENT_BASE_EXIT_CODE_H_
#define SERAPH_CLIENT_BASE_EXIT_CODE_H_

#include "absl/status/status.h"

namespace seraph {

// Scripts depend on the numbers.
enum class ExitCode {
  kDone = 0,
  kFailed = 1,       // The job, or what was asked for, failed.
  kUsage = 2,        // Wrong usage or an invalid file.
  kUnreachable = 3,  // The cluster cannot be reached.
  kInterrupted = 130,
};

// An error of something that the user gave: an argument, a file to read.
// kUsage, or kFailed where the machine is to blame (it cannot read, has no
// memory).
absl::Status InputError(const absl::Status& status);

// An error of a file that is written: kFailed, or kUsage where it can be no
// file at all (it is a folder).
absl::Status OutputError(const absl::Status& status);

// An error of a call to a daemon: kUnreachable where there was no answer,
// kUsage where the call was refused for what it asked, kInterrupted where it
// was cancelled, else kFailed.
absl::Status CallError(const absl::Status& status);

// The same status, with an exit code of its own. Requires: it is not OK.
absl::Status WithExitCode(absl::Status status, ExitCode code);

// An end that was reported already: nothing is left to print.
absl::Status Reported(ExitCode code);

// kDone for OK; kFailed for an error that none of the above has seen.
ExitCode ExitCodeOf(const absl::Status& status);

// Whether there is nothing left to print: OK, or from Reported().
bool IsReported(const absl::Status& status);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BASE_EXIT_CODE_H_
