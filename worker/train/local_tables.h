// A job's tables in the memory of this process.
#ifndef SERAPH_WORKER_TRAIN_LOCAL_TABLES_H_
#define SERAPH_WORKER_TRAIN_LOCAL_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/concurrent/mutex.h"
#include "common/table/table_spec.h"
#include "worker/client/step.h"

namespace seraph {

// What training on servers is measured against: the same steps, done at once
// and in place, as by a program that is a single process. An entry is applied
// as in asp, and nothing is remembered of it.
//
// Threads: every method may be called from any thread; steps of several are
// mixed row by row, as those of ranks are.
class LocalTables {
 public:
  // Errors: Unimplemented for anything but sgd and adagrad at a constant rate,
  // without clipping, l1 and l2, on tables of width 1 that start at 0.
  static absl::StatusOr<std::unique_ptr<LocalTables>> Make(
      std::vector<TableSpec> tables);

  // Applies the entry, then reads the rows, of a key that is not there as 0.
  FinishedStep Take(const Step& step);

 private:
  // Neighbouring keys share a lock: a batch's keys ascend, so that it is taken
  // once for all that lie under it.
  static constexpr int kKeysByLock = 12;  // Bits.
  static constexpr size_t kStripes = 64;

  struct Row {
    float weight = 0;
    float squares = 0;  // adagrad's slot.
  };
  using Rows = absl::flat_hash_map<Key, Row>;
  struct Stripe {
    Mutex mu;
    Rows rows ABSL_GUARDED_BY(mu);
  };
  struct Table {
    TableSpec spec;
    std::vector<Stripe> stripes = std::vector<Stripe>(kStripes);
  };

  explicit LocalTables(std::vector<TableSpec> tables);

  // Calls `visit(rows, begin, end)`, with their lock held, for each run of keys
  // under one lock. What it looks for is on its way from memory then.
  template <typename Visit>
  static void ForEachRun(Table* table, absl::Span<const Key> keys, Visit visit);
  static void Apply(const TablePush& push, Table* table);
  static void Read(absl::Span<const Key> keys, Table* table, FloatBuffer* rows);

  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_LOCAL_TABLES_H_
