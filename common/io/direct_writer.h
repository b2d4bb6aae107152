// A new file that does not pass through the system's cache of pages.
#ifndef SERAPH_COMMON_IO_DIRECT_WRITER_H_
#define SERAPH_COMMON_IO_DIRECT_WRITER_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/io/blob_folder.h"

namespace seraph {

// Large pieces go to the disk from here (O_DIRECT): to copy them into the
// system's cache, where nobody reads them soon, costs more than all else that
// is done with them, and drives out what others read. A file's end, small
// files, and all of it where the file system has no such way (tmpfs), are
// written as usual.
//
// Threads: one at a time. Memory: a buffer of up to 1 MiB.
class DirectWriter final : public BlobWriter {
 public:
  // `fd`, of the new and empty file `path`, belongs to this.
  DirectWriter(std::string path, int fd);
  ~DirectWriter() override;

  DirectWriter(const DirectWriter&) = delete;
  DirectWriter& operator=(const DirectWriter&) = delete;

  absl::Status Append(absl::string_view bytes) override;
  absl::Status Sync() override;

  // Whether a piece went past the cache: for tests.
  bool was_direct() const { return was_direct_; }

 private:
  struct Free {
    void operator()(char* buffer) const { std::free(buffer); }
  };

  // Writes what is buffered, past the cache if that goes and `whole` says that
  // it is a whole buffer.
  absl::Status Flush(bool whole);
  // Whether the file now is in that mode.
  bool SetDirect(bool direct);

  const std::string path_;
  int fd_;  // -1 once closed.
  std::unique_ptr<char, Free> buffer_;
  size_t buffered_ = 0;
  bool direct_ = false;     // The file's mode.
  bool may_direct_ = true;  // Not known to be impossible.
  bool was_direct_ = false;
  absl::Status status_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_DIRECT_WRITER_H_
