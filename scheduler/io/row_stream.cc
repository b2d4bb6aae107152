#include "scheduler/io/row_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {

MergedRows::MergedRows(std::vector<std::unique_ptr<RowSource>> sources,
                       uint32_t width, size_t piece_rows)
    : width_(width), piece_rows_(piece_rows) {
  for (std::unique_ptr<RowSource>& source : sources) {
    inputs_.push_back({std::move(source), {}, 0});
  }
}

bool MergedRows::After(size_t a, size_t b) const {
  return inputs_[a].rows.keys[inputs_[a].next] >
         inputs_[b].rows.keys[inputs_[b].next];
}

absl::StatusOr<bool> MergedRows::Fill(Input* input) {
  if (input->next < input->rows.keys.size()) return true;
  const bool had_rows = !input->rows.keys.empty();
  const Key last = had_rows ? input->rows.keys.back() : 0;
  do {
    SERAPH_ASSIGN_OR_RETURN(const bool more, input->source->Next(&input->rows));
    if (!more) return false;
  } while (input->rows.keys.empty());
  input->next = 0;
  const std::vector<Key>& keys = input->rows.keys;
  if (input->rows.values.size() != keys.size() * width_) {
    return absl::InternalError(absl::StrCat(keys.size(), " keys came with ",
                                            input->rows.values.size(),
                                            " values, not ", width_, " each"));
  }
  if ((had_rows && keys.front() <= last) ||
      std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<Key>()) !=
          keys.end()) {
    return absl::InternalError("the keys of a partition do not ascend");
  }
  return true;
}

absl::StatusOr<bool> MergedRows::Next(Rows* rows) {
  rows->keys.clear();
  rows->values.clear();
  const auto after = [this](size_t a, size_t b) { return After(a, b); };
  if (!started_) {
    started_ = true;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      SERAPH_ASSIGN_OR_RETURN(const bool more, Fill(&inputs_[i]));
      if (more) heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(), after);
  }
  while (!heap_.empty() && rows->keys.size() < piece_rows_) {
    std::pop_heap(heap_.begin(), heap_.end(), after);
    Input& input = inputs_[heap_.back()];
    const Key key = input.rows.keys[input.next];
    if (!rows->keys.empty() && rows->keys.back() == key) {
      return absl::InternalError(
          absl::StrCat("two partitions have the key ", key));
    }
    rows->keys.push_back(key);
    const auto value = input.rows.values.begin() + input.next * width_;
    rows->values.insert(rows->values.end(), value, value + width_);
    ++input.next;
    SERAPH_ASSIGN_OR_RETURN(const bool more, Fill(&input));
    if (more) {
      std::push_heap(heap_.begin(), heap_.end(), after);
    } else {
      heap_.pop_back();
    }
  }
  return !rows->keys.empty();
}

}  // namespace seraph
