#include "common/testing/compress.h"

#include <zlib.h>
#include <zstd.h>

#include "gtest/gtest.h"

namespace seraph::testing {

std::string Gzip(absl::string_view content) {
  z_stream stream = {};
  EXPECT_EQ(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                           MAX_WBITS + 16, /*memLevel=*/8, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string result(::deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(result.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return result;
}

std::string Zstd(absl::string_view content) {
  std::string result(::ZSTD_compressBound(content.size()), '\0');
  const size_t size = ::ZSTD_compress(result.data(), result.size(),
                                      content.data(), content.size(), 3);
  EXPECT_FALSE(::ZSTD_isError(size));
  result.resize(size);
  return result;
}

}  // namespace seraph::testing
