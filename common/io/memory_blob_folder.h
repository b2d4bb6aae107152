// A folder in memory that loses what a power cut would lose, and fails when a
// test says so.
#ifndef SERAPH_COMMON_IO_MEMORY_BLOB_FOLDER_H_
#define SERAPH_COMMON_IO_MEMORY_BLOB_FOLDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"
#include "common/io/blob_folder.h"

namespace seraph {

// Every Create, Append, Sync of a file, Rename, Remove and Sync of the folder
// is a step. A writer that was opened before a crash fails afterwards.
// Threads: any; the order of steps is then the threads' own.
class MemoryBlobFolder final : public BlobFolder {
 public:
  explicit MemoryBlobFolder(std::string path = "memory");

  const std::string& path() const override { return path_; }
  absl::StatusOr<std::unique_ptr<BlobWriter>> Create(
      const std::string& name) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& name) override;
  absl::Status Sync() override;
  absl::StatusOr<std::unique_ptr<BlobReader>> Open(
      const std::string& name) override;
  absl::StatusOr<std::vector<BlobInfo>> List() override;

  // Faults --------------------------------------------------------------

  // A power cut: of the bytes of each file that were not synced any number at
  // the end is lost, or turned to zeros; of the names that were made, changed
  // or removed since the folder's last sync each change, independently, is
  // there or not. `draw(n)`, of [0, n), decides it all.
  void Crash(const std::function<uint64_t(uint64_t n)>& draw);

  // Asked before each step with its number, from 0; what it returns, unless OK,
  // the step returns instead of being done (an Append has then appended half).
  // Null: nothing fails.
  using Fault = std::function<absl::Status(
      uint64_t step, absl::string_view what, const std::string& name)>;
  void SetFault(Fault fault);

  uint64_t steps() const;

  // The bytes of a file, to damage them. Requires: it is there.
  std::string Bytes(const std::string& name) const;
  void Replace(const std::string& name, std::string bytes);

 private:
  struct File {
    std::string bytes;
    size_t synced = 0;  // Of them, at the front.
  };
  class Writer;

  absl::Status Step(absl::string_view what, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A change of names since the folder's last sync.
  struct Change {
    std::string from;  // Removed; "": nothing.
    std::string to;    // Set to `file`; "": nothing.
    std::shared_ptr<File> file;
  };

  const std::string path_;
  mutable Mutex mu_;
  std::map<std::string, std::shared_ptr<File>> names_ ABSL_GUARDED_BY(mu_);
  // What the folder's last sync made safe, and what came after it.
  std::map<std::string, std::shared_ptr<File>> durable_ ABSL_GUARDED_BY(mu_);
  std::vector<Change> changes_ ABSL_GUARDED_BY(mu_);
  uint64_t steps_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t crashes_ ABSL_GUARDED_BY(mu_) = 0;
  Fault fault_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_MEMORY_BLOB_FOLDER_H_
