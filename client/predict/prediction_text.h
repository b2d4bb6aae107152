// A prediction as a line of text.
#ifndef SERAPH_CLIENT_PREDICT_PREDICTION_TEXT_H_
#define SERAPH_CLIENT_PREDICT_PREDICTION_TEXT_H_

#include <string>

#include "absl/types/span.h"
#include "common/dataset/label_map.h"
#include "common/model/model_spec.h"

namespace seraph {

// Of one example, with a line end:
//   linear_regression    the value
//   logistic_regression  the probability of the second class
//   svm                  the margin
//   softmax              the class, as the training data's labels name it; with
//                        `probabilities` those of all classes after it, with
//                        blanks between them
// Numbers are the shortest texts that read back to the same double.
//
// `prediction` is Model::Predict of `scores`.
void AppendPrediction(ModelKind kind, const LabelMap& labels,
                      bool probabilities, absl::Span<const double> scores,
                      double prediction, std::string* to);

}  // namespace seraph

#endif  // SERAPH_CLIENT_PREDICT_PREDICTION_TEXT_H_
