// Which label of the files is which class of the model.
#ifndef SERAPH_COMMON_DATASET_LABEL_MAP_H_
#define SERAPH_COMMON_DATASET_LABEL_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/dataset_facts.h"
#include "common/model/model_spec.h"

namespace seraph {

// Decided once for a job, from all of its labels; a rank that decided from its
// own share would train against the others. Plain data, stored with the job.
struct LabelMap {
  TaskKind task = TaskKind::kRegression;

  // binary, labels that are numbers: the label of class 0 and of class 1.
  double negative = 0;
  double positive = 1;

  // multiclass, labels that are numbers: the label of class 0 (0 or 1).
  int64_t first_class = 0;

  // multiclass; for binary 2, for regression 0.
  uint32_t classes = 0;

  // Labels that are texts: that of each class, sorted by bytes. Else empty.
  std::vector<std::string> texts;

  // The value that the model trains with: the label itself (regression), 0 or 1
  // (binary), 0..classes-1 (multiclass).
  // Errors: InvalidArgument for a label that DecideLabels() has not seen.
  absl::StatusOr<double> Map(double label) const;
  absl::StatusOr<double> MapText(absl::string_view label) const;

  friend bool operator==(const LabelMap&, const LabelMap&) = default;
};

// Decides from the labels of all data sets of a job (training, validation).
//
//   regression  every number as it is.
//   binary      {0, 1}, {-1, 1} or {1, 2}, the greater being class 1; also a
//               part of one of them, except {1} alone, which is class 1 of two
//               of them and class 0 of the third.
//   multiclass  whole numbers 0..K-1 or 1..K, K = `classes`. With `classes` 0,
//               K follows from the labels: 1..K if there is no label 0. Labels
//               within 1..K-1 alone, with `classes` K, count from 0.
//   Texts (csv) are sorted by their bytes: binary needs two of them,
//   multiclass K at most. They do not mix with numbers.
//
// Errors: InvalidArgument naming file, line and label for one that does not
// fit, or for labels as a whole that do not.
absl::StatusOr<LabelMap> DecideLabels(
    TaskKind task, uint32_t classes,
    absl::Span<const DatasetFacts* const> data_sets);

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_LABEL_MAP_H_
