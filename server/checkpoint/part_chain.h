// The files that a replica writes of its cuts.
#ifndef SERAPH_SERVER_CHECKPOINT_PART_CHAIN_H_
#define SERAPH_SERVER_CHECKPOINT_PART_CHAIN_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "common/checkpoint/cut_part.h"
#include "common/io/blob_folder.h"
#include "server/core/partition_copy.h"

namespace seraph {

struct CutIdentity {
  std::string job_id;
  uint64_t generation = 0;
  uint64_t cut = 0;
};

// Remembers what it wrote last, so that a cut's file need hold only the blocks
// that changed since an earlier cut. It knows nothing of cuts that others
// wrote; one for each replica, as long as that lives.
//
// Threads: one at a time.
class PartChain {
 public:
  // Of the copy that was written as that cut: what the next copy, if it is to
  // be written on its base, need not have (Partition::Since). {0, 0}: it needs
  // all.
  struct Since {
    uint64_t layout = 0;
    uint64_t version = 0;
  };
  Since SinceOf(uint64_t base_cut) const;

  // Writes the file of `copy`: only what changed since `base_cut` (0: nothing
  // is taken from elsewhere) if this has written that, else all. The same cut
  // again is only confirmed.
  // Errors: those of the folder, with the file's path; FailedPrecondition if
  // the copy has not all blocks that it takes. No file is left then.
  absl::StatusOr<CutPart> Write(BlobFolder* folder, const CutIdentity& cut,
                                const PartitionCopy& copy, uint64_t base_cut);

 private:
  struct Written {
    CutIdentity cut;
    uint64_t layout = 0;
    uint64_t version = 0;  // The copy's.
    CutPart part;
  };

  const Written* Find(uint64_t cut) const;

  std::deque<Written> written_;  // The last few, oldest first.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CHECKPOINT_PART_CHAIN_H_
