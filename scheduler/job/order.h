// What the scheduler's state machine wants done, and what comes back.
//
// An order goes to a node, or to the scheduler's own shell, which does the IO.
// Whoever carries it out answers with one Reply of the same number, whatever
// happens; a reply that comes late, or twice, is ignored. Nothing here is of
// the wire: scheduler/service turns orders into messages.
#ifndef SERAPH_SCHEDULER_JOB_ORDER_H_
#define SERAPH_SCHEDULER_JOB_ORDER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/checkpoint/cut_part.h"
#include "common/cluster/node.h"
#include "common/cluster/partition_placement.h"
#include "common/cluster/replica.h"
#include "common/dataset/dataset_facts.h"
#include "common/dataset/input_files.h"
#include "common/job/job_spec.h"
#include "common/model_file/model_metadata.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/job_view.h"

namespace seraph {

using OrderId = uint64_t;  // From 1, never used again. 0: wants no reply.

// To a worker -----------------------------------------------------------------

// A piece of the pass over the data. Reply: DatasetFacts, a part.
struct ScanPiece {
  uint32_t number = 0;  // In the pass.
  InputFile file;
  uint32_t file_index = 0;
  uint64_t begin = 0;  // Bytes of the uncompressed file.
  uint64_t end = 0;    // 0: to its end.
  uint64_t block_bytes = 0;
  bool validation = false;  // A file of data.validation.
  std::shared_ptr<const std::string> job_yaml;
};

struct RunRanks {
  std::shared_ptr<const JobPlan> plan;
  std::vector<RankRef> ranks;
};

struct StopJob {};

// Where the partitions are now.
struct UpdatePlacements {
  uint64_t version = 0;  // Raised by every change.
  std::shared_ptr<const std::vector<PartitionPlacement>> partitions;
};

// To a server -----------------------------------------------------------------

// Which cut a generation begins from: a manifest in the folder of the job's
// checkpoints.
struct CutName {
  std::string directory;  // Absolute.
  std::string manifest;   // File name.

  friend bool operator==(const CutName&, const CutName&) = default;
};

// A file that the scheduler has written, for servers to prove that they see the
// same folder.
struct FolderProof {
  std::string directory;  // Absolute.
  std::string token;      // File name.
  // To find it is enough: a disk that has become full stops no job.
  bool read_only = false;

  friend bool operator==(const FolderProof&, const FolderProof&) = default;
};

// Creates replicas in their first epoch. Reply: Placed.
struct AssignPartitions {
  std::shared_ptr<const JobPlan> plan;
  // Those that the server leads or backs.
  std::vector<PartitionPlacement> partitions;
  std::optional<CutName> restore;    // Unset: they are new.
  std::optional<FolderProof> proof;  // Set: to be seen first.
};

// New epochs of replicas. Reply: Configured.
struct ConfigureReplicas {
  std::shared_ptr<const JobPlan> plan;
  std::vector<ReplicaOrder> replicas;
};

// To a primary: brings a server that joins up to date, and waits for it from
// then on. Reply: Recruited.
struct RecruitReplica {
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;
  Node recruit;
};

// To a primary: holds new pushes back until everything is confirmed. Reply:
// HandedOver.
struct HandOver {
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;
};

// The steps of a cut: docs/fault-tolerance.md.
struct BeginCut {  // Reply: CutClocks.
  uint64_t cut = 0;
  bool at_rest = false;  // A rank waits for a worker: at the slowest one.
};

struct TakeCut {  // Reply: CutClocks, those that were taken.
  uint64_t cut = 0;
  std::vector<Clock> clocks;             // By rank.
  std::vector<ReplicaOrder> partitions;  // Led by the server; epochs.
  uint64_t base = 0;                     // As WriteCut will have it.
  bool at_rest = false;                  // As BeginCut's.
};

struct WriteCut {  // Reply: CutWritten.
  uint64_t cut = 0;
  std::string directory;
  uint64_t base = 0;  // 0: all blocks.
};

struct DropCut {
  uint64_t cut = 0;
};

// Reply: LedgerReading.
struct ReadLedger {
  uint32_t from_epoch = 0;
  bool last = false;  // All ranks have ended: what comes back is complete.
};

struct DropJob {};

// To the shell ----------------------------------------------------------------

// Finds the data files and proves that the output folder can be written to, and
// the folder of checkpoints, where it leaves the token. Reply: ResolvedFiles.
struct ResolveFiles {
  std::shared_ptr<const JobRequest> request;
  std::optional<FolderProof> checkpoints;
};

// Streams the rows of the model that the job starts from to the partitions.
struct LoadInitModel {
  std::shared_ptr<const JobPlan> plan;
  std::string path;
};

// Merges the runs of scores in these files, in order. Reply: MergedScores.
struct MergeScores {
  std::vector<std::string> files;
};

// Writes the rows of all partitions to a model file without its name. Reply:
// Exported; the file waits for PublishModel or Abandon.
struct ExportModel {
  std::shared_ptr<const JobPlan> plan;
};

// Gives the file of the export `exported` its name, and writes the job's
// record. Reply: Published; on an error no file is left.
struct PublishModel {
  OrderId exported = 0;
  std::shared_ptr<const JobPlan> plan;
  JobView view;  // Without the model's path and digest.
};

// Writes the last file of a checkpoint, which names the others, once it has
// seen that they are there. Reply: ManifestWritten.
struct WriteManifest {
  std::shared_ptr<const JobPlan> plan;
  std::string directory;
  uint64_t cut = 0;
  std::vector<Clock> clocks;  // By rank.
  std::vector<CutPart> parts;
  JobView view;  // With the epochs that are in it.
};

// Removes all checkpoints but the last `keep`, and the files that none of those
// names. Reply: none in it.
struct PruneCheckpoints {
  std::string directory;
  uint32_t keep = 1;
  std::string newest;  // The manifest that was written last.
};

// Without a reply -------------------------------------------------------------

// Gives up an order: ends a call, stops IO, removes what it has written. Its
// reply, if there is one, is ignored.
struct Abandon {
  OrderId order = 0;
};

// Answers a rank that waits at an epoch's end.
struct AnswerEpoch {
  uint64_t waiter = 0;
  absl::Status status;
  bool stop = false;
};

// Answers a person who waits for a checkpoint or a pause.
struct AnswerPerson {
  uint64_t waiter = 0;
  absl::Status status;
};

// Appends to the job's log.
struct LogLine {
  absl::Time time;
  std::string text;
};

// Writes the record of a job that has ended without a model, as well as it can.
struct WriteRecord {
  std::string path;
  JobView view;
};

struct RemoveFiles {
  std::vector<std::string> files;
};

// The job is not known any more: frees what the shell keeps for it.
struct ForgetJob {};

// For the log of the process; belongs to no job.
struct NoteLostNode {
  Node node;
  std::string what;  // "died (no heartbeat for 5s)".
};

using OrderBody =
    std::variant<ScanPiece, RunRanks, StopJob, UpdatePlacements,
                 AssignPartitions, ConfigureReplicas, RecruitReplica, HandOver,
                 BeginCut, TakeCut, WriteCut, DropCut, ReadLedger, DropJob,
                 ResolveFiles, LoadInitModel, MergeScores, ExportModel,
                 PublishModel, WriteManifest, PruneCheckpoints, Abandon,
                 AnswerEpoch, AnswerPerson, LogLine, WriteRecord, RemoveFiles,
                 ForgetJob, NoteLostNode>;

struct Order {
  OrderId id = 0;
  JobRef job;
  // To whom; names the incarnation. Unset: the shell.
  std::optional<Node> to;
  OrderBody body;
};

using Orders = std::vector<Order>;

// Replies ---------------------------------------------------------------------

struct ResolvedFile {
  InputFile file;
  bool splittable = false;  // Can be read from the middle: not compressed.
};

struct ResolvedFiles {
  std::vector<ResolvedFile> train;
  std::vector<ResolvedFile> validation;
  std::optional<ModelMetadata> init;  // Of the model that the job starts from.
  std::vector<std::string> warnings;
};

// Whose confirmation it is: one of another life is not taken.
struct Placed {
  uint64_t incarnation = 0;
  uint64_t generation = 0;
};

struct Configured {
  uint64_t incarnation = 0;
  uint64_t generation = 0;
  std::vector<ReplicaState> replicas;  // In the order of the pieces.
};

struct Recruited {
  uint64_t epoch = 0;
  uint64_t recruit = 0;  // Its incarnation.
};

struct HandedOver {
  LogPosition last;
};

struct CutClocks {
  std::vector<Clock> clocks;  // By rank.
};

struct CutWritten {
  std::vector<CutPart> parts;
};

struct ManifestWritten {
  std::string manifest;  // File name.
};

// What a rank told the ledger with an entry.
struct LedgerEntry {
  Clock clock;               // Of the entry.
  std::vector<double> sums;  // MetricSums since the epoch's start.
};

struct RankReading {
  Clock clock;  // The entry expected next.
  std::optional<LedgerEntry> latest;
  std::vector<LedgerEntry> epoch_ends;  // From ReadLedger::from_epoch on.
};

struct LedgerReading {
  uint64_t generation = 0;
  std::vector<RankReading> ranks;  // [spec.ranks].
  std::string failure;             // Why a partition cannot go on; "" if none.
  uint64_t skipped_rows = 0;
};

struct MergedScores {
  std::optional<double> auc;
};

struct Exported {
  uint64_t rows = 0;
};

struct Published {
  std::string digest;
  std::string warning;  // What went wrong beside the model; "" if nothing.
};

using ReplyBody =
    std::variant<std::monostate, ResolvedFiles, DatasetFacts, Placed,
                 Configured, Recruited, HandedOver, CutClocks, CutWritten,
                 ManifestWritten, LedgerReading, MergedScores, Exported,
                 Published>;

struct Reply {
  OrderId order = 0;
  absl::Status status;
  ReplyBody body;  // Meaningful if the status is OK.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_ORDER_H_
