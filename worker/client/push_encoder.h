// What a rank's pushes travel as: TableSpec::transport.
#ifndef SERAPH_WORKER_CLIENT_PUSH_ENCODER_H_
#define SERAPH_WORKER_CLIENT_PUSH_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"
#include "worker/client/step.h"

namespace seraph {

// Turns values into bytes, once for each entry: repeats, chunks and partitions
// get the same ones.
//
// float16 and bfloat16 round to the nearest. int8 rounds by draws from (seed,
// table, rank, clock, key), so that nothing is lost on average and a new
// attempt of the rank rounds as the last one did. With `error_feedback` it
// rounds to the nearest instead, and what a push has lost of a key is added to
// the key's next push (Seide, Fu, Droppo, Li, Yu: "1-Bit Stochastic Gradient
// Descent", Interspeech 2014, section 3); a new attempt begins without any.
// Such a residual costs 4 bytes a value and about 24 a key, for each key that
// the rank has pushed.
//
// Threads: one at a time.
class PushEncoder {
 public:
  PushEncoder(std::vector<TableSpec> tables, uint32_t rank,
              bool error_feedback);

  // By table: the rows, each RowBytes(), in the order of the entry's keys.
  // Empty for tables whose values travel as they are.
  std::vector<std::string> Encode(const EntryPush& entry);

  // Values that were beyond the range of what they travel as.
  uint64_t saturated() const { return saturated_; }

 private:
  struct Residuals {
    absl::flat_hash_map<Key, size_t> row_of;
    std::vector<float> rows;  // [row * width].
  };

  void EncodeWithFeedback(const TableSpec& table, const TablePush& push,
                          Residuals* residuals, std::string* bytes);

  const std::vector<TableSpec> tables_;
  const uint32_t rank_;
  const bool error_feedback_;
  std::vector<Residuals> residuals_;  // By table.
  uint64_t saturated_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_PUSH_ENCODER_H_
