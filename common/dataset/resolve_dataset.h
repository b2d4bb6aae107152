// The files of a data set as its format wants them.
#ifndef SERAPH_COMMON_DATASET_RESOLVE_DATASET_H_
#define SERAPH_COMMON_DATASET_RESOLVE_DATASET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/dataset/data_options.h"
#include "common/dataset/input_files.h"

namespace seraph {

// ResolveInputFiles(), and for idx each image file with its label file:
//   1. those that `label_patterns` name, in sorted order,
//   2. else the label files (one dimension) among `patterns`, in sorted order,
//   3. else the usual name beside the images: "images-idx3" becomes
//      "labels-idx1", with the rest of the name, ".gz" and the like, as it is
//      or, if there is no such file, without or with another such ending.
//
// The list is resolved once and stored with the job. Files are opened to tell
// idx images from labels; no other format is looked into.
//
// `label_patterns` are options.labels for the training data; for validation
// data there are none.
//
// Errors: as ResolveInputFiles(); InvalidArgument, naming options.labels, if
// images and labels do not pair; InvalidArgument for what is no idx file.
absl::StatusOr<std::vector<InputFile>> ResolveDataset(
    const std::string& base_dir, absl::Span<const std::string> patterns,
    DataFormat format, absl::Span<const std::string> label_patterns);

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_RESOLVE_DATASET_H_
