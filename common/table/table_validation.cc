#include "common/table/table_validation.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

constexpr double kMaxFloat = std::numeric_limits<float>::max();

// Collects what is wrong, one sentence a field. NaN fails every check.
class Findings {
 public:
  void Expect(bool holds, absl::string_view field, double value,
              absl::string_view wanted) {
    if (!holds) bad_.push_back(absl::StrCat(field, ": ", value, " ", wanted));
  }
  void Positive(absl::string_view field, double value) {
    Expect(value > 0 && std::isfinite(value), field, value,
           "is not a finite number above 0");
  }
  void NotNegative(absl::string_view field, double value) {
    Expect(value >= 0 && std::isfinite(value), field, value,
           "is not a finite number of at least 0");
  }
  void Fraction(absl::string_view field, double value) {
    Expect(value >= 0 && value < 1, field, value, "is not in [0, 1)");
  }
  void Unused(absl::string_view field, double value) {
    Expect(value == 0, field, value,
           "has no meaning for an optimizer that is not driven by gradients");
  }
  void Add(std::string finding) { bad_.push_back(std::move(finding)); }
  void Add(const absl::Status& status) {
    if (!status.ok()) bad_.emplace_back(status.message());
  }

  absl::Status ToStatus() const {
    if (bad_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(bad_, "; "));
  }

 private:
  std::vector<std::string> bad_;
};

// A step with rate eta scales idle weights by 1 - eta * decay.
void CheckDecay(absl::string_view field, const OptimizerSpec& o, double decay,
                Findings* findings) {
  findings->Expect(
      !(o.learning_rate * decay >= 1), field, decay,
      absl::StrCat(
          "times the learning rate (", o.learning_rate,
          ") is not below 1: one step would turn every weight's sign"));
}

}  // namespace

absl::Status ValidateOptimizer(const OptimizerSpec& o) {
  Findings findings;
  switch (o.kind) {
    case OptimizerKind::kSgd:
      CheckDecay("l2", o, o.l2, &findings);
      break;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
      findings.Fraction("momentum", o.momentum);
      break;
    case OptimizerKind::kAdagrad:
      findings.NotNegative("epsilon", o.epsilon);
      break;
    case OptimizerKind::kRmsprop:
    case OptimizerKind::kAdadelta:
      findings.Fraction("rho", o.rho);
      findings.NotNegative("epsilon", o.epsilon);
      break;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
      findings.Fraction("beta1", o.beta1);
      findings.Fraction("beta2", o.beta2);
      findings.NotNegative("epsilon", o.epsilon);
      if (o.kind == OptimizerKind::kAdamw) {
        findings.NotNegative("weight_decay", o.weight_decay);
        CheckDecay("weight_decay", o, o.weight_decay, &findings);
      }
      break;
    case OptimizerKind::kFtrl:
      findings.Positive("alpha", o.alpha);
      findings.NotNegative("beta", o.beta);
      break;
    case OptimizerKind::kSum:
    case OptimizerKind::kAssign:
      findings.Unused("l1", o.l1);
      findings.Unused("l2", o.l2);
      findings.Unused("clip_value", o.clip_value);
      return findings.ToStatus();
  }
  if (o.kind != OptimizerKind::kFtrl) {
    findings.Positive("learning_rate", o.learning_rate);
  }
  findings.NotNegative("l1", o.l1);
  findings.NotNegative("l2", o.l2);
  findings.NotNegative("clip_value", o.clip_value);
  return findings.ToStatus();
}

absl::Status ValidateSchedule(const ScheduleSpec& s) {
  Findings findings;
  switch (s.kind) {
    case ScheduleKind::kConstant:
    case ScheduleKind::kInverseSquareRoot:
      break;
    case ScheduleKind::kExponential:
    case ScheduleKind::kStep:
      findings.Expect(s.decay_rate > 0 && s.decay_rate <= 1, "decay_rate",
                      s.decay_rate, "is not in (0, 1]");
      break;
    case ScheduleKind::kCosine:
      findings.Expect(s.min_factor >= 0 && s.min_factor <= 1, "min_factor",
                      s.min_factor, "is not in [0, 1]");
      break;
  }
  return findings.ToStatus();
}

absl::Status ValidateInitializer(const InitializerSpec& initializer) {
  if (initializer.kind == InitializerKind::kZero) return absl::OkStatus();
  Findings findings;
  findings.Expect(std::abs(initializer.mean) <= kMaxFloat, "mean",
                  initializer.mean, "is not a finite float");
  if (initializer.kind != InitializerKind::kConstant) {
    // Draws stay within 9 deviations: the smallest u of ToNormal is 2^-53.
    findings.Expect(
        initializer.scale >= 0 &&
            std::abs(initializer.mean) + 9 * initializer.scale <= kMaxFloat,
        "scale", initializer.scale,
        "is not a number of at least 0 whose draws are finite floats");
  }
  return findings.ToStatus();
}

absl::Status ValidateTable(const TableSpec& table) {
  Findings findings;
  if (table.name.empty()) findings.Add("name: is empty");
  if (table.kind == TableKind::kDense) {
    if (table.keys == 0) findings.Add("keys: a dense table needs at least 1");
    if (table.scramble) findings.Add("scramble: is for sparse tables only");
    if (table.admit_after != 1) {
      findings.Add("admit_after: is for sparse tables only");
    }
    if (table.expire_after_epochs != 0) {
      findings.Add("expire_after_epochs: is for sparse tables only");
    }
  }
  if (table.admit_after == 0 || table.admit_after > 255) {
    findings.Add(
        absl::StrCat("admit_after: ", table.admit_after, " is not in 1..255"));
  }
  if (table.width == 0 || table.width > kMaxTableWidth) {
    findings.Add(
        absl::StrCat("width: ", table.width, " is not in 1..", kMaxTableWidth));
  }
  if (table.partitions == 0) findings.Add("partitions: must be at least 1");
  findings.Add(ValidateInitializer(table.initializer));
  findings.Add(ValidateOptimizer(table.optimizer));
  findings.Add(ValidateSchedule(table.schedule));
  absl::Status status = findings.ToStatus();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("table '", table.name, "': ", status.message()));
}

}  // namespace seraph
