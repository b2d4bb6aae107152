#include "server/store/row_store.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "common/base/finite.h"
#include "common/table/partitioning.h"

namespace seraph {
namespace {

constexpr size_t kGroup = UpdateRule::kMaxRows;

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

absl::Status NotInRange(Key key, const KeyRange& range) {
  return absl::OutOfRangeError(absl::StrCat(
      "key ", key, " is not in the range ", range.first, "..", range.last));
}

// The order in which keys ascend; empty if they do already.
std::vector<size_t> Order(absl::Span<const Key> keys) {
  std::vector<size_t> order;
  if (std::is_sorted(keys.begin(), keys.end())) return order;
  order.resize(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace

// Collects them, so that rows of one block come into it together.
class RowStore::NewRows {
 public:
  explicit NewRows(RowStore* store)
      : store_(store), row_cells_(store->rule().row_cells()) {}

  // The new row of a missing key, to be set before the next call. Keys ascend.
  float* Add(Key key) {
    keys_.push_back(key);
    cells_.resize(keys_.size() * row_cells_);
    return cells_.data() + cells_.size() - row_cells_;
  }

  // Inserts what there is if that is much, or if `all` is wanted. Rows of the
  // store may move.
  void Insert(bool all) {
    if (keys_.empty() || (!all && cells_.size() < kManyCells)) return;
    store_->Insert(keys_, cells_.data());
    keys_.clear();
    cells_.clear();
  }

 private:
  // Little, so that the blocks that they come into are still in the cache.
  static constexpr size_t kManyCells = size_t{1} << 12;

  RowStore* const store_;
  const size_t row_cells_;
  std::vector<Key> keys_;
  std::vector<float> cells_;
};

// Gives them in groups of kGroup keys, and has those of the next group fetched
// meanwhile: where rows lie is known before they are there.
class RowStore::KnownRows {
 public:
  // What is not known yet becomes so if no row has moved since it was asked for
  // last: of a table that grows all the time, nothing is ever put down.
  KnownRows(const RowStore& store, KeySpan keys, ResolvedRows* known)
      : store_(store), row_cells_(store.rule().row_cells()) {
    // Lists that come again are written out.
    if (known == nullptr || keys.is_range()) return;
    if (known->places != store.places() || known->slots.size() != keys.size()) {
      if (std::exchange(known->asked, store.places()) != store.places()) return;
      known->places = 0;
      if (!store.Resolve(keys.list(), known)) return;
      known->places = store.places();
    }
    known_ = known;
    Fetch();
  }

  // The blocks that rows are in.
  absl::Span<const ResolvedRows::Run> runs() const {
    if (known_ == nullptr) return {};
    return known_->runs;
  }

  // False from the moment on from which Take can but say false.
  bool is_known() const { return known_ != nullptr; }

  // Whether all rows of the next n keys, a group, are there and known; `rows`
  // are these. A key that is missing may have come into being; where rows have
  // moved since, nothing is known any more.
  bool Take(size_t n, float** rows) {
    if (known_ == nullptr) return false;
    if (known_->places != store_.places()) {
      known_ = nullptr;
      return false;
    }
    std::copy_n(next_, n, rows);
    const bool complete = complete_;
    Fetch();
    return complete;
  }

 private:
  void Fetch() {
    complete_ = true;
    const size_t end = std::min(done_ + kGroup, known_->slots.size());
    float** next = next_;
    while (done_ < end) {
      if (run_ == known_->runs.size()) {  // None of the keys has a row.
        complete_ = false;
        done_ = end;
        return;
      }
      const ResolvedRows::Run& run = known_->runs[run_];
      const size_t run_end = std::min<size_t>(run.end, end);
      for (; done_ < run_end; ++done_) {
        const uint32_t slot = known_->slots[done_];
        const bool is_there = slot != ResolvedRows::kMissing;
        complete_ &= is_there;
        *next = run.rows + (is_there ? size_t{slot} * row_cells_ : 0);
        __builtin_prefetch(*next, 1);
        if (row_cells_ > kLine) Prefetch(*next);
        ++next;
      }
      if (done_ == run.end) ++run_;
    }
  }

  // Wide rows up to a limit; what follows, the processor guesses by itself.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Prefetch(const float* row) const {
    const size_t cells = std::min(row_cells_, 16 * kLine);
    for (size_t i = kLine; i < cells; i += kLine)
      __builtin_prefetch(row + i, 1);
  }

  static constexpr size_t kLine = 64 / sizeof(float);

  const RowStore& store_;
  const size_t row_cells_;
  const ResolvedRows* known_ = nullptr;
  size_t run_ = 0;   // Of the next key to be fetched ...
  size_t done_ = 0;  // ... which has this index.
  float* next_[kGroup];
  bool complete_ = false;  // All of next_ are there.
};

// Gives them in groups of kGroup keys. While a group is read or written, the
// memory of those behind it is on its way: the next one's rows, the keys of the
// one after, and where that of the third lies.
template <typename Store>
class RowStore::FoundRows {
 public:
  FoundRows(Store& store, KeySpan keys) : store_(store), keys_(keys) {}

  // Sets `rows`, null where a key is missing, to those of the group at `begin`.
  // Rows may have moved since the last call.
  void Take(size_t begin, float** rows) {
    if (begin != next_ || places_ != store_.places()) Start(begin);
    const Group& group = At(0);
    std::copy_n(rows_, group.keys.size(), rows);
    next_ = begin + group.keys.size();
    Advance();
  }

 private:
  struct Group {
    absl::Span<const Key> keys;  // Empty behind the last ones.
    Key written[kGroup];
    Guesses guesses;
  };

  Group& At(size_t ahead) { return groups_[(turn_ + ahead) % kGroups]; }

  void Start(size_t begin) {
    places_ = store_.places();
    near_ = 0;
    end_ = begin;
    for (Group& group : groups_) group.keys = {};
    for (size_t i = 0; i < kGroups - 1; ++i) Advance();
  }

  // Each group comes one step nearer.
  void Advance() {
    ++turn_;
    if (Group& group = At(0); !group.keys.empty()) {
      if constexpr (std::is_const_v<Store>) {
        store_.Find(group.keys, group.guesses, rows_);
      } else {
        store_.FindToWrite(group.keys, group.guesses, rows_);
      }
    }
    if (Group& group = At(1); !group.keys.empty()) {
      store_.GuessSlots(group.keys, &group.guesses);
    }
    Group& group = At(2);
    group.keys = keys_.subspan(end_, kGroup).WriteOut(group.written);
    end_ += group.keys.size();
    if (!group.keys.empty()) {
      store_.GuessBlocks(group.keys, &near_, &group.guesses);
    }
  }

  static constexpr size_t kGroups = 4;  // Three, and one that makes % fast.

  Store& store_;
  const KeySpan keys_;
  uint64_t places_ = 0;  // Of what is found and guessed; 0: nothing yet.
  size_t next_ = 0;      // Where the first group begins ...
  size_t end_ = 0;       // ... and the last one ends.
  size_t near_ = 0;
  size_t turn_ = 0;  // The first group is at this, modulo kGroups.
  Group groups_[kGroups];
  float* rows_[kGroup];  // Of the first group.
};

RowStore::RowStore(const TableSpec& table, const KeyRange& range,
                   std::unique_ptr<const UpdateRule> rule)
    : table_(table),
      initializer_(table),
      range_(range),
      rule_(std::move(rule)),
      layout_(NextNumber()),
      places_(NextNumber()) {}

void RowStore::MoveRows() { places_ = NextNumber(); }

void RowStore::FindNow(absl::Span<const Key> keys, float** rows) const {
  Guesses guesses;
  size_t near = 0;
  GuessBlocks(keys, &near, &guesses);
  GuessSlots(keys, &guesses);
  Find(keys, guesses, rows);
}

void RowStore::FindToWriteNow(absl::Span<const Key> keys, float** rows) {
  Guesses guesses;
  size_t near = 0;
  GuessBlocks(keys, &near, &guesses);
  GuessSlots(keys, &guesses);
  FindToWrite(keys, guesses, rows);
}

absl::Status RowStore::CheckKeys(KeySpan keys) const {
  if (keys.empty()) return absl::OkStatus();
  if (const size_t i = keys.FirstNotAbove(); i < keys.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys do not strictly increase: ", keys[i - 1],
                     " stands before ", keys[i]));
  }
  for (const Key key : {keys.front(), keys.back()}) {
    if (!range_.Contains(key)) return NotInRange(key, range_);
  }
  return absl::OkStatus();
}

void RowStore::InitRow(Key key, const LazySums& sums, float* row) const {
  // The weights are drawn into the row itself, where the rule wants them too.
  const absl::Span<float> weights(row, width());
  initializer_.Fill(ToOriginalKey(table_, key), weights);
  rule_->InitRow(weights, sums, row);
}

uint64_t RowStore::MakeMissing(absl::Span<const Key> keys, const LazySums& sums,
                               std::vector<float>* made, float** rows) const {
  const size_t cells = rule_->row_cells();
  uint64_t missing = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (rows[i] != nullptr) continue;
    missing |= uint64_t{1} << i;
    made->resize(kGroup * cells);
    rows[i] = made->data() + i * cells;
    InitRow(keys[i], sums, rows[i]);
  }
  return missing;
}

void RowStore::Read(KeySpan keys, const LazySums& now, absl::Span<float> out,
                    ResolvedRows* known) const {
  if (!keys.empty()) {
    const float* const first = FindRun(keys.front(), keys.size());
    if (first != nullptr && keys.AreConsecutive()) {
      return rule_->ReadRun(first, keys.size(), now, out.data());
    }
  }
  std::vector<float> made;
  Key written[kGroup];
  float* rows[kGroup];
  KnownRows known_rows(*this, keys, known);
  FoundRows<const RowStore> found_rows(*this, keys);
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, kGroup).WriteOut(written);
    if (!known_rows.Take(group.size(), rows)) {
      if (known_rows.is_known()) {  // Most other groups need no search.
        FindNow(group, rows);
      } else {
        found_rows.Take(begin, rows);
      }
      MakeMissing(group, now, &made, rows);
    }
    rule_->Read(absl::MakeConstSpan(rows, group.size()), now,
                out.data() + begin * width());
  }
}

std::vector<uint8_t> RowStore::Exist(absl::Span<const Key> keys) const {
  std::vector<uint8_t> exist(keys.size());
  float* rows[kGroup];
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, kGroup);
    FindNow(group, rows);
    for (size_t i = 0; i < group.size(); ++i) {
      exist[begin + i] = rows[i] != nullptr;
    }
  }
  return exist;
}

void RowStore::ReadBefore(KeySpan keys, const Overwritten& overwritten,
                          absl::Span<float> out) const {
  const KeySpan old = overwritten.keys;
  if (keys == old) {
    std::copy(overwritten.values.begin(), overwritten.values.end(),
              out.begin());
    return;
  }
  // Rows that the step did not write are as they were.
  Read(keys, overwritten.sums, out);
  size_t index = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    index = old.LowerBound(index, keys[i]);
    if (index == old.size()) return;
    if (old[index] != keys[i]) continue;
    std::copy_n(overwritten.values.begin() + index * width(), width(),
                out.begin() + i * width());
  }
}

ApplyResult RowStore::Apply(KeySpan keys, absl::Span<const float> gradients,
                            const StepContext& step, Overwritten* overwritten,
                            ResolvedRows* known) {
  if (overwritten != nullptr) {
    overwritten->keys = KeySet(keys);
    overwritten->values.resize(keys.size() * width());
    overwritten->existed.assign(keys.size(), 1);
    overwritten->sums = step.before;
  }
  if (!keys.empty() && keys.AreConsecutiveIfIncreasing()) {
    float* const first = FindRun(keys.front(), keys.size());
    if (first != nullptr) {
      return ApplyRun(first, keys, gradients, step, overwritten);
    }
  }
  ApplyResult result;
  NewRows created(this);
  std::vector<float> made;
  Key written[kGroup];
  float* rows[kGroup];
  KnownRows known_rows(*this, keys, known);
  for (const ResolvedRows::Run& run : known_rows.runs()) Touch(run.block);
  FoundRows<RowStore> found_rows(*this, keys);
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, kGroup).WriteOut(written);
    uint64_t missing = 0;
    if (!known_rows.Take(group.size(), rows)) {
      if (known_rows.is_known()) {
        FindToWriteNow(group, rows);
      } else {
        found_rows.Take(begin, rows);
      }
      missing = MakeMissing(group, step.before, &made, rows);
    }
    if (overwritten != nullptr) {
      rule_->Read(absl::MakeConstSpan(rows, group.size()), step.before,
                  overwritten->values.data() + begin * width());
    }
    const uint64_t not_finite =
        rule_->Step(absl::MakeConstSpan(rows, group.size()),
                    gradients.data() + begin * width(), step);
    if ((missing | not_finite) == 0) continue;
    for (size_t i = 0; i < group.size(); ++i) {
      const bool is_missing = (missing >> i) & 1;
      if (is_missing && overwritten != nullptr) {
        overwritten->existed[begin + i] = 0;
      }
      if ((not_finite >> i) & 1) {
        if (result.not_finite++ == 0) result.first_not_finite = begin + i;
      } else if (is_missing) {
        std::copy_n(rows[i], rule_->row_cells(), created.Add(group[i]));
        ++result.created;
      }
    }
    created.Insert(false);
  }
  created.Insert(true);
  return result;
}

ApplyResult RowStore::ApplyRun(float* first, KeySpan keys,
                               absl::Span<const float> gradients,
                               const StepContext& step,
                               Overwritten* overwritten) {
  TouchRun(keys.front(), keys.size());
  ApplyResult result;
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const size_t n = std::min(kGroup, keys.size() - begin);
    float* const rows = first + begin * rule_->row_cells();
    if (overwritten != nullptr) {
      rule_->ReadRun(rows, n, step.before,
                     overwritten->values.data() + begin * width());
    }
    const uint64_t not_finite =
        rule_->StepRun(rows, n, gradients.data() + begin * width(), step);
    if (not_finite == 0) continue;
    if (result.not_finite == 0) {
      result.first_not_finite = begin + std::countr_zero(not_finite);
    }
    result.not_finite += std::popcount(not_finite);
  }
  return result;
}

absl::Status RowStore::Load(absl::Span<const Key> keys,
                            absl::Span<const float> values) {
  if (const size_t i = FirstNotFinite(values); i < values.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the value of key ", ToOriginalKey(table_, keys[i / width()]),
        ", column ", i % width(), ", is not finite"));
  }
  NewRows created(this);
  float* rows[kGroup];
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, kGroup);
    FindToWriteNow(group, rows);
    for (size_t i = 0; i < group.size(); ++i) {
      float* row = rows[i] != nullptr ? rows[i] : created.Add(group[i]);
      rule_->InitRow(values.subspan((begin + i) * width(), width()), LazySums{},
                     row);
    }
    created.Insert(false);
  }
  created.Insert(true);
  return absl::OkStatus();
}

ApplyResult RowStore::SetWeights(absl::Span<const Key> keys,
                                 absl::Span<const float> values,
                                 const LazySums& now) {
  ApplyResult result;
  NewRows created(this);
  float* rows[kGroup];
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const auto group = keys.subspan(begin, kGroup);
    FindToWriteNow(group, rows);
    for (size_t i = 0; i < group.size(); ++i) {
      const auto weights = values.subspan((begin + i) * width(), width());
      if (FirstNotFinite(weights) < weights.size()) {
        if (result.not_finite++ == 0) result.first_not_finite = begin + i;
      } else if (rows[i] != nullptr) {
        rule_->SetWeights(weights, now, rows[i]);
      } else {
        rule_->InitRow(weights, now, created.Add(group[i]));
        ++result.created;
      }
    }
    created.Insert(false);
  }
  created.Insert(true);
  return result;
}

absl::Status RowStore::RestoreRows(absl::Span<const Key> keys,
                                   absl::Span<const float> cells) {
  const size_t row_cells = rule_->row_cells();
  if (cells.size() != keys.size() * row_cells) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", table_.name, "': ", cells.size(), " cells for ",
                     keys.size(), " rows of ", row_cells));
  }
  for (const Key key : keys) {
    if (!range_.Contains(key)) return NotInRange(key, range_);
  }
  const std::vector<size_t> order = Order(keys);
  const auto at = [&](size_t i) { return order.empty() ? i : order[i]; };
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[at(i - 1)] == keys[at(i)]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table '", table_.name, "': key ", keys[at(i)], " has two rows"));
    }
  }
  NewRows created(this);
  Key group[kGroup];
  float* rows[kGroup];
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const size_t n = std::min(kGroup, keys.size() - begin);
    for (size_t i = 0; i < n; ++i) group[i] = keys[at(begin + i)];
    FindToWriteNow(absl::MakeConstSpan(group, n), rows);
    for (size_t i = 0; i < n; ++i) {
      float* row = rows[i] != nullptr ? rows[i] : created.Add(group[i]);
      std::copy_n(cells.data() + at(begin + i) * row_cells, row_cells, row);
    }
    created.Insert(false);
  }
  created.Insert(true);
  return absl::OkStatus();
}

}  // namespace seraph
