#include "common/checkpoint/table_json.h"

#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

template <typename E, size_t n>
using Names = std::array<std::pair<E, const char*>, n>;

// They are on people's disks: a name may be added, none may change.
constexpr Names<OptimizerKind, 11> kOptimizers = {{
    {OptimizerKind::kSgd, "sgd"},
    {OptimizerKind::kMomentum, "momentum"},
    {OptimizerKind::kNesterov, "nesterov"},
    {OptimizerKind::kAdagrad, "adagrad"},
    {OptimizerKind::kRmsprop, "rmsprop"},
    {OptimizerKind::kAdadelta, "adadelta"},
    {OptimizerKind::kAdam, "adam"},
    {OptimizerKind::kAdamw, "adamw"},
    {OptimizerKind::kFtrl, "ftrl"},
    {OptimizerKind::kSum, "sum"},
    {OptimizerKind::kAssign, "assign"},
}};
constexpr Names<ScheduleKind, 5> kSchedules = {{
    {ScheduleKind::kConstant, "constant"},
    {ScheduleKind::kInverseSquareRoot, "inverse_sqrt"},
    {ScheduleKind::kExponential, "exponential"},
    {ScheduleKind::kStep, "step"},
    {ScheduleKind::kCosine, "cosine"},
}};
constexpr Names<InitializerKind, 4> kInitializers = {{
    {InitializerKind::kZero, "zero"},
    {InitializerKind::kConstant, "constant"},
    {InitializerKind::kUniform, "uniform"},
    {InitializerKind::kNormal, "normal"},
}};
constexpr Names<ValueKind, 4> kTransports = {{
    {ValueKind::kFloat32, "float32"},
    {ValueKind::kFloat16, "float16"},
    {ValueKind::kBfloat16, "bfloat16"},
    {ValueKind::kInt8, "int8"},
}};
constexpr Names<TableKind, 2> kTables = {{
    {TableKind::kDense, "dense"},
    {TableKind::kSparse, "sparse"},
}};

template <typename E, size_t n>
const char* NameOf(const Names<E, n>& names, E value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "";
}

template <typename E, size_t n>
void GetName(JsonFields& fields, const std::string& key,
             const Names<E, n>& names, E* to) {
  std::string name;
  fields.Get(key, &name);
  if (!fields.ok()) return;
  for (const auto& [value, known] : names) {
    if (known == name) {
      *to = value;
      return;
    }
  }
  fields.Fail(key, absl::StrCat("is '", name, "', which is not known"));
}

}  // namespace

Json TableToJson(const TableSpec& table) {
  const OptimizerSpec& optimizer = table.optimizer;
  const ScheduleSpec& schedule = table.schedule;
  return Json{{"name", table.name},
              {"kind", NameOf(kTables, table.kind)},
              {"keys", table.keys},
              {"width", table.width},
              {"scramble", table.scramble},
              {"partitions", table.partitions},
              {"seed", table.seed},
              {"admit_after", table.admit_after},
              {"expire_after_epochs", table.expire_after_epochs},
              {"transport", NameOf(kTransports, table.transport)},
              {"initializer",
               {{"kind", NameOf(kInitializers, table.initializer.kind)},
                {"mean", table.initializer.mean},
                {"scale", table.initializer.scale}}},
              {"optimizer",
               {{"kind", NameOf(kOptimizers, optimizer.kind)},
                {"learning_rate", optimizer.learning_rate},
                {"momentum", optimizer.momentum},
                {"rho", optimizer.rho},
                {"epsilon", optimizer.epsilon},
                {"beta1", optimizer.beta1},
                {"beta2", optimizer.beta2},
                {"weight_decay", optimizer.weight_decay},
                {"alpha", optimizer.alpha},
                {"beta", optimizer.beta},
                {"l1", optimizer.l1},
                {"l2", optimizer.l2},
                {"clip_value", optimizer.clip_value}}},
              {"schedule",
               {{"kind", NameOf(kSchedules, schedule.kind)},
                {"decay_rate", schedule.decay_rate},
                {"decay_steps", schedule.decay_steps},
                {"total_steps", schedule.total_steps},
                {"min_factor", schedule.min_factor},
                {"warmup_steps", schedule.warmup_steps}}}};
}

void ReadTable(JsonFields& fields, TableSpec* table) {
  fields.Get("name", &table->name);
  GetName(fields, "kind", kTables, &table->kind);
  fields.Get("keys", &table->keys);
  fields.Get("width", &table->width);
  fields.Get("scramble", &table->scramble);
  fields.Get("partitions", &table->partitions);
  fields.Get("seed", &table->seed);
  // Earlier versions did not write them.
  if (fields.Has("admit_after")) fields.Get("admit_after", &table->admit_after);
  if (fields.Has("expire_after_epochs")) {
    fields.Get("expire_after_epochs", &table->expire_after_epochs);
  }
  if (fields.Has("transport")) {
    GetName(fields, "transport", kTransports, &table->transport);
  }
  fields.Object("initializer", [&](JsonFields& of) {
    GetName(of, "kind", kInitializers, &table->initializer.kind);
    of.Get("mean", &table->initializer.mean);
    of.Get("scale", &table->initializer.scale);
  });
  fields.Object("optimizer", [&](JsonFields& of) {
    OptimizerSpec& optimizer = table->optimizer;
    GetName(of, "kind", kOptimizers, &optimizer.kind);
    of.Get("learning_rate", &optimizer.learning_rate);
    of.Get("momentum", &optimizer.momentum);
    of.Get("rho", &optimizer.rho);
    of.Get("epsilon", &optimizer.epsilon);
    of.Get("beta1", &optimizer.beta1);
    of.Get("beta2", &optimizer.beta2);
    of.Get("weight_decay", &optimizer.weight_decay);
    of.Get("alpha", &optimizer.alpha);
    of.Get("beta", &optimizer.beta);
    of.Get("l1", &optimizer.l1);
    of.Get("l2", &optimizer.l2);
    of.Get("clip_value", &optimizer.clip_value);
  });
  fields.Object("schedule", [&](JsonFields& of) {
    ScheduleSpec& schedule = table->schedule;
    GetName(of, "kind", kSchedules, &schedule.kind);
    of.Get("decay_rate", &schedule.decay_rate);
    of.Get("decay_steps", &schedule.decay_steps);
    of.Get("total_steps", &schedule.total_steps);
    of.Get("min_factor", &schedule.min_factor);
    of.Get("warmup_steps", &schedule.warmup_steps);
  });
}

}  // namespace seraph
