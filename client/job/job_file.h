// A job file on its way to a scheduler.
#ifndef SERAPH_CLIENT_JOB_JOB_FILE_H_
#define SERAPH_CLIENT_JOB_JOB_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/rpc/scheduler_client.h"
#include "common/job/job_spec.h"

namespace seraph {

struct JobFile {
  std::string path;            // As the user gave it.
  std::string base_directory;  // Absolute: the folder of the file.
  ParsedJob parsed;
};

// Reads and checks the file, with overrides ("path=value").
// Errors: what keeps it from being read; InvalidArgument, one line for each
// problem, "job.yaml:7:3: ...".
absl::StatusOr<JobFile> LoadJobFile(const std::string& path,
                                    const std::vector<std::string>& sets);

// Checks what the job needs of this machine: data files that can be read, a
// model to start from that is one, a folder for the output that is there or can
// be made.
// Errors: InvalidArgument, one line for each problem, with the place in the job
// file.
absl::Status CheckFilesOf(const JobFile& job);

// What goes to the scheduler; a repeat of the same submission is the same job.
JobSubmission SubmissionOf(const JobFile& job,
                           const std::string& submission_id);

}  // namespace seraph

#endif  // SERAPH_CLIENT_JOB_JOB_FILE_H_
