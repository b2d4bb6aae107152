// What a table is: its shape, its initial values, its optimizer.
//
// Plain data that the job's specification gives and every part of the cluster
// shares. protos: proto/types.proto has the same fields.
#ifndef SERAPH_COMMON_TABLE_TABLE_SPEC_H_
#define SERAPH_COMMON_TABLE_TABLE_SPEC_H_

#include <cstdint>
#include <string>

#include "common/table/value_kind.h"

namespace seraph {

enum class OptimizerKind {
  kSgd,
  kMomentum,
  kNesterov,
  kAdagrad,
  kRmsprop,
  kAdadelta,
  kAdam,
  kAdamw,
  kFtrl,
  kSum,
  kAssign,
};

// The learning rate's factor over time, a function of the entry's clock.
enum class ScheduleKind {
  kConstant,           // 1
  kInverseSquareRoot,  // 1 / sqrt(1 + t / decay_steps)
  kExponential,        // decay_rate ^ (t / decay_steps)
  kStep,               // decay_rate ^ floor(t / decay_steps)
  kCosine,             // from 1 to min_factor along half a cosine, total_steps
};

// t counts clocks since the job's start: epoch * steps_per_epoch + step.
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::kConstant;
  double decay_rate = 0.5;    // (0, 1].
  uint64_t decay_steps = 0;   // Clocks; 0: one epoch.
  uint64_t total_steps = 0;   // Clocks, for cosine; 0: the whole job.
  double min_factor = 0.0;    // [0, 1], for cosine.
  uint64_t warmup_steps = 0;  // Clocks of a linear rise from 0 in front of any.

  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

// The names of algorithms.md; each kind uses some of them.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  double learning_rate = 0.1;  // eta, > 0.
  double momentum = 0.9;       // mu, [0, 1).
  double rho = 0.9;            // [0, 1).
  double epsilon = 1e-8;       // >= 0.
  double beta1 = 0.9;          // [0, 1).
  double beta2 = 0.999;        // [0, 1).
  double weight_decay = 0.01;  // lambda of adamw, >= 0.
  double alpha = 0.1;          // ftrl, > 0.
  double beta = 1.0;           // ftrl, >= 0.
  double l1 = 0.0;             // >= 0.
  double l2 = 0.0;             // >= 0.
  double clip_value = 0.0;     // Each combined gradient value; 0: none.

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

enum class InitializerKind { kZero, kConstant, kUniform, kNormal };

// The value of a cell before its first update, a function of (seed, table's
// name, key, column) and of nothing else.
struct InitializerSpec {
  InitializerKind kind = InitializerKind::kZero;
  double mean = 0.0;   // constant: the value. uniform, normal: the centre.
  double scale = 0.0;  // uniform: half of the width. normal: the deviation.

  friend bool operator==(const InitializerSpec&,
                         const InitializerSpec&) = default;
};

enum class TableKind { kDense, kSparse };

struct TableSpec {
  std::string name;
  TableKind kind = TableKind::kSparse;
  uint64_t keys = 0;        // dense: keys are [0, keys). sparse: unused.
  uint32_t width = 1;       // float32 values per key, >= 1.
  bool scramble = false;    // sparse: ranges are over Scramble(key).
  uint32_t partitions = 1;  // >= 1, at most the number of blocks.
  uint64_t seed = 1;
  // sparse: a key comes into being when it is pushed for the n-th time, 1..255;
  // until then what is pushed to it is dropped.
  uint32_t admit_after = 1;
  // sparse: at the end of an epoch the keys go that were pushed last this many
  // epochs ago or earlier; 0: none.
  uint32_t expire_after_epochs = 0;
  ValueKind transport = ValueKind::kFloat32;  // Of what ranks push and pull.
  InitializerSpec initializer;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;

  friend bool operator==(const TableSpec&, const TableSpec&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_TABLE_TABLE_SPEC_H_
