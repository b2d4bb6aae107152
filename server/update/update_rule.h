// How the rows of a table move: one optimizer, bound to a width.
#ifndef SERAPH_SERVER_UPDATE_UPDATE_RULE_H_
#define SERAPH_SERVER_UPDATE_UPDATE_RULE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "server/update/lazy_terms.h"

namespace seraph {

// One optimizer step of a partition: what all its rows share.
struct StepContext {
  double eta = 0.0;    // The learning rate, its schedule's factor included.
  LazySums before;     // The partition's sums before this step ...
  LazySums after;      // ... and after it: UpdateRule::Advance(before, eta).
  uint32_t epoch = 0;  // Of the clock: see ExpiringRule.
};

// A row is row_cells() floats:
//
//   [w: width] [slot 0: width] [slot 1: width] ... [t: 0 or 1] [record: 0, 2,
//   4]
//
// w are the weights and the slots the optimizer's state, one float of each per
// value. t, of adam and adamw, is the number of steps that the key has had, a
// uint32 whose bits lie in a float cell (it stays at the largest one). record
// is LazyTerms'. Rows are copied bit by bit and never looked into elsewhere.
//
// Same bytes: an element of a new row is a function of the same element of the
// old one, its gradient, t, the record and the step alone. It is computed in
// double, by + - * / sqrt, fmin, fmax and (for the lazy terms, at most once a
// row) exp, and rounded to float once. Neighbours, addresses, alignment,
// threads and partitions cannot change a bit.
//
// Threads: immutable, so that any number may use it at once on different rows.
class UpdateRule {
 public:
  // Most rows of one call of Step.
  static constexpr size_t kMaxRows = 64;

  virtual ~UpdateRule() = default;

  uint32_t width() const { return width_; }
  uint32_t row_cells() const { return row_cells_; }

  // The partition's sums after one more step, of any rows or none.
  virtual LazySums Advance(const LazySums& sums, double eta) const = 0;

  StepContext NextStep(const LazySums& sums, double eta) const {
    return {eta, sums, Advance(sums, eta)};
  }

  // Makes a row with these weights (initial or saved ones), as of `sums`: its
  // slots are those of a key without steps, or, for ftrl, such that the state
  // implies the weights. Requires: finite weights, [width()].
  virtual void InitRow(absl::Span<const float> weights, const LazySums& sums,
                       float* row) const = 0;

  // Sets the weights of a row as of `now`. The optimizer's state stays, but for
  // ftrl, whose z becomes such that it implies a weight that is new.
  // Requires: finite weights, [width()].
  virtual void SetWeights(absl::Span<const float> weights, const LazySums& now,
                          float* row) const = 0;

  // Turns a row of a partition with the sums `from` into one of a partition
  // with the sums `to`: LazyTerms::Rebase. Weights and slots stay.
  virtual void Rebase(const LazySums& from, const LazySums& to,
                      float* row) const = 0;

  // The weights as of `now`, with the lazy terms since each row's last step;
  // the rows stay as they are. out is [rows.size() * width()].
  virtual void Read(absl::Span<const float* const> rows, const LazySums& now,
                    float* out) const = 0;

  // The same for n rows of which each begins where the one before it ends.
  virtual void ReadRun(const float* first, size_t n, const LazySums& now,
                       float* out) const;

  // One step for each row with its gradient, [rows.size() * width()]. A row
  // with a gradient or a result, weight or slot, that is not finite keeps its
  // old bytes; bit i of the result says so of rows[i].
  // Requires: rows.size() <= kMaxRows, rows distinct.
  virtual uint64_t Step(absl::Span<float* const> rows, const float* gradients,
                        const StepContext& step) const = 0;

  // The same for n rows of which each begins where the one before it ends.
  // Requires: n <= kMaxRows.
  virtual uint64_t StepRun(float* first, size_t n, const float* gradients,
                           const StepContext& step) const;

 protected:
  UpdateRule(uint32_t width, uint32_t row_cells)
      : width_(width), row_cells_(row_cells) {}

 private:
  const uint32_t width_;
  const uint32_t row_cells_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_UPDATE_RULE_H_
