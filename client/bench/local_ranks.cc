#include "client/bench/local_ranks.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "common/dataset/dataset_facts.h"
#include "common/dataset/label_map.h"
#include "common/dataset/rank_plan.h"
#include "common/dataset/resolve_dataset.h"
#include "common/job/job_tables.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"
#include "worker/data/block_source.h"
#include "worker/data/scan.h"
#include "worker/data/spool.h"
#include "worker/model/model.h"
#include "worker/service/job_rules.h"
#include "worker/train/data_streams.h"

namespace seraph {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// One rank and what it reads and computes with.
struct LocalRank {
  std::unique_ptr<Model> model;
  std::unique_ptr<DataStream> train;
  std::unique_ptr<DataStream> validation;
  std::unique_ptr<RankMachine> machine;
};

LocalRank MakeRank(const JobSpec& spec, uint32_t rank, BlockSource* source) {
  const EpochStreamOptions stream{.part = RecordPart::kTrain,
                                  .seed = spec.seed,
                                  .ranks = spec.ranks,
                                  .rank = rank,
                                  .shuffle = spec.train.shuffle};
  EpochStreamOptions share = stream;
  share.shuffle = false;
  share.part = RecordPart::kValidation;
  LocalRank made{.model = MakeModel(spec.model),
                 .train = std::make_unique<DataStream>(source, stream),
                 .validation = std::make_unique<DataStream>(source, share)};
  const RankOptions options{.rank = rank,
                            .epochs = spec.train.epochs,
                            .batch_size = spec.train.batch_size,
                            .epoch_barrier = true,
                            .needs_auc = true};  // As the job's ranks do.
  made.machine = std::make_unique<RankMachine>(
      options, made.model.get(), made.train.get(), made.validation.get(),
      MonotonicClock::Real());
  return made;
}

}  // namespace

absl::StatusOr<std::vector<LocalEpoch>> RunRanksLocally(
    const JobFile& job, const std::string& folder) {
  const JobSpec& spec = job.parsed.spec;
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Spool> spool,
                          Spool::Create(folder));
  SERAPH_ASSIGN_OR_RETURN(
      const std::vector<InputFile> files,
      ResolveDataset(job.base_directory, spec.data.train, spec.data.format,
                     spec.data.options.labels));
  uint64_t bytes = 0;
  for (const InputFile& file : files) bytes += file.data.size_bytes;
  const RecordRules rules = RulesOf(spec);
  std::vector<DatasetFacts> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    SERAPH_ASSIGN_OR_RETURN(
        DatasetFacts part,
        ScanPart({.file = files[i],
                  .file_index = static_cast<uint32_t>(i),
                  .block_bytes = BlockBytes(bytes, spec.ranks,
                                            spec.data.options.block_bytes)},
                 rules, spool.get()));
    parts.push_back(std::move(part));
  }
  SERAPH_ASSIGN_OR_RETURN(const DatasetFacts facts,
                          MergeFacts(files, std::move(parts)));
  const DatasetFacts* const all[] = {&facts};
  SERAPH_ASSIGN_OR_RETURN(const LabelMap labels,
                          DecideLabels(TaskOf(spec.model.kind), 0, all));
  SERAPH_ASSIGN_OR_RETURN(std::vector<TableSpec> specs,
                          JobTables(spec, std::nullopt, 1));
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<LocalTables> tables,
                          LocalTables::Make(std::move(specs)));
  BlockSource source(facts, rules, labels, kNoLimit, spool.get());
  std::vector<LocalRank> ranks;
  std::vector<RankMachine*> machines;
  for (uint32_t rank = 0; rank < spec.ranks; ++rank) {
    ranks.push_back(MakeRank(spec, rank, &source));
    machines.push_back(ranks.back().machine.get());
  }
  return TrainOnLocalTables(machines, tables.get());
}

}  // namespace seraph
