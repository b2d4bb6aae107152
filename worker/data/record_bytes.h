// How much memory records take.
#ifndef SERAPH_WORKER_DATA_RECORD_BYTES_H_
#define SERAPH_WORKER_DATA_RECORD_BYTES_H_

#include <cstdint>

#include "common/dataset/data_options.h"
#include "common/dataset/dataset_facts.h"

namespace seraph {

// What all records of the data set would take as batches, in bytes. From the
// facts alone, so that it is the same for every rank and attempt.
uint64_t RecordBytes(const DatasetFacts& facts, DataFormat format);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_RECORD_BYTES_H_
