#include "server/update/expiring_rule.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace seraph {
namespace {

class ExpiringRule final : public UpdateRule {
 public:
  explicit ExpiringRule(std::unique_ptr<const UpdateRule> rule)
      : UpdateRule(rule->width(), rule->row_cells() + 1),
        rule_(std::move(rule)) {}

  LazySums Advance(const LazySums& sums, double eta) const override {
    return rule_->Advance(sums, eta);
  }

  void InitRow(absl::Span<const float> weights, const LazySums& sums,
               float* row) const override {
    rule_->InitRow(weights, sums, row);
    SetEpoch(row, 0);
  }

  void SetWeights(absl::Span<const float> weights, const LazySums& now,
                  float* row) const override {
    rule_->SetWeights(weights, now, row);
  }

  void Rebase(const LazySums& from, const LazySums& to,
              float* row) const override {
    rule_->Rebase(from, to, row);
  }

  void Read(absl::Span<const float* const> rows, const LazySums& now,
            float* out) const override {
    rule_->Read(rows, now, out);
  }

  uint64_t Step(absl::Span<float* const> rows, const float* gradients,
                const StepContext& step) const override {
    const uint64_t not_finite = rule_->Step(rows, gradients, step);
    for (size_t i = 0; i < rows.size(); ++i) {
      if ((not_finite >> i) & 1) continue;
      SetEpoch(rows[i], std::max(EpochOfRow(rows[i], row_cells()), step.epoch));
    }
    return not_finite;
  }

 private:
  void SetEpoch(float* row, uint32_t epoch) const {
    std::memcpy(row + row_cells() - 1, &epoch, sizeof(epoch));
  }

  const std::unique_ptr<const UpdateRule> rule_;
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeExpiringRule(
    std::unique_ptr<const UpdateRule> rule) {
  return std::make_unique<ExpiringRule>(std::move(rule));
}

uint32_t EpochOfRow(const float* row, uint32_t row_cells) {
  uint32_t epoch;
  std::memcpy(&epoch, row + row_cells - 1, sizeof(epoch));
  return epoch;
}

}  // namespace seraph
