#include "client/predict/prediction_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

void AppendDouble(double value, std::string* to) {
  char buffer[32];
  const std::to_chars_result result =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  to->append(buffer, result.ptr);
}

void AppendClass(const LabelMap& labels, size_t index, std::string* to) {
  if (index < labels.texts.size()) {
    *to += labels.texts[index];
  } else {
    absl::StrAppend(to, labels.first_class + static_cast<int64_t>(index));
  }
}

// exp(score - log(sum of exp)), with the greatest score taken out of both.
void AppendSoftmax(absl::Span<const double> scores, std::string* to) {
  const double greatest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - greatest);
  for (const double score : scores) {
    *to += ' ';
    AppendDouble(std::exp(score - greatest) / sum, to);
  }
}

}  // namespace

void AppendPrediction(ModelKind kind, const LabelMap& labels,
                      bool probabilities, absl::Span<const double> scores,
                      double prediction, std::string* to) {
  if (kind == ModelKind::kSoftmax) {
    AppendClass(labels, static_cast<size_t>(prediction), to);
    if (probabilities) AppendSoftmax(scores, to);
  } else {
    AppendDouble(prediction, to);
  }
  *to += '\n';
}

}  // namespace seraph
