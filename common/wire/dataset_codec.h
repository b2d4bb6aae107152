// Between the protocol's messages and the plain structs: what is known of a
// data set. The contract is that of table_codec.h.
#ifndef SERAPH_COMMON_WIRE_DATASET_CODEC_H_
#define SERAPH_COMMON_WIRE_DATASET_CODEC_H_

#include "absl/status/statusor.h"
#include "common/dataset/dataset_facts.h"
#include "common/dataset/input_files.h"
#include "common/dataset/label_map.h"
#include "proto/dataset.pb.h"

namespace seraph {

void ToProto(const FileStamp& file, v1::DataFile* message);
FileStamp FromProto(const v1::DataFile& message);

void ToProto(const InputFile& file, v1::InputFile* message);
InputFile FromProto(const v1::InputFile& message);

// Errors: InvalidArgument for a block, label or bad record of a file that is
// not in the list, and for a block that ends before it begins. The files may
// be missing altogether: parts of a data set are sent without them.
void ToProto(const DatasetFacts& facts, v1::DatasetFacts* message);
absl::StatusOr<DatasetFacts> FromProto(const v1::DatasetFacts& message);

// Errors: InvalidArgument for an unknown kind.
void ToProto(const LabelMap& labels, v1::LabelMap* message);
absl::StatusOr<LabelMap> FromProto(const v1::LabelMap& message);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_DATASET_CODEC_H_
