// The blocks of a data set as records, for all ranks of a job in a process.
#ifndef SERAPH_WORKER_DATA_BLOCK_SOURCE_H_
#define SERAPH_WORKER_DATA_BLOCK_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "common/dataset/dataset_facts.h"
#include "common/dataset/label_map.h"
#include "common/dataset/rank_plan.h"
#include "worker/data/batch.h"
#include "worker/data/record_reader.h"
#include "worker/data/record_rules.h"
#include "worker/data/spool.h"

namespace seraph {

// Reads a block when it is asked for. The first blocks that fit into
// `cache_bytes` stay in memory for the epochs to come; which ones they are
// changes how often files are read, and nothing else. (They are never replaced:
// epochs read everything once each, in changing order, where replacing the
// oldest would throw out every block just before it is wanted.)
//
// Memory:   cache_bytes, and what callers hold.
// Files:    kMaxOpenFiles are open at most, however many there are.
// Threads:  every method may be called from any thread.
class BlockSource {
 public:
  static constexpr size_t kMaxOpenFiles = 32;

  // `facts` are those of the whole data set; `spool` must outlive this.
  BlockSource(DatasetFacts facts, RecordRules rules, LabelMap labels,
              uint64_t cache_bytes, Spool* spool);
  ~BlockSource();

  const DatasetFacts& facts() const { return facts_; }
  const RecordRules& rules() const { return rules_; }

  // The records of `part` of block `block`, in the order of the file, with the
  // labels of the label map.
  // Errors: as RecordReader; FailedPrecondition if the file has changed since
  // the job began; InvalidArgument "file:line: ..." for a label that is not in
  // the map. Requires: block < facts().blocks.size().
  absl::StatusOr<std::shared_ptr<const Batch>> Load(size_t block,
                                                    RecordPart part)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Whether the files are as they were when the job began: what is in memory or
  // held open would hide it otherwise.
  // Errors: FailedPrecondition naming the file that is not.
  absl::Status CheckUnchanged() const;

  // Bytes of all batches that Load() gave and that are still in use or cached:
  // now, and the most so far.
  uint64_t live_bytes() const;
  uint64_t peak_bytes() const;

 private:
  using BlockId = std::pair<size_t, RecordPart>;

  // What the batches have in common with this; they may outlive it.
  struct Meter {
    std::atomic<uint64_t> live{0};
    std::atomic<uint64_t> peak{0};
  };

  struct OpenFile {
    uint32_t file = 0;
    std::shared_ptr<const RecordReader> reader;
  };

  absl::StatusOr<std::shared_ptr<const RecordReader>> ReaderOf(uint32_t file)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<Batch> Read(size_t block, RecordPart part)
      ABSL_LOCKS_EXCLUDED(mu_);

  const DatasetFacts facts_;
  const RecordRules rules_;
  const LabelMap labels_;
  const uint64_t cache_bytes_;
  Spool& spool_;
  const std::shared_ptr<Meter> meter_ = std::make_shared<Meter>();

  Mutex mu_;
  std::list<OpenFile> open_files_ ABSL_GUARDED_BY(mu_);  // Last used first.
  // By file. Decompressed copies stay as long as this, whether the file is open
  // or not.
  absl::flat_hash_map<uint32_t, std::vector<std::shared_ptr<const SpooledFile>>>
      spooled_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<BlockId, std::shared_ptr<const Batch>> cache_
      ABSL_GUARDED_BY(mu_);
  uint64_t cached_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_BLOCK_SOURCE_H_
