// The partitions of a job on their servers.
#ifndef SERAPH_SCHEDULER_SERVICE_GRPC_PARTITION_ROWS_H_
#define SERAPH_SCHEDULER_SERVICE_GRPC_PARTITION_ROWS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/cluster/partition_placement.h"
#include "common/rpc/channel.h"
#include "scheduler/io/model_transfer.h"
#include "scheduler/io/row_stream.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/service/cancellation.h"

namespace seraph {

struct GrpcPartitionRowsOptions {
  absl::Duration call_timeout = absl::Seconds(10);  // Of a call that writes.
  // A server that sends nothing for so long, while it is waited for, has ended
  // the stream.
  absl::Duration stall_timeout = absl::Seconds(60);
  // A call or stream that fails because the server is out of reach is tried
  // again so often; a stream goes on behind the last row that came.
  int attempts = 5;
  absl::Duration pause = absl::Milliseconds(200);  // Before the next attempt.
};

// Calls wait, on the caller's thread, which must not be one of gRPC's. They end
// with Cancelled soon after the cancellation.
class GrpcPartitionRows final : public PartitionRows {
 public:
  // `channels` and `cancellation` must outlive this and its sources.
  GrpcPartitionRows(JobRef job, const GrpcPartitionRowsOptions& options,
                    ChannelCache* channels, Cancellation* cancellation);

  std::unique_ptr<RowSource> Read(const PartitionPlacement& placement) override;
  absl::Status Write(const PartitionPlacement& placement,
                     const Rows& rows) override;

 private:
  const JobRef job_;
  const GrpcPartitionRowsOptions options_;
  ChannelCache* const channels_;
  Cancellation* const cancellation_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_GRPC_PARTITION_ROWS_H_
