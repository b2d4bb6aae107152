// Between gRPC's buffers and messages whose bulk is not copied.
#ifndef SERAPH_COMMON_RPC_BYTE_BUFFER_H_
#define SERAPH_COMMON_RPC_BYTE_BUFFER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/wire/byte_slices.h"
#include "common/wire/message_writer.h"
#include "grpcpp/support/byte_buffer.h"

namespace seraph {

// What a raw method or a generic stub sends. Bulk is kept by its owner until
// gRPC has sent it, which may be after the write has ended.
grpc::ByteBuffer ToByteBuffer(MessageWriter message);
grpc::ByteBuffer ToByteBuffer(std::vector<OwnedSlice> message);

// What one of them has received; the bytes stay in gRPC's memory.
// Errors: InvalidArgument for what cannot be decompressed.
absl::StatusOr<ByteSlices> ToSlices(const grpc::ByteBuffer& buffer);

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_BYTE_BUFFER_H_
