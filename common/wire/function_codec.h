// Between the protocol's messages and the plain structs: functions.
#ifndef SERAPH_COMMON_WIRE_FUNCTION_CODEC_H_
#define SERAPH_COMMON_WIRE_FUNCTION_CODEC_H_

#include "absl/status/statusor.h"
#include "common/functions/function_call.h"
#include "common/functions/partial_result.h"
#include "proto/functions.pb.h"

namespace seraph {

// Errors: InvalidArgument for an argument of no kind.
void ToProto(const FunctionCall& call, v1::FunctionCall* message);
absl::StatusOr<FunctionCall> FromProto(const v1::FunctionCall& message);

// Errors: InvalidArgument for lists whose lengths differ, and for a value of no
// kind.
void ToProto(const PartialResult& result, v1::PartialResult* message);
absl::StatusOr<PartialResult> FromProto(const v1::PartialResult& message);

// Errors: InvalidArgument for a rule that is not known.
v1::CombineRule ToProto(CombineRule rule);
absl::StatusOr<CombineRule> FromProto(v1::CombineRule rule);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_FUNCTION_CODEC_H_
