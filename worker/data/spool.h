// Where compressed input files lie decompressed while they are used.
#ifndef SERAPH_WORKER_DATA_SPOOL_H_
#define SERAPH_WORKER_DATA_SPOOL_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "common/dataset/input_files.h"
#include "worker/data/byte_locks.h"
#include "worker/data/data_file.h"

namespace seraph {

class Spool;
class StreamReader;

// An input file that can be opened as often as one likes. Keeps the
// decompressed copy, if there is one. Must not outlive its Spool.
class SpooledFile {
 public:
  ~SpooledFile();
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  // Errors: those of opening a file, by errno; FailedPrecondition if the input
  // file has changed since it was stamped.
  absl::StatusOr<std::unique_ptr<DataFile>> Open() const;

 private:
  friend class Spool;
  // `copy_name` "": the input file is not compressed.
  SpooledFile(Spool* spool, FileStamp input, std::string copy_name,
              uint64_t copy_bytes);

  Spool& spool_;
  const FileStamp input_;
  const std::string copy_name_;
  const uint64_t copy_bytes_;
};

// A compressed stream cannot be entered in the middle, and ranks read their
// blocks in any order. So a compressed file is decompressed once, when it is
// first wanted, and read from the copy; plain files are read where they lie.
// The workers of one machine that spool into the same directory share copies.
//
// Disk:     the uncompressed size of every compressed file that some
//           SpooledFile of some process still names, and kKeptBytes of those
//           used last (a job's data is scanned first and trained on later). A
//           copy goes with its last user; what killed processes leave is
//           removed by the next Spool in the same place.
// Threads:  every method may be called from any thread.
class Spool {
 public:
  static constexpr uint64_t kKeptBytes = uint64_t{1} << 30;

  // Copies go to a folder of this user's own below `directory`; both are made
  // if need be.
  // Errors: what making files and folders gives, by errno; PermissionDenied if
  // the folder is somebody else's.
  static absl::StatusOr<std::unique_ptr<Spool>> Create(
      const std::string& directory, uint64_t kept_bytes = kKeptBytes);

  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Decompresses the file, if it is compressed and not here yet. Whoever wants
  // it meanwhile, in this or another process, waits.
  // Errors: FailedPrecondition if it has changed since it was stamped;
  // InvalidArgument for an unknown compression; DataLoss with path and offset
  // for a damaged or truncated one; ResourceExhausted if the disk is full; what
  // reading gives, by errno. A later call tries again.
  absl::StatusOr<std::shared_ptr<const SpooledFile>> Get(const FileStamp& input)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class SpooledFile;

  // One version of an input file. Whoever makes or drops its copy holds `mu`:
  // the locks between processes say nothing between threads.
  struct Entry {
    Mutex mu;
    std::weak_ptr<const SpooledFile> file ABSL_GUARDED_BY(mu);
  };

  Spool(std::string folder, std::unique_ptr<ByteLocks> locks,
        uint64_t kept_bytes);

  std::shared_ptr<Entry> EntryOf(const std::string& name)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<std::shared_ptr<const SpooledFile>> Make(
      const FileStamp& input, const std::string& name);
  absl::Status MakeCopy(StreamReader* reader, const std::string& name);
  void DropCopy(const std::string& name) ABSL_LOCKS_EXCLUDED(mu_);
  void RemoveLeftovers();
  void Keep(std::shared_ptr<const SpooledFile> file) ABSL_LOCKS_EXCLUDED(mu_);
  std::string PathOf(const std::string& name) const;

  const std::string folder_;
  const std::unique_ptr<ByteLocks> locks_;
  const uint64_t kept_bytes_;

  Mutex mu_;
  std::map<std::string, std::shared_ptr<Entry>> entries_
      ABSL_GUARDED_BY(mu_);  // By name of the copy.
  std::list<std::shared_ptr<const SpooledFile>> kept_
      ABSL_GUARDED_BY(mu_);  // Copies, last used first.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_SPOOL_H_
