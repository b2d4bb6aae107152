// Jobs and clusters for people: `-o table`. Not stable: programs read JSON.
#ifndef SERAPH_CLIENT_RENDER_JOB_TEXT_H_
#define SERAPH_CLIENT_RENDER_JOB_TEXT_H_

#include <string>
#include <vector>

#include "client/view/cluster_view.h"
#include "client/view/job_view.h"

namespace seraph {

// A line for each job: id, name, state, epoch, and where it stands.
std::string JobsText(const std::vector<JobView>& jobs);

// Everything about one job, its epochs as a table.
std::string JobText(const JobView& job);

// What `run` and `watch` end with: the state, the last epoch, the model.
std::string ResultText(const JobView& job);

std::string ClusterText(const ClusterView& cluster);

// "/ckpt/m-7, 3 epochs and 120 steps, 2024-05-01 12:00:00".
std::string CheckpointText(const CheckpointView& checkpoint);

// "log_loss 0.41, auc 0.89".
std::string ValuesText(const NamedValues& values);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_JOB_TEXT_H_
