#include "worker/train/local_tables.h"

#include <cmath>
#include <utility>

#include "absl/memory/memory.h"

namespace seraph {
namespace {

// Rows that are asked of memory at once.
constexpr size_t kAhead = 128;

bool CanBeLocal(const TableSpec& spec) {
  const OptimizerSpec& optimizer = spec.optimizer;
  return (optimizer.kind == OptimizerKind::kSgd ||
          optimizer.kind == OptimizerKind::kAdagrad) &&
         optimizer.l1 == 0 && optimizer.l2 == 0 && optimizer.clip_value == 0 &&
         spec.schedule.kind == ScheduleKind::kConstant &&
         spec.schedule.warmup_steps == 0 &&
         spec.initializer.kind == InitializerKind::kZero && spec.width == 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalTables>> LocalTables::Make(
    std::vector<TableSpec> tables) {
  for (const TableSpec& spec : tables) {
    if (!CanBeLocal(spec)) {
      return absl::UnimplementedError(
          "local tables know sgd and adagrad at a constant rate, without "
          "clipping, l1 and l2, of one value, from 0");
    }
  }
  return absl::WrapUnique(new LocalTables(std::move(tables)));
}

LocalTables::LocalTables(std::vector<TableSpec> tables) {
  for (TableSpec& spec : tables) {
    tables_.push_back(std::make_unique<Table>());
    tables_.back()->spec = std::move(spec);
  }
}

FinishedStep LocalTables::Take(const Step& step) {
  FinishedStep finished;
  if (step.entry.has_value()) {
    for (size_t t = 0; t < step.entry->tables.size(); ++t) {
      Apply(step.entry->tables[t], tables_[t].get());
    }
  }
  if (step.pull.has_value()) {
    finished.rows.resize(tables_.size());
    for (size_t t = 0; t < tables_.size(); ++t) {
      Read(step.pull->keys[t], tables_[t].get(), &finished.rows[t]);
    }
  }
  return finished;
}

template <typename Visit>
void LocalTables::ForEachRun(Table* table, absl::Span<const Key> keys,
                             Visit visit) {
  for (size_t begin = 0; begin < keys.size();) {
    const Key block = keys[begin] >> kKeysByLock;
    Stripe& stripe = table->stripes[block % kStripes];
    MutexLock lock(&stripe.mu);
    size_t end = begin;
    while (end < keys.size() && end - begin < kAhead &&
           keys[end] >> kKeysByLock == block) {
      stripe.rows.prefetch(keys[end]);
      ++end;
    }
    visit(&stripe.rows, begin, end);
    begin = end;
  }
}

void LocalTables::Apply(const TablePush& push, Table* table) {
  const OptimizerSpec& optimizer = table->spec.optimizer;
  const bool adagrad = optimizer.kind == OptimizerKind::kAdagrad;
  ForEachRun(table, push.keys, [&](Rows* rows, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      Row& row = (*rows)[push.keys[i]];
      // In double, rounded once, as the servers do (server/update).
      const double g = push.values[i];
      double rate = optimizer.learning_rate;
      if (adagrad) {
        const double squares = double(row.squares) + g * g;
        const double scale = std::sqrt(squares) + optimizer.epsilon;
        rate = scale > 0 ? rate / scale : 0.0;
        row.squares = static_cast<float>(squares);
      }
      row.weight = static_cast<float>(double(row.weight) - rate * g);
    }
  });
}

void LocalTables::Read(absl::Span<const Key> keys, Table* table,
                       FloatBuffer* rows) {
  rows->assign(keys.size(), 0.0f);
  ForEachRun(table, keys, [&](Rows* there, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto row = there->find(keys[i]);
      if (row != there->end()) (*rows)[i] = row->second.weight;
    }
  });
}

}  // namespace seraph
