// The rows of one key range of one table, with their optimizer's state.
#ifndef SERAPH_SERVER_STORE_ROW_STORE_H_
#define SERAPH_SERVER_STORE_ROW_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "server/store/overwritten.h"
#include "server/update/update_rule.h"

namespace seraph {

// What became of one step.
struct ApplyResult {
  size_t created = 0;     // Keys that did not exist before.
  size_t not_finite = 0;  // Rows that kept their old bytes: see Apply.
  // Index into the step's keys of the first such row.
  std::optional<size_t> first_not_finite;
};

// Rows in ascending order of ORIGINAL keys, whatever the order of the store.
// The store must outlive it. The order is that of the moment it was made: rows
// that are created later do not appear, rows that change appear as they are.
class RowCursor {
 public:
  virtual ~RowCursor() = default;

  // The next rows, at most max_rows; `keys` is empty at the end. keys [n] are
  // original ones, values [n * width] are those that Read gives at `now`.
  virtual void Next(size_t max_rows, const LazySums& now,
                    std::vector<Key>* keys, std::vector<float>* values) = 0;
};

// Shapes:   keys is [n], MIXED keys (common/table/partitioning.h), strictly
//           increasing and inside range(): CheckKeys says so, once, where keys
//           arrive; no method checks again. Values and gradients are
//           [n * width()], row-major.
// Exists:   in a dense table every key; in a sparse one a key once an applied
//           step or Load touched it, whatever its value. Reading creates
//           nothing.
// Sums:     the caller owns the partition's LazySums, advances them once a step
//           of the partition (rule().Advance), also for steps that touch no
//           key, and gives them to every read. Only Apply and Load write rows.
// Bytes:    no value depends on the range, on other keys, on addresses or on
//           the order of earlier creations.
// Threads:  const methods may run side by side; any other alone.
class RowStore {
 public:
  virtual ~RowStore() = default;

  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  const KeyRange& range() const { return range_; }
  const UpdateRule& rule() const { return *rule_; }
  uint32_t width() const { return rule_->width(); }

  // Errors: InvalidArgument for keys that do not strictly increase;
  // OutOfRange for a key outside of range(). Both name the (mixed) key.
  absl::Status CheckKeys(absl::Span<const Key> keys) const;

  // The values of `keys` as of `now`. A missing key reads as its initial value.
  virtual void Read(absl::Span<const Key> keys, const LazySums& now,
                    absl::Span<float> out) const = 0;

  // One optimizer step: missing keys come into being with their initial value
  // and then move like the others. A row whose gradient or result is not finite
  // keeps its old bytes (a missing one stays missing) and is reported.
  // With `overwritten`, replaces its content by what this step overwrites.
  virtual ApplyResult Apply(absl::Span<const Key> keys,
                            absl::Span<const float> gradients,
                            const StepContext& step,
                            Overwritten* overwritten) = 0;

  // What Read(keys, overwritten.sums, out) gave just before the step that
  // filled `overwritten`, bit for bit, if no other step was applied since.
  void ReadBefore(absl::Span<const Key> keys, const Overwritten& overwritten,
                  absl::Span<float> out) const;

  // Sets rows to saved values, for a start from an earlier model: existing or
  // not, they have the weights given and the state of a key without steps.
  // Requires: no step yet, the partition's sums are LazySums{}.
  // Errors, each leaving every row as it was: InvalidArgument for a value that
  // is not finite.
  absl::Status Load(absl::Span<const Key> keys, absl::Span<const float> values);

  // The existing keys inside `range`, mixed, ascending.
  virtual std::vector<Key> Keys(const KeyRange& range) const = 0;

  // All rows, for an export or a digest. A sparse store sorts an index of its
  // keys for it: 8 bytes a row of memory as long as the cursor lives.
  virtual std::unique_ptr<RowCursor> Cursor() const = 0;

  // Existing rows.
  virtual size_t rows() const = 0;

  // Memory held for rows and index, in bytes.
  virtual size_t bytes() const = 0;

 protected:
  RowStore(const KeyRange& range, std::unique_ptr<const UpdateRule> rule)
      : range_(range), rule_(std::move(rule)) {}

  // Load after its checks.
  virtual void LoadFinite(absl::Span<const Key> keys,
                          absl::Span<const float> values) = 0;

 private:
  const KeyRange range_;
  const std::unique_ptr<const UpdateRule> rule_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_ROW_STORE_H_
