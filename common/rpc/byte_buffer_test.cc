#include "common/rpc/byte_buffer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(ByteBufferTest, BulkIsKeptUntilTheBufferGoes) {
  auto keys = std::make_shared<const std::string>(100'000, 'k');
  const std::weak_ptr<const std::string> alive = keys;
  MessageWriter message;
  message.Bytes(14, OwnedSlice{*keys, keys});
  message.Bytes(15, OwnedSlice{"short", nullptr});
  const size_t size = message.size();
  const char* const at = keys->data();
  keys.reset();
  {
    const grpc::ByteBuffer buffer = ToByteBuffer(std::move(message));
    EXPECT_EQ(buffer.Length(), size);
    const auto slices = ToSlices(buffer);
    ASSERT_TRUE(slices.ok());
    EXPECT_EQ(slices->size(), size);
    ASSERT_EQ(slices->pieces().size(), 3);
    EXPECT_EQ(slices->pieces()[1].data(), at) << "no copy";
    EXPECT_EQ(slices->pieces()[2], "\x7a\x05short");
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(ByteBufferTest, SlicesKeepWhatTheyCameFrom) {
  ByteSlices slices;
  {
    grpc::Slice parts[] = {grpc::Slice("some bytes that are not inlined"),
                           grpc::Slice("")};
    slices = *ToSlices(grpc::ByteBuffer(parts, 2));
  }
  EXPECT_EQ(slices.ToString(), "some bytes that are not inlined");
}

TEST(ByteBufferTest, EmptyMessages) {
  EXPECT_EQ(ToSlices(ToByteBuffer(MessageWriter()))->size(), 0);
  EXPECT_EQ(ToSlices(grpc::ByteBuffer())->size(), 0);
  EXPECT_TRUE(ToByteBuffer(MessageWriter()).Valid());
}

}  // namespace
}  // namespace seraph
