#include "server/checkpoint/part_chain.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/part_writer.h"
#include "common/status/status_macros.h"
#include "server/checkpoint/cut_state.h"

namespace seraph {
namespace {

// A cut's base is the last one that became complete; those since then did not.
constexpr size_t kRemembered = 4;

PartHead HeadOf(const CutIdentity& cut, const PartitionCopy& copy) {
  PartHead head;
  head.job_id = cut.job_id;
  head.generation = cut.generation;
  head.cut = cut.cut;
  head.layout = copy.layout;
  head.table = copy.table;
  head.partition = copy.partition;
  head.range = copy.range;
  head.row_cells = copy.row_cells;
  head.blocks = copy.store_blocks;
  head.rows = copy.rows;
  head.log_decay = copy.cut.sums.log_decay;
  head.shrink = copy.cut.sums.shrink;
  for (const RankCut& rank : copy.cut.ranks) head.clocks.push_back(rank.clock);
  head.state = EncodeCutState(copy.cut);
  return head;
}

}  // namespace

PartChain::Since PartChain::SinceOf(uint64_t base_cut) const {
  const Written* base = Find(base_cut);
  return base == nullptr ? Since{} : Since{base->layout, base->version};
}

absl::StatusOr<CutPart> PartChain::Write(BlobFolder* folder,
                                         const CutIdentity& cut,
                                         const PartitionCopy& copy,
                                         uint64_t base_cut) {
  if (const Written* done = Find(cut.cut); done != nullptr) return done->part;
  const Written* base = Find(base_cut);
  // Files are taken from the same generation of the same store only.
  if (base != nullptr &&
      (base->cut.generation != cut.generation || base->layout != copy.layout)) {
    base = nullptr;
  }
  const uint64_t since = base == nullptr ? 0 : base->version;
  if (copy.since > since) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the copy of table ", copy.table, ", partition ", copy.partition,
        " for cut ", cut.cut, " lacks blocks that have not changed since cut ",
        base_cut, ", whose file is not known here: take a copy of all"));
  }
  PartHead head = HeadOf(cut, copy);
  head.base_cut = base == nullptr ? 0 : base_cut;
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<PartWriter> writer,
                          PartWriter::Create(folder, head));
  for (const CopiedBlock& block : copy.blocks) {
    if (block.version <= since) continue;
    SERAPH_RETURN_IF_ERROR(
        writer->AddBlock(block.number, block.keys, block.cells));
  }
  Written written{cut, copy.layout, copy.version, {}};
  CutPart& part = written.part;
  part.table = copy.table;
  part.partition = copy.partition;
  part.range = copy.range;
  part.rows = copy.rows;
  if (base != nullptr) part.files = base->part.files;
  SERAPH_ASSIGN_OR_RETURN(part.files.emplace_back(), writer->Finish());
  written_.push_back(std::move(written));
  if (written_.size() > kRemembered) written_.pop_front();
  return written_.back().part;
}

const PartChain::Written* PartChain::Find(uint64_t cut) const {
  for (const Written& written : written_) {
    if (written.cut.cut == cut) return &written;
  }
  return nullptr;
}

}  // namespace seraph
