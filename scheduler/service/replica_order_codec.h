// Orders about replicas and cuts as messages, and answers as replies. The term
// is set by whoever sends them.
#ifndef SERAPH_SCHEDULER_SERVICE_REPLICA_ORDER_CODEC_H_
#define SERAPH_SCHEDULER_SERVICE_REPLICA_ORDER_CODEC_H_

#include "absl/status/statusor.h"
#include "common/cluster/node.h"
#include "proto/parameters.pb.h"
#include "proto/replicas.pb.h"
#include "proto/tasks.pb.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/order.h"

namespace seraph {

void ToProto(const JobPlan& plan, v1::JobTables* tables);
v1::AssignPartitionsRequest AssignRequestOf(const JobRef& job, const Node& to,
                                            const AssignPartitions& order);
v1::UpdatePlacementsRequest UpdateRequestOf(const JobRef& job, const Node& to,
                                            const UpdatePlacements& order);
v1::ConfigureRequest ConfigureRequestOf(const JobRef& job, const Node& to,
                                        const ConfigureReplicas& order);
v1::RecruitRequest RecruitRequestOf(const JobRef& job, const Node& to,
                                    const RecruitReplica& order);
v1::HandOverRequest HandOverRequestOf(const JobRef& job, const Node& to,
                                      const HandOver& order);
v1::BeginCutRequest BeginCutRequestOf(const JobRef& job, const Node& to,
                                      const BeginCut& order);
v1::TakeCutRequest TakeCutRequestOf(const JobRef& job, const Node& to,
                                    const TakeCut& order);
v1::WriteCutRequest WriteCutRequestOf(const JobRef& job, const Node& to,
                                      const WriteCut& order);
v1::DropCutRequest DropCutRequestOf(const JobRef& job, const Node& to,
                                    const DropCut& order);

// Errors: InvalidArgument for states that are none.
absl::StatusOr<ReplyBody> ConfiguredOf(const v1::ConfigureReply& reply);

CutClocks CutClocksOf(
    const google::protobuf::RepeatedPtrField<v1::Clock>& clocks);
CutWritten CutWrittenOf(const v1::WriteCutReply& reply);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_REPLICA_ORDER_CODEC_H_
