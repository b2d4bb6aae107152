// A model as a text file that LIBLINEAR's `predict` reads.
//
// Source: save_model() and predict_values() of LIBLINEAR 2.3 (linear.cpp).
#ifndef SERAPH_CLIENT_EXPORT_LIBLINEAR_SINK_H_
#define SERAPH_CLIENT_EXPORT_LIBLINEAR_SINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/export/model_sink.h"

namespace seraph {

// Every feature has a line in the file.
inline constexpr uint64_t kMaxLiblinearFeatures = uint64_t{1} << 26;

// Features of LIBLINEAR are numbered from 1: number = key + 1; in sparse tables
// of data whose indices start at 1 the key is the number.
//
// The first label is the one that a positive score stands for. Labels that are
// texts become the numbers of their classes. softmax is written as MCSVM_CS,
// whose prediction is the class with the greatest score.
//
// Errors: as AtomicFile; FailedPrecondition, with the reason, for a model that
// LIBLINEAR cannot have: labels that are no whole numbers, more than
// kMaxLiblinearFeatures features, a key 0 where numbers start at 1.
absl::StatusOr<std::unique_ptr<ModelSink>> MakeLiblinearSink(
    const std::string& path, const ModelSurvey& survey);

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_LIBLINEAR_SINK_H_
