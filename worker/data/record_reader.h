// Reads the records of one input file, block by block, in any order.
#ifndef SERAPH_WORKER_DATA_RECORD_READER_H_
#define SERAPH_WORKER_DATA_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/dataset/input_files.h"
#include "worker/data/record_block.h"
#include "worker/data/record_rules.h"
#include "worker/data/spool.h"

namespace seraph {

// Threads: every method may be called from any thread.
class RecordReader {
 public:
  // Opens a file as `rules` say. `spool` must outlive the reader.
  // Errors: as Spool::Get(); InvalidArgument for csv columns that are not there
  // and for what is no idx file.
  static absl::StatusOr<std::unique_ptr<RecordReader>> Open(
      const InputFile& file, const RecordRules& rules, Spool* spool);

  virtual ~RecordReader() = default;

  // The input file, for messages.
  virtual const std::string& path() const = 0;

  // Uncompressed bytes.
  virtual uint64_t size() const = 0;

  // csv: the feature columns; idx: the pixels; otherwise 0.
  virtual uint64_t columns() const = 0;

  // csv with a header: the names of the feature columns; otherwise empty.
  virtual const std::vector<std::string>& column_names() const = 0;

  // Replaces `block` by the records whose first byte is in [begin, end), end <=
  // size(): however a file is cut into such ranges, each record is in one.
  //
  // Memory: the range and its longest record, and twice that as records.
  // Errors: InvalidArgument "file:line: reason" for a bad record, unless
  // on_bad_record is skip, and for a line that is too long; what reading gives,
  // by errno. `block` is then unspecified.
  virtual absl::Status ReadBlock(uint64_t begin, uint64_t end,
                                 RecordBlock* block) const = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_RECORD_READER_H_
