#include "common/dataset/stream_reader.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr size_t kInputBytes = 256 << 10;
constexpr size_t kHeadBytes = 16;

// The bytes of a file as they are stored.
class StoredBytes {
 public:
  static absl::StatusOr<StoredBytes> Open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat("cannot read '", path, "'"));
    }
    return StoredBytes(fd, path);
  }

  StoredBytes(StoredBytes&& other)
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::move(other.path_)),
        buffer_(std::move(other.buffer_)),
        begin_(other.begin_),
        end_(other.end_),
        buffer_offset_(other.buffer_offset_) {}
  StoredBytes& operator=(StoredBytes&&) = delete;
  ~StoredBytes() {
    if (fd_ >= 0) ::close(fd_);
  }

  const std::string& path() const { return path_; }

  // The bytes that were read and not consumed yet.
  absl::string_view available() const {
    return absl::string_view(buffer_.data() + begin_, end_ - begin_);
  }
  // In the file, of the first of them.
  uint64_t offset() const { return buffer_offset_ + begin_; }
  void Consume(size_t size) { begin_ += size; }

  // Reads on until there are `wanted` available bytes or the file ends.
  absl::Status Fill(size_t wanted) {
    if (end_ - begin_ >= wanted) return absl::OkStatus();
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    buffer_offset_ += begin_;
    end_ -= begin_;
    begin_ = 0;
    while (end_ < wanted) {
      const ssize_t got =
          ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
      if (got == 0) break;
      if (got < 0) {
        if (errno == EINTR) continue;
        return absl::ErrnoToStatus(errno,
                                   absl::StrCat("cannot read '", path_, "'"));
      }
      end_ += got;
    }
    return absl::OkStatus();
  }

  absl::Status Damaged(absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat("'", path_, "': ", what, " at byte ", offset()));
  }

 private:
  StoredBytes(int fd, std::string path)
      : fd_(fd), path_(std::move(path)), buffer_(kInputBytes) {}

  int fd_;
  std::string path_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // [begin_, end_) of the buffer holds bytes.
  size_t end_ = 0;
  uint64_t buffer_offset_ = 0;  // In the file, of the buffer's first byte.
};

class PlainReader final : public StreamReader {
 public:
  explicit PlainReader(StoredBytes bytes) : bytes_(std::move(bytes)) {}

  Compression compression() const override { return Compression::kNone; }

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    SERAPH_RETURN_IF_ERROR(bytes_.Fill(1));
    const absl::string_view available = bytes_.available();
    const size_t count = std::min(size, available.size());
    std::memcpy(buffer, available.data(), count);
    bytes_.Consume(count);
    return count;
  }

 private:
  StoredBytes bytes_;
};

class GzipReader final : public StreamReader {
 public:
  explicit GzipReader(StoredBytes bytes) : bytes_(std::move(bytes)) {
    // 16: a gzip header, not a zlib one. Fails for lack of memory only.
    usable_ = ::inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK;
  }
  ~GzipReader() override { ::inflateEnd(&stream_); }

  Compression compression() const override { return Compression::kGzip; }

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    if (!usable_) return absl::ResourceExhaustedError("no memory for zlib");
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      SERAPH_RETURN_IF_ERROR(bytes_.Fill(1));
      if (!in_member_) {
        SERAPH_ASSIGN_OR_RETURN(const bool more, NextMember());
        if (!more) break;
      }
      if (bytes_.available().empty()) {
        return bytes_.Damaged("the gzip stream ends early");
      }
      SERAPH_RETURN_IF_ERROR(Inflate());
    }
    return wanted - stream_.avail_out;
  }

 private:
  absl::Status Inflate() {
    const absl::string_view input = bytes_.available();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    bytes_.Consume(input.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      in_member_ = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return bytes_.Damaged(
          absl::StrCat("the gzip stream is damaged (",
                       stream_.msg != nullptr ? stream_.msg : "?", ")"));
    }
    return absl::OkStatus();
  }

  // Goes to the next member, if there is one. Zeros behind the last one are
  // padding, as of tapes; anything else is not.
  absl::StatusOr<bool> NextMember() {
    while (true) {
      SERAPH_RETURN_IF_ERROR(bytes_.Fill(2));
      const absl::string_view input = bytes_.available();
      if (input.empty()) return false;
      if (absl::StartsWith(input, "\x1f\x8b")) break;
      const size_t zeros =
          std::min(input.find_first_not_of('\0'), input.size());
      if (zeros == 0) {
        return bytes_.Damaged("something else follows the gzip stream");
      }
      bytes_.Consume(zeros);
    }
    ::inflateReset(&stream_);
    in_member_ = true;
    return true;
  }

  StoredBytes bytes_;
  z_stream stream_ = {};
  bool usable_ = false;
  bool in_member_ = false;
};

class ZstdReader final : public StreamReader {
 public:
  explicit ZstdReader(StoredBytes bytes)
      : bytes_(std::move(bytes)), context_(::ZSTD_createDCtx()) {}
  ~ZstdReader() override { ::ZSTD_freeDCtx(context_); }

  Compression compression() const override { return Compression::kZstd; }

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    if (context_ == nullptr) {
      return absl::ResourceExhaustedError("no memory for zstd");
    }
    ZSTD_outBuffer output = {buffer, size, 0};
    while (output.pos == 0) {
      SERAPH_RETURN_IF_ERROR(bytes_.Fill(1));
      const absl::string_view available = bytes_.available();
      // Without input there may still be output that did not fit before.
      if (available.empty() && !in_frame_) break;
      ZSTD_inBuffer input = {available.data(), available.size(), 0};
      const size_t result = ::ZSTD_decompressStream(context_, &output, &input);
      bytes_.Consume(input.pos);
      if (::ZSTD_isError(result)) {
        return bytes_.Damaged(absl::StrCat("the zstd stream is damaged (",
                                           ::ZSTD_getErrorName(result), ")"));
      }
      in_frame_ = result != 0;  // 0: a frame is complete and given out.
      if (available.empty() && output.pos == 0 && in_frame_) {
        return bytes_.Damaged("the zstd stream ends early");
      }
    }
    return output.pos;
  }

 private:
  StoredBytes bytes_;
  ZSTD_DCtx* const context_;
  bool in_frame_ = false;
};

}  // namespace

absl::StatusOr<Compression> CompressionOf(absl::string_view head) {
  if (absl::StartsWith(head, "\x1f\x8b")) return Compression::kGzip;
  if (absl::StartsWith(head, "\x28\xb5\x2f\xfd")) return Compression::kZstd;
  // A skippable frame of zstd: 0x184D2A50..0x184D2A5F, little-endian.
  if (head.size() >= 4 && (head[0] & 0xf0) == 0x50 &&
      head.substr(1, 3) == "\x2a\x4d\x18") {
    return Compression::kZstd;
  }
  absl::string_view other;
  if (absl::StartsWith(head, "BZh") && head.size() >= 10 &&
      head.substr(4, 6) == "1AY&SY") {
    other = "bzip2";
  } else if (absl::StartsWith(head,
                              "\xfd"
                              "7zXZ")) {
    other = "xz";
  } else if (absl::StartsWith(head, "PK\x03\x04")) {
    other = "zip";
  }
  if (other.empty()) return Compression::kNone;
  return absl::InvalidArgumentError(absl::StrCat(
      "compressed with ", other, ", which is not read; gzip and zstd are"));
}

absl::StatusOr<std::unique_ptr<StreamReader>> StreamReader::Open(
    const std::string& path) {
  SERAPH_ASSIGN_OR_RETURN(StoredBytes bytes, StoredBytes::Open(path));
  SERAPH_RETURN_IF_ERROR(bytes.Fill(kHeadBytes));
  const absl::StatusOr<Compression> compression =
      CompressionOf(bytes.available());
  if (!compression.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is ", compression.status().message()));
  }
  switch (*compression) {
    case Compression::kGzip:
      return std::make_unique<GzipReader>(std::move(bytes));
    case Compression::kZstd:
      return std::make_unique<ZstdReader>(std::move(bytes));
    case Compression::kNone:
      break;
  }
  return std::make_unique<PlainReader>(std::move(bytes));
}

}  // namespace seraph
