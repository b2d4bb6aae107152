#include "tests/sim/sample_job.h"

#include <algorithm>
#include <set>
#include <vector>

#include "common/base/draw.h"
#include "common/table/partitioning.h"

namespace seraph::testing {
namespace {

constexpr uint64_t kDataSeed = 11;

// Ranks of unequal length with sparse records over few, skewed keys; the
// third rank has a single record.
std::vector<Batch> MakeData(uint32_t ranks, uint64_t keys, int classes) {
  std::vector<Batch> data(ranks);
  uint64_t draws = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const uint64_t records =
        rank == 2 ? 1 : 11 + ToBelow(Draw(kDataSeed, {draws++}), 9);
    for (uint64_t i = 0; i < records; ++i) {
      std::set<Key> row;
      while (row.size() < 5) {
        const double u = ToUnit(Draw(kDataSeed, {draws++}));
        row.insert(static_cast<Key>(u * u * static_cast<double>(keys)));
      }
      for (Key key : row) {
        data[rank].keys.push_back(key);
        data[rank].values.push_back(
            static_cast<float>(ToUnit(Draw(kDataSeed, {draws++})) - 0.3));
      }
      data[rank].row_starts.push_back(data[rank].keys.size());
      data[rank].labels.push_back(ToBelow(Draw(kDataSeed, {draws++}), classes));
    }
  }
  return data;
}

}  // namespace

SimJob MakeJob(OptimizerKind kind, TableKind table_kind, uint32_t partitions,
               bool scramble) {
  constexpr uint64_t kKeys = 200;
  SimJob job;
  job.model.kind = ModelKind::kSoftmax;
  job.model.classes = 3;
  if (table_kind == TableKind::kDense) job.model.keys = kKeys;
  job.data = MakeData(/*ranks=*/5, kKeys, /*classes=*/3);
  for (const ModelTable& wanted : ModelTables(job.model)) {
    TableSpec table;
    table.name = wanted.name;
    table.kind = wanted.kind;
    table.keys = wanted.keys;
    table.width = wanted.width;
    table.optimizer.kind = kind;
    table.optimizer.l1 = kind == OptimizerKind::kSgd ? 0.001 : 0.0;
    table.optimizer.l2 = kind == OptimizerKind::kSgd ? 0.01 : 0.0;
    table.schedule.kind = ScheduleKind::kInverseSquareRoot;
    table.scramble = scramble && wanted.kind == TableKind::kSparse;
    table.partitions = std::min(partitions, Partitioning(table).blocks());
    job.tables.push_back(table);
  }
  return job;
}

}  // namespace seraph::testing
