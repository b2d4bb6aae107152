// Where compressed input files lie decompressed while they are used.
#ifndef SERAPH_WORKER_DATA_SPOOL_H_
#define SERAPH_WORKER_DATA_SPOOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "common/dataset/input_files.h"
#include "worker/data/data_file.h"

namespace seraph {

// A compressed stream cannot be entered in the middle, and ranks read their
// blocks in any order. So a compressed file is decompressed once, when it is
// first wanted, into a folder of this process's own below the given one, and
// read from there; plain files are read where they lie.
//
// Disk:     the uncompressed size of every compressed file that some
// SpooledFile
//           still names. The copy goes with the last one. The folder goes with
//           the Spool; what a killed process left is removed by the next Spool
//           in the same place.
// Threads:  every method may be called from any thread; two that want the same
//           file decompress it once.
class Spool;

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
  SpooledFile(FileStamp input, std::string copy_path);

  const FileStamp input_;
  const std::string copy_path_;  // "": the input file is not compressed.
};

class Spool {
 public:
  // Makes the folder for this process's copies below `directory`, which is made
  // too if need be.
  // Errors: what making files and folders gives, by errno.
  static absl::StatusOr<std::unique_ptr<Spool>> Create(
      const std::string& directory);

  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Decompresses the file, if it is compressed and not here yet.
  // Errors: FailedPrecondition if it has changed since it was stamped;
  // InvalidArgument for an unknown compression; DataLoss with path and offset
  // for a damaged or truncated one; ResourceExhausted if the disk is full; what
  // reading gives, by errno. A later call tries again.
  absl::StatusOr<std::shared_ptr<const SpooledFile>> Get(const FileStamp& input)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // One input file; whoever decompresses holds `mu`, later ones wait for it.
  struct Entry {
    Mutex mu;
    std::weak_ptr<const SpooledFile> file ABSL_GUARDED_BY(mu);
  };

  Spool(std::string folder, int lock_fd);

  absl::StatusOr<std::shared_ptr<const SpooledFile>> Make(
      const FileStamp& input);

  const std::string folder_;
  const int lock_fd_;  // Locked while this process lives.

  Mutex mu_;
  std::map<std::string, std::shared_ptr<Entry>> entries_
      ABSL_GUARDED_BY(mu_);  // By path.
  uint64_t copies_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_SPOOL_H_
