// Stops a job whose validation does not get better any more.
#ifndef SERAPH_SCHEDULER_JOB_EARLY_STOP_H_
#define SERAPH_SCHEDULER_JOB_EARLY_STOP_H_

#include <cstdint>
#include <limits>

namespace seraph {

// Plain state, a function of the values it was given.
class EarlyStop {
 public:
  // `patience` >= 1: epochs on end that may be no better than the best before
  // them, the last of which stops.
  EarlyStop(uint32_t patience, bool larger_is_better)
      : patience_(patience), sign_(larger_is_better ? 1.0 : -1.0) {}

  // Takes the value of the next epoch; true to stop after it. A value that is
  // not a number is no better.
  bool Observe(double value) {
    if (sign_ * value > best_) {
      best_ = sign_ * value;
      epochs_without_ = 0;
    } else {
      ++epochs_without_;
    }
    return epochs_without_ >= patience_;
  }

  // The best value so far, negative where smaller is better; and how many
  // epochs were no better since.
  double best() const { return best_; }
  uint32_t epochs_without() const { return epochs_without_; }

  // Goes back to what those two were.
  void Restore(double best, uint32_t epochs_without) {
    best_ = best;
    epochs_without_ = epochs_without;
  }

 private:
  const uint32_t patience_;
  const double sign_;
  double best_ = -std::numeric_limits<double>::infinity();
  uint32_t epochs_without_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_EARLY_STOP_H_
