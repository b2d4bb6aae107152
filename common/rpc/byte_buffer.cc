#include "common/rpc/byte_buffer.h"

#include <memory>
#include <utility>
#include <vector>

#include "grpcpp/support/slice.h"

namespace seraph {
namespace {

using Owner = std::shared_ptr<const void>;

grpc::Slice ToSlice(OwnedSlice slice) {
  const absl::string_view bytes = slice.bytes;
  // What fits into gRPC's slice itself needs no owner.
  if (bytes.size() <= GRPC_SLICE_INLINED_SIZE) {
    return grpc::Slice(bytes.data(), bytes.size());
  }
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* owner) { delete static_cast<Owner*>(owner); },
      new Owner(std::move(slice.owner)));
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(MessageWriter message) {
  return ToByteBuffer(message.Finish());
}

grpc::ByteBuffer ToByteBuffer(std::vector<OwnedSlice> message) {
  std::vector<grpc::Slice> slices;
  for (OwnedSlice& slice : message) {
    slices.push_back(ToSlice(std::move(slice)));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<ByteSlices> ToSlices(const grpc::ByteBuffer& buffer) {
  if (!buffer.Valid()) return ByteSlices();
  const auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!buffer.Dump(slices.get()).ok()) {
    return absl::InvalidArgumentError("a message that cannot be decompressed");
  }
  std::vector<absl::string_view> pieces;
  for (const grpc::Slice& slice : *slices) {
    pieces.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                        slice.size());
  }
  return ByteSlices(pieces, slices);
}

}  // namespace seraph
