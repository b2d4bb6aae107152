// The rows of one key range of one table, with their optimizer's state.
#ifndef SERAPH_SERVER_STORE_ROW_STORE_H_
#define SERAPH_SERVER_STORE_ROW_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/base/key_set.h"
#include "common/table/initializer.h"
#include "common/table/table_spec.h"
#include "server/store/overwritten.h"
#include "server/store/resolved_rows.h"
#include "server/store/row_cursor.h"
#include "server/update/update_rule.h"

namespace seraph {

// What became of one step.
struct ApplyResult {
  size_t created = 0;     // Keys that did not exist before.
  size_t not_finite = 0;  // Rows that kept their old bytes: see Apply.
  // Index into the step's keys of the first such row.
  std::optional<size_t> first_not_finite;
};

// Shapes:   keys is [n], MIXED keys (common/table/partitioning.h), strictly
//           increasing and inside range(): CheckKeys says so, once, where keys
//           arrive; no method checks again. Values and gradients are
//           [n * width()], row-major. A KeySpan may be a range whose keys are
//           not written out: they give what the same keys, written out, give.
// Exists:   in a dense table every key; in a sparse one a key once an applied
//           step or Load touched it, whatever its value. Reading creates
//           nothing.
// Sums:     the caller owns the partition's LazySums, advances them once a step
//           of the partition (rule().NextStep), also for steps that touch no
//           key, and gives them to every read. Only Apply, SetWeights and
//           Load write rows.
// Bytes:    no value depends on the range, on other keys, on addresses or on
//           the order of earlier creations.
// Places:   a list of keys that comes again may bring what is known of its rows
//           (ResolvedRows, null: nothing), to spare it the lookup. It is what
//           the store itself has left there, and is renewed when any row may
//           have moved since; no value depends on it.
// Blocks:   rows lie in numbered blocks, each row in one. A row may move to
//           another block, old or new; then both are written in that version.
//           So of the newest copies of all blocks each row is in one. A block
//           never goes. What a block is, is the store's own affair: two stores
//           of the same rows have others.
// Threads:  const methods may run side by side; any other alone.
//
// Implementations give rows a place and keys an index; everything that concerns
// values is here.
class RowStore {
 public:
  virtual ~RowStore() = default;

  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  const TableSpec& table() const { return table_; }
  const KeyRange& range() const { return range_; }
  const UpdateRule& rule() const { return *rule_; }
  uint32_t width() const { return rule_->width(); }

  // Errors: InvalidArgument for keys that do not strictly increase;
  // OutOfRange for a key outside of range(). Both name the (mixed) key.
  absl::Status CheckKeys(KeySpan keys) const;

  // The values of `keys` (here of any order) as of `now`. A missing key reads
  // as its initial value. `known`: of these keys, which ascend then.
  void Read(KeySpan keys, const LazySums& now, absl::Span<float> out,
            ResolvedRows* known = nullptr) const;

  // What Read(keys, overwritten.sums, out) gave just before the step that
  // filled `overwritten`, bit for bit, if no other step was applied since.
  void ReadBefore(KeySpan keys, const Overwritten& overwritten,
                  absl::Span<float> out) const;

  // One optimizer step: missing keys come into being with their initial value
  // and then move like the others. A row whose gradient or result is not finite
  // keeps its old bytes (a missing one stays missing) and is reported.
  // `overwritten`, unless null, is replaced by what this step overwrites.
  // `known`: of these keys.
  ApplyResult Apply(KeySpan keys, absl::Span<const float> gradients,
                    const StepContext& step, Overwritten* overwritten,
                    ResolvedRows* known = nullptr);

  // Sets rows to saved values, for a start from an earlier model: existing or
  // not, they have the weights given and the state of a key without steps.
  // Requires: no step yet, the partition's sums are LazySums{}.
  // Errors, each leaving every row as it was: InvalidArgument for a value that
  // is not finite.
  absl::Status Load(absl::Span<const Key> keys, absl::Span<const float> values);

  // Whether each key, here of any order, exists.
  std::vector<uint8_t> Exist(absl::Span<const Key> keys) const;

  // Removes the rows (rule().row_cells() cells) of which `gone` says so, after
  // one look at each, in any order; returns their number. Sparse tables alone.
  virtual size_t Remove(
      absl::FunctionRef<bool(Key key, const float* row)> gone) = 0;

  // Sets the weights of rows, existing or not, as of `now`; what else the
  // optimizer knows of a key stays (UpdateRule::SetWeights). Rows with a value
  // that is not finite stay as they are, and are reported as by Apply.
  ApplyResult SetWeights(absl::Span<const Key> keys,
                         absl::Span<const float> values, const LazySums& now);

  // Blocks ---------------------------------------------------------------

  // Blocks are 0 .. blocks() - 1.
  virtual size_t blocks() const = 0;

  // Replaces `keys` and `cells` ([keys * rule().row_cells()]) by the rows of a
  // block, mixed keys, in the store's order; the cells bit by bit.
  virtual void CopyBlock(size_t block, std::vector<Key>* keys,
                         std::vector<float>* cells) const = 0;

  // Sets rows, existing or not, to cells that CopyBlock of a store of the same
  // table gave, bit by bit. Keys in any order; in theirs it is fastest.
  // Errors, each leaving every row as it was: InvalidArgument for a wrong
  // number of cells or a key that is there twice, OutOfRange for a key outside
  // of range().
  absl::Status RestoreRows(absl::Span<const Key> keys,
                           absl::Span<const float> cells);

  // Each block has the version in which it was last written, or begun. The
  // current version is >= 1.
  uint64_t version() const { return version_; }
  uint64_t BlockVersion(size_t block) const { return block_versions_[block]; }
  // Begins the next version; returns the one before it.
  uint64_t NextVersion() { return version_++; }

  // A number that no other store of the process has.
  uint64_t layout() const { return layout_; }

  // A number that this store has as long as each row stays where it is and none
  // comes or goes, and never again; and no other store ever.
  uint64_t places() const { return places_; }

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
  RowStore(const TableSpec& table, const KeyRange& range,
           std::unique_ptr<const UpdateRule> rule);

  // The new row of a missing key: initial values, as of `sums`.
  void InitRow(Key key, const LazySums& sums, float* row) const;

  // Says that the block is written in this version. A block that is new comes
  // after all others.
  void Touch(size_t block) { block_versions_[block] = version_; }
  void AddBlock() { block_versions_.push_back(version_); }

  // Says that rows come, go or move.
  void MoveRows();

  // Where the rows of some keys may lie.
  struct Guesses {
    uint32_t blocks[UpdateRule::kMaxRows];
    uint32_t slots[UpdateRule::kMaxRows];
  };

 private:
  // Rows are found in three calls, for the same keys: at most
  // UpdateRule::kMaxRows, of any order. Each has the memory fetched that the
  // next one reads, so they are fastest with other work between them. No row
  // may move between them. A store whose rows' places are computed needs the
  // last alone.

  // Sets guesses->blocks. `near` is 0 at first, and what the call for the keys
  // before these, if these are above them, left there.
  virtual void GuessBlocks(absl::Span<const Key> keys, size_t* near,
                           Guesses* guesses) const {}

  // Sets guesses->slots.
  virtual void GuessSlots(absl::Span<const Key> keys, Guesses* guesses) const {}

  // The rows of `keys`, null where a key is missing.
  virtual void Find(absl::Span<const Key> keys, const Guesses& guesses,
                    float** rows) const = 0;

  // Find, for rows that may be written: touches their blocks.
  virtual void FindToWrite(absl::Span<const Key> keys, const Guesses& guesses,
                           float** rows) = 0;

  // All three at once.
  void FindNow(absl::Span<const Key> keys, float** rows) const;
  void FindToWriteNow(absl::Span<const Key> keys, float** rows);

  // The first of the rows of consecutive keys [key, key + n) if each row begins
  // where the one before it ends, else null. n > 0.
  virtual float* FindRun(Key key, size_t n) const { return nullptr; }

  // Touches their blocks.
  virtual void TouchRun(Key key, size_t n) {}

  // Apply, for rows that FindRun gave.
  ApplyResult ApplyRun(float* first, KeySpan keys,
                       absl::Span<const float> gradients,
                       const StepContext& step, Overwritten* overwritten);

  // Adds missing keys, strictly increasing, with their rows,
  // [keys * rule().row_cells()]. Touches their blocks. Pointers to rows may not
  // be used afterwards.
  virtual void Insert(absl::Span<const Key> keys, const float* cells) = 0;

  // Replaces slots and runs of `known` by where the rows of `keys` lie. False,
  // where that is no faster than to find them.
  virtual bool Resolve(absl::Span<const Key> keys,
                       ResolvedRows* known) const = 0;

  // New rows on their way into the store.
  class NewRows;
  // The rows of keys, as far as they are known.
  class KnownRows;
  // The rows of keys, found ahead. Store: RowStore to write, else const.
  template <typename Store>
  class FoundRows;

  // Gives each null of `rows` a row in `made`. Returns the bits of those.
  uint64_t MakeMissing(absl::Span<const Key> keys, const LazySums& sums,
                       std::vector<float>* made, float** rows) const;

  const TableSpec table_;
  const Initializer initializer_;
  const KeyRange range_;
  const std::unique_ptr<const UpdateRule> rule_;
  const uint64_t layout_;
  uint64_t places_;
  uint64_t version_ = 1;
  std::vector<uint64_t> block_versions_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_ROW_STORE_H_
