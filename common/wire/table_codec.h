// Between the protocol's messages and the plain structs: tables and how they
// are brought up to date.
//
// ToProto() sets every field of a fresh message. FromProto() gives back an
// equal struct; where a message of a peer can hold what the struct cannot, it
// returns InvalidArgument, naming the field. Limits of values are not checked
// here (common/table/table_validation.h does).
#ifndef SERAPH_COMMON_WIRE_TABLE_CODEC_H_
#define SERAPH_COMMON_WIRE_TABLE_CODEC_H_

#include "absl/status/statusor.h"
#include "common/job/sync_spec.h"
#include "common/table/table_spec.h"
#include "proto/types.pb.h"

namespace seraph {

void ToProto(const OptimizerSpec& spec, v1::OptimizerSpec* message);
absl::StatusOr<OptimizerSpec> FromProto(const v1::OptimizerSpec& message);

void ToProto(const ScheduleSpec& spec, v1::ScheduleSpec* message);
absl::StatusOr<ScheduleSpec> FromProto(const v1::ScheduleSpec& message);

void ToProto(const InitializerSpec& spec, v1::InitializerSpec* message);
absl::StatusOr<InitializerSpec> FromProto(const v1::InitializerSpec& message);

void ToProto(const TableSpec& spec, v1::TableSpec* message);
absl::StatusOr<TableSpec> FromProto(const v1::TableSpec& message);

void ToProto(const SyncSpec& spec, v1::SyncSpec* message);
absl::StatusOr<SyncSpec> FromProto(const v1::SyncSpec& message);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_TABLE_CODEC_H_
