// A job on a local cluster of its own.
#ifndef SERAPH_CLIENT_LOCAL_LOCAL_JOB_H_
#define SERAPH_CLIENT_LOCAL_LOCAL_JOB_H_

#include "client/cli/environment.h"
#include "client/job/job_file.h"
#include "client/local/local_cluster.h"
#include "client/view/job_view.h"

namespace seraph {

struct LocalJobResult {
  // As it ended. Where there was no job, because the cluster did not start or
  // refused it, it is FAILED with the reason.
  JobView job;
  bool interrupted = false;  // By the user; the job is cancelled.
  bool refused = false;      // The scheduler finds the job invalid.
};

// Starts a cluster, trains the job on it, with its progress on standard error,
// and stops the cluster: when it returns nothing runs any more.
LocalJobResult RunLocally(const JobFile& job,
                          const LocalClusterOptions& options, bool keep_folder,
                          const Environment& env);

}  // namespace seraph

#endif  // SERAPH_CLIENT_LOCAL_LOCAL_JOB_H_
