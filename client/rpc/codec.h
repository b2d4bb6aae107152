// From the scheduler's messages to what is shown.
#ifndef SERAPH_CLIENT_RPC_CODEC_H_
#define SERAPH_CLIENT_RPC_CODEC_H_

#include "client/view/cluster_view.h"
#include "client/view/job_view.h"
#include "proto/cluster.pb.h"
#include "proto/jobs.pb.h"

namespace seraph {

JobView FromProto(const v1::JobStatus& status);
CheckpointView FromProto(const v1::CheckpointStatus& status);
LogLine FromProto(const v1::JobLogLine& line);
ClusterView FromProto(const v1::DescribeClusterReply& reply);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RPC_CODEC_H_
