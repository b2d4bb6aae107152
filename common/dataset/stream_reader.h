// Reads a file from its beginning, decompressed if it is compressed.
#ifndef SERAPH_COMMON_DATASET_STREAM_READER_H_
#define SERAPH_COMMON_DATASET_STREAM_READER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

enum class Compression { kNone, kGzip, kZstd };

// Of a file that begins with `head` (16 bytes are enough; fewer only if the
// file is shorter), whatever its name says.
// Errors: InvalidArgument, naming the kind, for one that is not read: bzip2, xz
// or zip.
absl::StatusOr<Compression> CompressionOf(absl::string_view head);

// Concatenated gzip members and zstd frames are read one after the other, as
// the programs of these names do.
//
// Threads: one at a time.
class StreamReader {
 public:
  // Errors: those of opening a file, by errno; InvalidArgument as
  // CompressionOf(); each names the path.
  static absl::StatusOr<std::unique_ptr<StreamReader>> Open(
      const std::string& path);

  virtual ~StreamReader() = default;

  virtual Compression compression() const = 0;

  // Reads up to `size` > 0 bytes; 0 is the end of the file.
  // Errors: DataLoss for a compressed stream that is damaged or ends early,
  // with path and offset (in the file as it is stored); what reading gives, by
  // errno.
  virtual absl::StatusOr<size_t> Read(char* buffer, size_t size) = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_STREAM_READER_H_
