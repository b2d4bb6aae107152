// A witness job as a model that the training loop can run.
#ifndef SERAPH_TESTS_SIM_WITNESS_MODEL_H_
#define SERAPH_TESTS_SIM_WITNESS_MODEL_H_

#include <cstdint>
#include <vector>

#include "tests/sim/witness.h"
#include "worker/data/batch.h"
#include "worker/model/model.h"
#include "worker/train/batch_stream.h"

namespace seraph::testing {

// The records of a rank: their labels say which they are, (epoch, step).
class WitnessStream final : public BatchStream {
 public:
  // `records` in each epoch; one is a batch.
  explicit WitnessStream(uint32_t records) : records_(records) {}

  absl::Status Open(uint32_t epoch, uint64_t record) override;
  absl::Status Next(size_t n, Batch* batch) override;

  static double LabelOf(Clock clock) {
    return clock.epoch * 65536.0 + clock.step;
  }
  static Clock ClockOf(double label) {
    const auto number = static_cast<uint32_t>(label);
    return {number / 65536, number % 65536};
  }

 private:
  const uint32_t records_;
  uint32_t epoch_ = 0;
  uint64_t next_ = 0;
};

// One attempt of a rank. It tells the checker what it reads; who starts its
// steps tells when a pull begins, and what was acknowledged.
class WitnessModel final : public Model {
 public:
  WitnessModel(const WitnessJob* job, WitnessChecker* checker,
               WitnessChecker::Who who);

  const std::vector<ModelTable>& tables() const override { return tables_; }
  size_t scores_per_example() const override { return 1; }

  absl::Status Prepare(const Batch& batch, BatchKeys* keys) override;
  absl::Status Gradient(const Batch& batch, const BatchKeys& keys,
                        TableRows rows, std::vector<TableGradient>* gradients,
                        MetricSums* sums) override;
  // Of validation: the parameters stand still at the end of an epoch.
  absl::Status Score(const Batch& batch, const BatchKeys& keys, TableRows rows,
                     std::vector<double>* scores) override;
  absl::Status Evaluate(absl::Span<const double> labels,
                        absl::Span<const double> scores,
                        MetricSums* sums) const override;
  double Predict(absl::Span<const double> scores) const override { return 0; }

  // The last validation saw an entry of an epoch that may not have begun.
  bool saw_later() const { return saw_later_; }

 private:
  const WitnessJob& job_;
  WitnessChecker& checker_;
  const WitnessChecker::Who who_;
  std::vector<ModelTable> tables_;
  bool saw_later_ = false;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_WITNESS_MODEL_H_
