// Rows of a table that come in pieces, and their merge.
#ifndef SERAPH_SCHEDULER_IO_ROW_STREAM_H_
#define SERAPH_SCHEDULER_IO_ROW_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/key.h"

namespace seraph {

struct Rows {
  std::vector<Key> keys;
  std::vector<float> values;  // [keys.size() * width], row-major.
};

// Threads: one at a time.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Replaces `*rows` by the next rows, keys ascending over the calls; false at
  // the end. May wait long.
  virtual absl::StatusOr<bool> Next(Rows* rows) = 0;
};

// The rows of several sources of one table as one stream, keys ascending over
// all of it. Holds one piece of each source.
//
// Errors: those of the sources; Internal for a source whose keys do not ascend
// or whose pieces are no rows of `width`, and for a key that two sources have.
class MergedRows final : public RowSource {
 public:
  // Returns pieces of about `piece_rows` rows, >= 1.
  MergedRows(std::vector<std::unique_ptr<RowSource>> sources, uint32_t width,
             size_t piece_rows);

  absl::StatusOr<bool> Next(Rows* rows) override;

 private:
  struct Input {
    std::unique_ptr<RowSource> source;
    Rows rows;
    size_t next = 0;  // In rows.
  };

  // Reads on where the input's piece is used up. False at its end.
  absl::StatusOr<bool> Fill(Input* input);
  bool After(size_t a, size_t b) const;

  const uint32_t width_;
  const size_t piece_rows_;
  std::vector<Input> inputs_;
  std::vector<size_t> heap_;  // Inputs with rows; the least key is in front.
  bool started_ = false;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_ROW_STREAM_H_
