// What a job trains: the model's kind, its shape, and the tables that hold it.
//
// Plain data that the job's specification gives. The scheduler creates the
// tables from it, the workers compute with it (worker/model/model.h).
#ifndef SERAPH_COMMON_MODEL_MODEL_SPEC_H_
#define SERAPH_COMMON_MODEL_MODEL_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/table/table_spec.h"

namespace seraph {

enum class ModelKind {
  kLinearRegression,    // loss: squared, huber
  kLogisticRegression,  // loss: log
  kSvm,                 // loss: hinge, squared_hinge
  kSoftmax,             // loss: cross_entropy
};

enum class LossKind {
  kSquared,
  kHuber,
  kLog,
  kHinge,
  kSquaredHinge,
  kCrossEntropy,
};

// Whether there is a bias, and whether l1, l2 and weight decay act on it.
enum class BiasKind {
  kFree,         // A bias without l1, l2 and decay.
  kRegularized,  // A bias like any other weight, of a feature of value 1.
  kNone,
};

// What a model's labels are.
enum class TaskKind {
  kRegression,  // Any finite number.
  kBinary,      // 0 and 1.
  kMulticlass,  // 0 .. classes - 1.
};

struct ModelSpec {
  ModelKind kind = ModelKind::kLogisticRegression;

  // Features; keys are [0, keys) in dense tables. Unset: sparse tables, whose
  // keys may be all of uint64. >= 1.
  std::optional<uint64_t> keys;

  BiasKind bias = BiasKind::kFree;

  // softmax alone; >= 2. Unset: the pass over the data before clock 0 finds it
  // and stores it here.
  std::optional<uint32_t> classes;

  std::optional<LossKind> loss;  // Unset: the first of the kind's losses.
  double huber_delta = 1.0;      // Of the huber loss; > 0, finite.

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// The parts of a TableSpec that the model decides.
struct ModelTable {
  std::string name;
  // The rows are added to the score as they are. With BiasKind::kFree their
  // optimizer has l1 = l2 = weight_decay = 0.
  bool is_bias = false;
  TableKind kind = TableKind::kSparse;
  uint64_t keys = 0;   // dense: keys are [0, keys). sparse: 0.
  uint32_t width = 1;  // float32 values per key.
  InitializerSpec initializer;

  friend bool operator==(const ModelTable&, const ModelTable&) = default;
};

// The loss that `spec` names, or the kind's default.
LossKind LossOf(const ModelSpec& spec);

TaskKind TaskOf(ModelKind kind);

// One InvalidArgument that names every bad field, or OK. Missing classes of a
// softmax are no error here.
absl::Status ValidateModelSpec(const ModelSpec& spec);

// The tables of a model, ascending by name: the order of the digest, of the
// clip norm and of every "table" index in worker/model. Linear models have
// "bias" (dense, one key; not with BiasKind::kNone) and "weights" (dense
// `keys`, or sparse), of width 1 or, for softmax, `classes`; all start at 0.
//
// Requires: ValidateModelSpec(spec) is OK, and softmax has its classes.
std::vector<ModelTable> ModelTables(const ModelSpec& spec);

// The names that job files use: "logistic_regression", "squared_hinge",
// "regularized". Parsing an unknown name gives nullopt.
absl::string_view ModelKindName(ModelKind kind);
absl::string_view LossKindName(LossKind kind);
absl::string_view BiasKindName(BiasKind kind);
std::optional<ModelKind> ParseModelKind(absl::string_view name);
std::optional<LossKind> ParseLossKind(absl::string_view name);
std::optional<BiasKind> ParseBiasKind(absl::string_view name);

// All names, in the order of the enumerations, for messages and near misses.
std::vector<absl::string_view> ModelKindNames();

// The losses a kind may have; the first is its default.
std::vector<LossKind> LossesOf(ModelKind kind);

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_MODEL_SPEC_H_
