#include "worker/client/push_encoder.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "common/base/draw.h"
#include "common/wire/value_codec.h"

namespace seraph {

PushEncoder::PushEncoder(std::vector<TableSpec> tables, uint32_t rank,
                         bool error_feedback)
    : tables_(std::move(tables)),
      rank_(rank),
      error_feedback_(error_feedback),
      residuals_(tables_.size()) {}

std::vector<std::string> PushEncoder::Encode(const EntryPush& entry) {
  std::vector<std::string> encoded(tables_.size());
  for (size_t t = 0; t < entry.tables.size(); ++t) {
    const TableSpec& table = tables_[t];
    const TablePush& push = entry.tables[t];
    if (table.transport == ValueKind::kFloat32 || push.keys.empty()) continue;
    if (table.transport == ValueKind::kInt8 && error_feedback_) {
      EncodeWithFeedback(table, push, &residuals_[t], &encoded[t]);
      continue;
    }
    const RoundingDraw draw = {.seed = table.seed,
                               .table = DrawLabel(table.name),
                               .rank = rank_,
                               .clock = entry.clock};
    saturated_ += EncodeValues(table.transport, table.width, push.keys,
                               push.values, &draw, &encoded[t]);
  }
  return encoded;
}

void PushEncoder::EncodeWithFeedback(const TableSpec& table,
                                     const TablePush& push,
                                     Residuals* residuals, std::string* bytes) {
  const size_t width = table.width;
  std::vector<float> wanted(push.values.begin(), push.values.end());
  std::vector<size_t> rows;
  rows.reserve(push.keys.size());
  for (size_t i = 0; i < push.keys.size(); ++i) {
    const auto [at, added] = residuals->row_of.try_emplace(
        push.keys[i], residuals->rows.size() / width);
    if (added) residuals->rows.resize(residuals->rows.size() + width);
    rows.push_back(at->second);
    const float* const lost = residuals->rows.data() + at->second * width;
    for (size_t j = 0; j < width; ++j) wanted[i * width + j] += lost[j];
  }
  saturated_ += EncodeValues(table.transport, table.width, push.keys, wanted,
                             nullptr, bytes);
  std::vector<float> sent(wanted.size());
  // It is as long as it was just written.
  if (!DecodeValues(table.transport, table.width, *bytes, absl::MakeSpan(sent))
           .ok()) {
    return;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    float* const lost = residuals->rows.data() + rows[i] * width;
    for (size_t j = 0; j < width; ++j) {
      const float rest = wanted[i * width + j] - sent[i * width + j];
      // What is not finite is refused by the server, and no part of a sum.
      lost[j] = std::isfinite(rest) ? rest : 0.0f;
    }
  }
}

}  // namespace seraph
