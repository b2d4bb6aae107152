// A folder of files as checkpoints use it: made anew, synced, renamed, read
// whole, removed; never changed in place.
#ifndef SERAPH_COMMON_IO_BLOB_FOLDER_H_
#define SERAPH_COMMON_IO_BLOB_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Errors of everything here name the file's path and the system's reason:
// NotFound, PermissionDenied, ResourceExhausted (disk full, too many files),
// Internal (the disk cannot read or write it) ...

// A new file on its way to disk. Destroyed without Sync() it stays as far as it
// got, and nothing of it may be trusted.
// Threads: one at a time.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;

  // After an error every later call returns that error.
  virtual absl::Status Append(absl::string_view bytes) = 0;

  // All of it is on disk when this returns OK; its name may not be: see
  // BlobFolder::Sync. Nothing may be called afterwards. After an error the file
  // is not to be trusted, and a second try would prove nothing.
  virtual absl::Status Sync() = 0;
};

// Threads: one at a time.
class BlobReader {
 public:
  virtual ~BlobReader() = default;

  // Replaces `*to` by the next `bytes` bytes, or by the rest of the file where
  // that is shorter.
  virtual absl::Status Read(size_t bytes, std::string* to) = 0;

  virtual uint64_t size() const = 0;  // When it was opened.
};

struct BlobInfo {
  std::string name;
  uint64_t bytes = 0;

  friend bool operator==(const BlobInfo&, const BlobInfo&) = default;
};

// What is promised after a power cut: a file's bytes if its Sync() returned OK,
// and each creation, renaming and removal that came before a Sync() of the
// folder that returned OK; of the others any may have happened or not. A
// renaming is whole or not there at all.
//
// Names are plain file names, without '/'. Threads: any.
class BlobFolder {
 public:
  virtual ~BlobFolder() = default;

  // For messages: the folder's path, and that of a file in it.
  virtual const std::string& path() const = 0;
  std::string PathOf(absl::string_view name) const;

  // A new file; makes the folder, and those above it, where they are missing.
  // Errors: AlreadyExists if there is one of that name.
  virtual absl::StatusOr<std::unique_ptr<BlobWriter>> Create(
      const std::string& name) = 0;

  // In one step; a file that is called `to` is replaced.
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;

  // Errors: NotFound.
  virtual absl::Status Remove(const std::string& name) = 0;

  // See above.
  virtual absl::Status Sync() = 0;

  // Errors: NotFound.
  virtual absl::StatusOr<std::unique_ptr<BlobReader>> Open(
      const std::string& name) = 0;

  // All regular files, by name; none where the folder is missing.
  virtual absl::StatusOr<std::vector<BlobInfo>> List() = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_BLOB_FOLDER_H_
