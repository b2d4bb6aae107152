#include "tests/sim/cluster_job.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/draw.h"
#include "common/job/job_tables.h"

namespace seraph::testing {
namespace {

constexpr uint64_t kDataSeed = 23;
constexpr uint64_t kKeys = 40;
constexpr int kClasses = 3;

// Sparse records over few, skewed keys; the last fifth of them is nobody's.
Batch MakeRecords(uint64_t part, uint64_t rank, uint64_t records) {
  Batch data;
  uint64_t draws = 0;
  const auto draw = [&] { return Draw(kDataSeed, {part, rank, draws++}); };
  for (uint64_t i = 0; i < records; ++i) {
    std::set<Key> row;
    while (row.size() < 3) {
      const double u = ToUnit(draw());
      row.insert(static_cast<Key>(u * u * kKeys * 4 / 5));
    }
    for (Key key : row) {
      data.keys.push_back(key);
      data.values.push_back(static_cast<float>(ToUnit(draw()) - 0.3));
    }
    data.row_starts.push_back(data.keys.size());
    data.labels.push_back(ToBelow(draw(), kClasses));
  }
  return data;
}

ResolvedFile FileOf(const std::string& path) {
  ResolvedFile file;
  file.file.data = {path, 1000, 1};
  file.splittable = true;
  return file;
}

}  // namespace

ClusterJob ChooseJob(SimLoop* loop) {
  ClusterJob job;
  JobSpec& spec = job.spec;
  spec.name = "sim";
  spec.model.kind = ModelKind::kSoftmax;
  spec.data.train = {"train"};
  spec.train.shuffle = false;
  spec.train.epochs = 1 + loop->Below(3);
  spec.ranks = 2 + loop->Below(4);

  const int mode = loop->Below(3);
  spec.sync.mode = mode == 0   ? SyncMode::kBsp
                   : mode == 1 ? SyncMode::kSsp
                               : SyncMode::kAsp;
  if (mode == 1) spec.sync.staleness = loop->Below(3);
  if (mode != 0) spec.sync.pipeline = loop->Below(2) * loop->Below(3);
  job.is_witness = mode != 0 || loop->Happens(0.5);

  const bool dense = loop->Happens(0.5);
  if (dense) spec.model.keys = job.is_witness ? 20 : kKeys;
  if (loop->Happens(0.2)) spec.model.bias = BiasKind::kNone;
  spec.tables.partitions = 1 + loop->Below(4);
  spec.tables.scramble = !dense && loop->Happens(0.3);
  spec.tables.replicas = 1 + loop->Below(3);
  if (spec.tables.replicas > 1 && loop->Happens(0.15)) {
    spec.tables.min_in_sync = 2;
  }

  // Epochs' ends.
  const bool validates = loop->Happens(0.4);
  if (validates) {
    spec.data.validation = {"validation"};
    if (loop->Happens(0.5)) {
      spec.train.stop =
          StopSpec{"log_loss", 1 + static_cast<uint32_t>(loop->Below(2))};
      spec.train.epochs = 3;
    }
  }
  if (loop->Happens(0.6)) {
    spec.checkpoint.emplace();
    spec.checkpoint->directory = "/checkpoints";
    spec.checkpoint->every_epochs = loop->Below(3);
    spec.checkpoint->every_clocks = loop->Happens(0.6) ? 2 + loop->Below(4) : 0;
    if (spec.checkpoint->every_epochs == 0 &&
        spec.checkpoint->every_clocks == 0) {
      spec.checkpoint->every_epochs = 1;
    }
    spec.checkpoint->keep = 1 + loop->Below(3);
  }

  if (job.is_witness) {
    spec.train.batch_size = 1;
    spec.train.optimizer = DefaultOptimizer(OptimizerKind::kSum);
    spec.sync.combine = Combine::kSum;
    WitnessJob& witness = job.witness;
    witness.seed = loop->Number();
    witness.sync.spec = spec.sync;
    witness.sync.epoch_barrier =
        mode == 2 && (validates || spec.checkpoint.has_value());
    witness.epochs = spec.train.epochs;
    witness.fickle = mode != 0 && loop->Happens(0.7);
    for (uint32_t r = 0; r < spec.ranks; ++r) {
      witness.steps.push_back(1 + loop->Below(r == 0 ? 8 : 5));
    }
    spec.model.classes = std::max(2u, witness.width());
  } else {
    spec.train.batch_size = 3;
    constexpr OptimizerKind kKinds[] = {
        OptimizerKind::kAdagrad, OptimizerKind::kAdam, OptimizerKind::kSgd};
    const OptimizerKind kind = kKinds[loop->Below(3)];
    spec.train.optimizer = DefaultOptimizer(kind);
    if (loop->Happens(0.3)) spec.train.clip_norm = 0.1;
    if (loop->Happens(0.3)) {
      spec.train.schedule.kind = ScheduleKind::kCosine;
      spec.train.schedule.warmup_steps = 2;
    }
    if (loop->Happens(0.3)) spec.sync.combine = Combine::kSum;
    if (kind == OptimizerKind::kSgd) {  // Lazy terms.
      spec.train.optimizer.l2 = 0.01;
      spec.train.optimizer.l1 = 0.001;
    }
    spec.model.classes = kClasses;
    for (uint32_t r = 0; r < spec.ranks; ++r) {
      job.train.push_back(MakeRecords(1, r, r == 2 ? 1 : 5 + 4 * (r % 3)));
      if (validates) job.validation.push_back(MakeRecords(2, r, 1 + r % 2));
    }
  }
  // As it comes out of a job file: stored and read again it is the same.
  spec.model.loss = LossOf(spec.model);
  spec = *ParseJobSpec(ToYaml(spec), "sim.yaml", {});
  auto tables = JobTables(spec, spec.model.classes, 1);
  job.tables = *std::move(tables);
  job.witness.tables = job.tables;

  job.files.train = {FileOf("/train")};
  if (validates) job.files.validation = {FileOf("/validation")};
  job.key = absl::StrCat(
      spec.ranks, " ", spec.train.epochs, " ", dense, " ",
      static_cast<int>(spec.model.bias), " ",
      static_cast<int>(spec.train.optimizer.kind), " ", validates, " ",
      spec.train.stop.value_or(StopSpec{"", 0}).patience, " ",
      spec.train.clip_norm, " ", static_cast<int>(spec.train.schedule.kind),
      " ", static_cast<int>(spec.sync.combine));
  return job;
}

uint64_t ClusterJob::train_records() const {
  uint64_t sum = 0;
  for (uint32_t steps : witness.steps) sum += steps;
  for (const Batch& batch : train) sum += batch.size();
  return sum;
}

DatasetFacts ClusterJob::Scanned(bool of_validation,
                                 uint32_t file_index) const {
  DatasetFacts facts;
  facts.blocks = {{.file = file_index, .begin = 0, .end = 1000}};
  facts.blocks[0].train_records = of_validation ? 10 : train_records();
  for (int label = 0; label < 2; ++label) {
    SeenLabel seen;
    seen.value = label;
    seen.file = file_index;
    seen.line = label + 1;
    facts.labels.push_back(seen);
  }
  facts.has_keys = true;
  facts.max_key = 9;
  facts.nonzeros = 30;
  facts.lines = facts.blocks[0].train_records;
  return facts;
}

std::string ClusterJob::ToString() const {
  const TableSpec& weights = tables.back();
  return absl::StrCat(
      SyncModeName(spec.sync.mode), " ", spec.sync.staleness, ", pipeline ",
      spec.sync.pipeline, ", ", is_witness ? "witness" : "model", ", ",
      spec.ranks, " ranks, ", spec.train.epochs, " epochs, ",
      weights.kind == TableKind::kDense ? "dense" : "sparse", ", ",
      weights.partitions, " partitions, ", spec.tables.replicas, " replicas",
      spec.tables.min_in_sync > 1 ? ", min_in_sync 2" : "",
      spec.data.validation.empty() ? "" : ", validation",
      spec.train.stop.has_value() ? ", stop" : "",
      spec.checkpoint.has_value()
          ? absl::StrCat(", checkpoints (", spec.checkpoint->every_epochs,
                         " epochs, ", spec.checkpoint->every_clocks, " clocks)")
          : "",
      is_witness ? absl::StrCat(", steps ", absl::StrJoin(witness.steps, " "))
                 : "");
}

}  // namespace seraph::testing
