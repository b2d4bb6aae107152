#include "worker/data/record_block.h"

namespace seraph {

void RecordBlock::Clear() {
  records.Clear();
  offsets.clear();
  lines.clear();
  label_texts.clear();
  line_count = 0;
  repeated_index_records = 0;
  bad.clear();
}

}  // namespace seraph
