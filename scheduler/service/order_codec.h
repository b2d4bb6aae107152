// Orders as messages, and answers as replies.
#ifndef SERAPH_SCHEDULER_SERVICE_ORDER_CODEC_H_
#define SERAPH_SCHEDULER_SERVICE_ORDER_CODEC_H_

#include "absl/status/statusor.h"
#include "common/cluster/node.h"
#include "proto/jobs.pb.h"
#include "proto/parameters.pb.h"
#include "proto/tasks.pb.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/job_view.h"
#include "scheduler/job/order.h"

namespace seraph {

void ToProto(const JobRef& job, v1::JobRef* message);
JobRef FromProto(const v1::JobRef& message);
void ToProto(const RankRef& rank, v1::RankRef* message);
RankRef FromProto(const v1::RankRef& message);

v1::ScanRequest ScanRequestOf(const JobRef& job, const Node& to,
                              const ScanPiece& piece);
v1::RunRanksRequest RunRanksRequestOf(const JobRef& job, const Node& to,
                                      const RunRanks& order);

LedgerReading ReadingOf(const v1::ReadLedgerReply& reply);

// A job as clients see it.
void ToProto(const JobView& view, v1::JobStatus* message);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_ORDER_CODEC_H_
