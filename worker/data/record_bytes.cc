#include "worker/data/record_bytes.h"

#include <cstddef>

#include "common/base/key.h"

namespace seraph {

uint64_t RecordBytes(const DatasetFacts& facts, DataFormat format) {
  const size_t entry_bytes =
      sizeof(Key) + sizeof(float) +
      (format == DataFormat::kLibffm ? sizeof(uint32_t) : 0);
  return facts.nonzeros * entry_bytes +
         (TrainRecords(facts) + ValidationRecords(facts)) *
             (sizeof(double) + sizeof(size_t));
}

}  // namespace seraph
