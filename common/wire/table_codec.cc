#include "common/wire/table_codec.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/wire/enum_names.h"
#include "common/wire/value_encoding.h"

namespace seraph {
namespace {

constexpr EnumNames<OptimizerKind, 11> kOptimizers = {{
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

constexpr EnumNames<ScheduleKind, 5> kSchedules = {{
    {ScheduleKind::kConstant, "constant"},
    {ScheduleKind::kInverseSquareRoot, "inverse_square_root"},
    {ScheduleKind::kExponential, "exponential"},
    {ScheduleKind::kStep, "step"},
    {ScheduleKind::kCosine, "cosine"},
}};

constexpr EnumNames<InitializerKind, 4> kInitializers = {{
    {InitializerKind::kZero, "zero"},
    {InitializerKind::kConstant, "constant"},
    {InitializerKind::kUniform, "uniform"},
    {InitializerKind::kNormal, "normal"},
}};

constexpr EnumNames<SyncMode, 3> kModes = {{
    {SyncMode::kBsp, "bsp"},
    {SyncMode::kSsp, "ssp"},
    {SyncMode::kAsp, "asp"},
}};

constexpr EnumNames<Combine, 2> kCombines = {{
    {Combine::kMean, "mean"},
    {Combine::kSum, "sum"},
}};

void SetName(absl::string_view name, std::string* field) {
  field->assign(name.data(), name.size());
}

}  // namespace

void ToProto(const OptimizerSpec& spec, v1::OptimizerSpec* message) {
  SetName(NameOf(kOptimizers, spec.kind), message->mutable_kind());
  message->set_learning_rate(spec.learning_rate);
  message->set_momentum(spec.momentum);
  message->set_rho(spec.rho);
  message->set_epsilon(spec.epsilon);
  message->set_beta1(spec.beta1);
  message->set_beta2(spec.beta2);
  message->set_weight_decay(spec.weight_decay);
  message->set_alpha(spec.alpha);
  message->set_beta(spec.beta);
  message->set_l1(spec.l1);
  message->set_l2(spec.l2);
  message->set_clip_value(spec.clip_value);
}

absl::StatusOr<OptimizerSpec> FromProto(const v1::OptimizerSpec& message) {
  OptimizerSpec spec;
  SERAPH_ASSIGN_OR_RETURN(
      spec.kind, EnumOf(kOptimizers, "optimizer.kind", message.kind()));
  spec.learning_rate = message.learning_rate();
  spec.momentum = message.momentum();
  spec.rho = message.rho();
  spec.epsilon = message.epsilon();
  spec.beta1 = message.beta1();
  spec.beta2 = message.beta2();
  spec.weight_decay = message.weight_decay();
  spec.alpha = message.alpha();
  spec.beta = message.beta();
  spec.l1 = message.l1();
  spec.l2 = message.l2();
  spec.clip_value = message.clip_value();
  return spec;
}

void ToProto(const ScheduleSpec& spec, v1::ScheduleSpec* message) {
  SetName(NameOf(kSchedules, spec.kind), message->mutable_kind());
  message->set_decay_rate(spec.decay_rate);
  message->set_decay_steps(spec.decay_steps);
  message->set_total_steps(spec.total_steps);
  message->set_min_factor(spec.min_factor);
  message->set_warmup_steps(spec.warmup_steps);
}

absl::StatusOr<ScheduleSpec> FromProto(const v1::ScheduleSpec& message) {
  ScheduleSpec spec;
  SERAPH_ASSIGN_OR_RETURN(spec.kind,
                          EnumOf(kSchedules, "schedule.kind", message.kind()));
  spec.decay_rate = message.decay_rate();
  spec.decay_steps = message.decay_steps();
  spec.total_steps = message.total_steps();
  spec.min_factor = message.min_factor();
  spec.warmup_steps = message.warmup_steps();
  return spec;
}

void ToProto(const InitializerSpec& spec, v1::InitializerSpec* message) {
  SetName(NameOf(kInitializers, spec.kind), message->mutable_kind());
  message->set_mean(spec.mean);
  message->set_scale(spec.scale);
}

absl::StatusOr<InitializerSpec> FromProto(const v1::InitializerSpec& message) {
  InitializerSpec spec;
  SERAPH_ASSIGN_OR_RETURN(
      spec.kind, EnumOf(kInitializers, "initializer.kind", message.kind()));
  spec.mean = message.mean();
  spec.scale = message.scale();
  return spec;
}

void ToProto(const TableSpec& spec, v1::TableSpec* message) {
  message->set_name(spec.name);
  message->set_sparse(spec.kind == TableKind::kSparse);
  message->set_keys(spec.keys);
  message->set_width(spec.width);
  message->set_scramble(spec.scramble);
  message->set_partitions(spec.partitions);
  message->set_seed(spec.seed);
  message->set_admit_after(spec.admit_after);
  message->set_expire_after_epochs(spec.expire_after_epochs);
  message->set_transport(EncodingOf(spec.transport));
  ToProto(spec.initializer, message->mutable_initializer());
  ToProto(spec.optimizer, message->mutable_optimizer());
  ToProto(spec.schedule, message->mutable_schedule());
}

absl::StatusOr<TableSpec> FromProto(const v1::TableSpec& message) {
  TableSpec spec;
  spec.name = message.name();
  spec.kind = message.sparse() ? TableKind::kSparse : TableKind::kDense;
  spec.keys = message.keys();
  spec.width = message.width();
  spec.scramble = message.scramble();
  spec.partitions = message.partitions();
  spec.seed = message.seed();
  // Daemons of an earlier version know of no other than 1.
  spec.admit_after = std::max<uint32_t>(1, message.admit_after());
  spec.expire_after_epochs = message.expire_after_epochs();
  const std::optional<ValueKind> transport = KindOf(message.transport());
  if (!transport.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "table '", spec.name, "': unknown transport ", message.transport()));
  }
  spec.transport = *transport;
  SERAPH_ASSIGN_OR_RETURN(spec.initializer, FromProto(message.initializer()));
  SERAPH_ASSIGN_OR_RETURN(spec.optimizer, FromProto(message.optimizer()));
  SERAPH_ASSIGN_OR_RETURN(spec.schedule, FromProto(message.schedule()));
  return spec;
}

void ToProto(const SyncSpec& spec, v1::SyncSpec* message) {
  SetName(NameOf(kModes, spec.mode), message->mutable_mode());
  message->set_staleness(spec.staleness);
  SetName(NameOf(kCombines, spec.combine), message->mutable_combine());
  message->set_pipeline(spec.pipeline);
}

absl::StatusOr<SyncSpec> FromProto(const v1::SyncSpec& message) {
  SyncSpec spec;
  SERAPH_ASSIGN_OR_RETURN(spec.mode,
                          EnumOf(kModes, "sync.mode", message.mode()));
  spec.staleness = message.staleness();
  SERAPH_ASSIGN_OR_RETURN(spec.combine,
                          EnumOf(kCombines, "sync.combine", message.combine()));
  spec.pipeline = message.pipeline();
  return spec;
}

}  // namespace seraph
