// Between the protocol's pull and push messages and a partition's.
#ifndef SERAPH_SERVER_SERVICE_REQUEST_CODEC_H_
#define SERAPH_SERVER_SERVICE_REQUEST_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/table/value_kind.h"
#include "common/wire/byte_slices.h"
#include "proto/parameters.pb.h"
#include "server/core/partition_messages.h"
#include "server/service/served_job.h"

namespace seraph {

// How the rows of a pull are to be answered.
struct RowForm {
  ValueKind kind = ValueKind::kFloat32;
  uint32_t width = 0;
};

// A part of a request: where it goes, or why it goes nowhere.
template <typename Message>
struct DecodedPart {
  PartitionActor* actor = nullptr;  // Null: `refusal` is the answer.
  Answer refusal;
  Message message;
  RowForm form;  // Of a pull.
};

// Few of them take no memory of their own.
using PushParts = absl::InlinedVector<DecodedPart<PushMessage>, 8>;

// One decoded part for each part of the request, in its order, and then for
// each of its empty ones. What is wrong
// with one part alone becomes its refusal. The bulk of a request is given apart
// from it, and copied once.
//
// Errors: InvalidArgument where the message contradicts itself (lengths of
// keys and values), or where the answer would be larger than kMaxReplyBytes.
absl::StatusOr<std::vector<DecodedPart<PullMessage>>> DecodePull(
    const v1::PullRequest& request, const ByteSlices& keys,
    const ServedJob& job);
absl::Status DecodePush(const v1::PushRequest& request, const ByteSlices& keys,
                        const ByteSlices& values, const ServedJob& job,
                        PushParts* parts);

inline constexpr size_t kMaxReplyBytes = size_t{1} << 30;

// Everything but a pull's values.
void EncodeResult(const Answer& answer, v1::PartResult* result);

std::optional<RankName> RankNameOf(const v1::RequestHeader& header);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_REQUEST_CODEC_H_
