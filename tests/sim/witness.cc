#include "tests/sim/witness.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"

namespace seraph::testing {
namespace {

// Above any number of attempts of a run.
constexpr uint32_t kOnce = 1024;

}  // namespace

uint32_t WitnessJob::columns() const {
  uint32_t sum = 0;
  for (uint32_t n : steps) sum += n;
  return sum * epochs;
}

uint32_t WitnessJob::Column(uint32_t rank, Clock clock) const {
  uint32_t before = 0;
  for (uint32_t r = 0; r < rank; ++r) before += steps[r];
  return before * epochs + clock.epoch * steps[rank] + clock.step;
}

std::pair<uint32_t, Clock> WitnessJob::OfColumn(uint32_t column) const {
  uint32_t rank = 0;
  while (column >= steps[rank] * epochs) column -= steps[rank++] * epochs;
  return {rank, Clock{column / steps[rank], column % steps[rank]}};
}

std::vector<Key> WitnessJob::Pulled(uint32_t rank, uint32_t step,
                                    uint32_t table) const {
  const TableSpec& spec = tables[table];
  // Sparse tables: sixteen keys, spread over all of uint64.
  const bool dense = spec.kind == TableKind::kDense;
  const uint64_t all = dense ? spec.keys : 16;
  const uint64_t apart = dense ? 1 : ~uint64_t{0} / 16;
  if (all == 1) {  // A bias, which odd ranks do without.
    if (rank % 2 == 1) return {};
    return {0};
  }
  std::set<Key> keys;
  // A rank has a region; the last fifth of the keys is nobody's.
  const uint64_t used = std::max<uint64_t>(1, all - all / 5 - 1);
  const uint64_t begin = rank * used / (2 * ranks());
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t bits = Draw(seed, {1, rank, step, table, i});
    keys.insert((begin + ToBelow(bits, (used + 1) / 2)) * apart);
  }
  return {keys.begin(), keys.end()};
}

std::vector<Key> WitnessJob::Pushed(uint32_t rank, Clock clock,
                                    uint32_t attempt, uint32_t table) const {
  std::vector<Key> keys = Pulled(rank, clock.step, table);
  if (!fickle) return keys;
  std::vector<Key> chosen;
  for (Key key : keys) {
    if (Draw(seed, {2, rank, clock.epoch, clock.step, attempt, table, key}) % 4)
      chosen.push_back(key);
  }
  return chosen;
}

float WitnessJob::Number(uint32_t attempt) const {
  if (sync.spec.mode == SyncMode::kBsp) return 1;
  return kOnce + attempt;
}

std::optional<uint32_t> WitnessJob::AttemptOf(float number) const {
  if (sync.spec.mode == SyncMode::kBsp) {
    return number == 1 ? std::optional<uint32_t>(1) : std::nullopt;
  }
  if (number <= kOnce || number >= 2 * kOnce || number != std::floor(number)) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(number) - kOnce;
}

float WitnessJob::Share(uint32_t rank, Clock clock) const {
  // Magnitudes so far apart that no other order gives the same sum.
  const uint64_t bits = Draw(seed, {3, rank, clock.epoch, clock.step});
  const float fraction = 1 + static_cast<float>(bits % 8191) / 8192;
  return std::ldexp(bits & (uint64_t{1} << 40) ? fraction : -fraction,
                    static_cast<int>(bits >> 50) % 20);
}

float WitnessJob::Folded(Clock clock, uint32_t table, Key key) const {
  uint32_t longest = 0;
  for (uint32_t n : steps) longest = std::max(longest, n);
  float value = 0;
  for (Clock at; at < clock && at.epoch < epochs;) {
    std::optional<float> sum;
    for (uint32_t rank = 0; rank < ranks(); ++rank) {
      if (at.step >= steps[rank]) continue;
      const std::vector<Key> keys = Pulled(rank, at.step, table);
      if (!std::binary_search(keys.begin(), keys.end(), key)) continue;
      const float share = Share(rank, at);
      sum = sum.has_value() ? *sum + share : share;
    }
    if (sum.has_value()) value += *sum;
    at = at.step + 1 < longest ? at.NextStep() : at.NextEpoch();
  }
  return value;
}

std::vector<float> WitnessJob::Values(uint32_t rank, Clock clock,
                                      uint32_t attempt, size_t n) const {
  std::vector<float> values(n * width());
  for (size_t i = 0; i < n; ++i) {
    values[i * width() + Column(rank, clock)] = Number(attempt);
    if (sync.spec.mode == SyncMode::kBsp) {
      values[i * width() + columns()] = Share(rank, clock);
    }
  }
  return values;
}

std::vector<Key> WitnessJob::KeysOfSession(uint32_t session) const {
  return Pulled(session % ranks(), session % steps[session % ranks()], 0);
}

std::vector<float> WitnessJob::SessionValues(uint32_t session,
                                             uint32_t number) const {
  std::vector<float> values(KeysOfSession(session).size() * width());
  for (size_t i = columns() + session; i < values.size(); i += width()) {
    values[i] = std::ldexp(1.0f, 2 * (number - 1));
  }
  return values;
}

WitnessChecker::WitnessChecker(const WitnessJob& job) : job_(job) {
  for (const TableSpec& table : job.tables) cuts_.emplace_back(table);
  lives_[1].columns.resize(job.columns());
}

void WitnessChecker::Report(std::string error) {
  if (errors_.size() < 20) errors_.push_back(std::move(error));
}

WitnessChecker::Life& WitnessChecker::LifeOf(uint64_t generation) {
  Life& life = lives_[generation];
  if (life.columns.empty()) life.columns.resize(job_.columns());
  life.sessions.resize(job_.sessions);
  return life;
}

void WitnessChecker::WentBack(uint64_t generation, std::vector<Clock> cut) {
  if (lives_.count(generation) > 0) return;
  cut.resize(job_.ranks());
  Life life;
  life.columns = lives_.rbegin()->second.columns;
  for (uint32_t c = 0; c < life.columns.size(); ++c) {
    const auto [rank, clock] = job_.OfColumn(c);
    if (clock >= cut[rank]) life.columns[c] = Column();
    // The cut's may be another attempt's entry than was seen later on.
    life.columns[c].places.clear();
  }
  lives_[generation] = std::move(life);
}

void WitnessChecker::PullStarts(const Who& who, Clock clock) {
  LifeOf(who.generation).pulls[{who.rank, who.attempt, clock}] = ++now_;
}

void WitnessChecker::PushStarts(const Who& who, Clock clock) {
  ++pushes_;
  Life& life = LifeOf(who.generation);
  Column& column = life.columns[job_.Column(who.rank, clock)];
  column.attempts = std::max(column.attempts, who.attempt);
  if (column.started == kNever) column.started = ++now_;
  if (job_.sync.spec.mode == SyncMode::kAsp) return;
  const uint32_t ahead =
      job_.sync.spec.mode == SyncMode::kSsp ? job_.sync.spec.staleness : 0;
  for (uint32_t c = 0; c < life.columns.size(); ++c) {
    const auto [rank, other] = job_.OfColumn(c);
    if (rank == who.rank || life.columns[c].started != kNever) continue;
    const bool bound = other.epoch < clock.epoch ||
                       (other.epoch == clock.epoch &&
                        uint64_t{other.step} + ahead < clock.step);
    if (bound) {
      Report(absl::StrCat("rank ", who.rank, " pushes ", ToString(clock),
                          " while rank ", rank, " has not pushed ",
                          ToString(other)));
    }
  }
}

void WitnessChecker::PushEnds(const Who& who, Clock clock) {
  ++acknowledged_;
  Column& column = LifeOf(who.generation).columns[job_.Column(who.rank, clock)];
  if (column.acknowledged == kNever) column.acknowledged = ++now_;
}

bool WitnessChecker::MustHave(const Who& who, Clock clock, uint32_t rank,
                              Clock other) const {
  const SyncSpec& sync = job_.sync.spec;
  const auto steps_behind = [&](uint32_t steps) {
    return other.epoch < clock.epoch ||
           (other.epoch == clock.epoch &&
            uint64_t{other.step} + steps < clock.step);
  };
  switch (sync.mode) {
    case SyncMode::kBsp:
      return other < clock;
    case SyncMode::kSsp:
      return steps_behind(sync.staleness) ||
             (rank == who.rank && steps_behind(sync.pipeline));
    case SyncMode::kAsp:
      return (rank == who.rank && steps_behind(sync.pipeline)) ||
             (job_.sync.epoch_barrier && other.epoch < clock.epoch);
  }
  return false;
}

void WitnessChecker::PullEnds(const Who& who, Clock clock,
                              const std::vector<std::vector<Key>>& keys,
                              absl::Span<const absl::Span<const float>> rows) {
  ++pulls_;
  ++now_;
  Life& life = LifeOf(who.generation);
  const Instant began = life.pulls[{who.rank, who.attempt, clock}];
  const bool is_asp = job_.sync.spec.mode == SyncMode::kAsp;
  std::vector<bool> must(job_.columns());
  for (uint32_t c = 0; c < must.size(); ++c) {
    const auto [rank, other] = job_.OfColumn(c);
    must[c] = MustHave(who, clock, rank, other) ||
              (is_asp && life.columns[c].acknowledged < began);
  }
  for (uint32_t t = 0; t < keys.size(); ++t) {
    const std::string where = absl::StrCat(
        "rank ", who.rank, ", attempt ", who.attempt, ", generation ",
        who.generation, " pulls ", ToString(clock), ": ");
    CheckRows(where, &life, t, keys[t], rows[t], must,
              /*exactly=*/job_.sync.spec.mode == SyncMode::kBsp,
              /*remember=*/true);
    if (job_.sync.spec.mode == SyncMode::kBsp) {
      CheckFold(where, t, keys[t], rows[t], clock);
    }
    if (job_.sync.spec.mode == SyncMode::kSsp) {
      CheckBound(where, who, clock, rows[t]);
    }
    CheckSeen(where, who, began, t, keys[t], rows[t]);
    if (t == 0) CheckSessions(where, who, began, keys[t], rows[t]);
  }
}

void WitnessChecker::CheckFold(const std::string& where, uint32_t table,
                               const std::vector<Key>& keys,
                               absl::Span<const float> rows, Clock clock) {
  const uint32_t width = job_.width();
  for (size_t i = 0; i < keys.size(); ++i) {
    const float wanted = job_.Folded(clock, table, keys[i]);
    const float found = rows[i * width + job_.columns()];
    if (found == wanted) continue;
    Report(absl::StrCat(where, "table ", table, ", key ", keys[i],
                        ": the ranks' shares add up to ", found, " instead of ",
                        wanted));
    return;
  }
}

void WitnessChecker::CheckBound(const std::string& where, const Who& who,
                                Clock clock, absl::Span<const float> rows) {
  // Where a rank begins anew some partitions may have its entry of this clock
  // already, so that others were let go by them.
  const uint64_t ahead = job_.sync.spec.staleness + (who.attempt > 1);
  const uint32_t width = job_.width();
  for (uint32_t c = 0; c < job_.columns(); ++c) {
    const auto [rank, other] = job_.OfColumn(c);
    if (other.epoch < clock.epoch ||
        (other.epoch == clock.epoch && other.step <= clock.step + ahead)) {
      continue;
    }
    for (size_t i = c; i < rows.size(); i += width) {
      if (rows[i] == 0) continue;
      Report(absl::StrCat(where, "rank ", rank, "'s entry ", ToString(other),
                          " is there, beyond the bound"));
      break;
    }
  }
}

void WitnessChecker::CheckRows(const std::string& where, Life* life,
                               uint32_t table, const std::vector<Key>& keys,
                               absl::Span<const float> rows,
                               const std::vector<bool>& must, bool exactly,
                               bool remember) {
  const uint32_t width = job_.width();
  std::map<uint32_t, std::vector<size_t>> by_partition;
  for (size_t i = 0; i < keys.size(); ++i) {
    by_partition[cuts_[table].PartitionOf(
                     ToMixedKey(job_.tables[table], keys[i]))]
        .push_back(i);
  }
  for (const auto& [partition, indices] : by_partition) {
    for (uint32_t c = 0; c < job_.columns(); ++c) {
      const auto [rank, clock] = job_.OfColumn(c);
      Column& column = life->columns[c];
      const std::string entry =
          absl::StrCat(where, "table ", table, ", partition ", partition,
                       ", rank ", rank, "'s entry ", ToString(clock), ": ");
      std::optional<uint32_t> attempt;
      bool broken = false;
      for (size_t i : indices) {
        const float number = rows[i * width + c];
        if (number == 0) continue;
        const auto here = job_.AttemptOf(number);
        if (!here.has_value()) {
          Report(absl::StrCat(entry, "key ", keys[i], " has ", number,
                              ", which is no single push"));
          broken = true;
        } else if (attempt.has_value() && *attempt != *here) {
          Report(absl::StrCat(entry, "of two attempts"));
          broken = true;
        }
        attempt = here;
      }
      if (broken) continue;
      Place& place = column.places[{table, partition}];
      if (!attempt.has_value()) {
        // Not there; or nothing of the keys that were asked for is in it.
        if (!must[c]) continue;
        bool missing = false;
        uint32_t first = 1, last = std::max(1u, column.attempts);
        if (remember && place.seen != kNever) first = last = place.attempt;
        // Every attempt that may be it would show.
        for (uint32_t a = first; a <= last; ++a) {
          const std::vector<Key> pushed = job_.Pushed(rank, clock, a, table);
          bool shows = false;
          for (size_t i : indices) {
            shows = shows ||
                    std::binary_search(pushed.begin(), pushed.end(), keys[i]);
          }
          if (!shows) {
            missing = false;
            break;
          }
          missing = true;
        }
        if (missing) Report(absl::StrCat(entry, "is missing"));
        continue;
      }
      if (column.started == kNever) {
        Report(absl::StrCat(entry, "nobody has pushed it"));
        continue;
      }
      if (exactly && !must[c]) {
        Report(absl::StrCat(entry, "is there too early"));
      }
      const std::vector<Key> pushed = job_.Pushed(rank, clock, *attempt, table);
      for (size_t i : indices) {
        const bool wanted =
            std::binary_search(pushed.begin(), pushed.end(), keys[i]);
        if (wanted != (rows[i * width + c] != 0)) {
          Report(absl::StrCat(entry, "is torn at key ", keys[i]));
        }
      }
      if (!remember) continue;
      if (place.seen == kNever) {
        place.seen = now_;
        place.attempt = *attempt;
      } else if (place.attempt != *attempt) {
        Report(absl::StrCat(entry, "was seen of attempt ", place.attempt,
                            ", and is of attempt ", *attempt, " now"));
      }
    }
  }
}

void WitnessChecker::Final(uint64_t generation, uint32_t table, uint32_t epochs,
                           const std::map<Key, std::vector<float>>& rows) {
  ++now_;
  std::vector<bool> must(job_.columns());
  for (uint32_t c = 0; c < must.size(); ++c) {
    must[c] = job_.OfColumn(c).second.epoch < epochs;
  }
  CheckAll("at the end: ", &LifeOf(generation), table, rows, must,
           /*remember=*/true);
  CheckFoldOf("at the end: ", table, rows, {epochs, 0});
  if (table == 0) CheckSessionsAtEnd(generation, rows);
}

void WitnessChecker::Cut(uint64_t generation, const std::string& name,
                         const std::vector<Clock>& cut, uint32_t table,
                         const std::map<Key, std::vector<float>>& rows) {
  std::vector<bool> must(job_.columns());
  for (uint32_t c = 0; c < must.size(); ++c) {
    const auto [rank, clock] = job_.OfColumn(c);
    must[c] = clock < cut[rank];
  }
  CheckAll(absl::StrCat(name, ": "), &LifeOf(generation), table, rows, must,
           /*remember=*/false);
  CheckFoldOf(absl::StrCat(name, ": "), table, rows,
              *std::min_element(cut.begin(), cut.end()));
}

void WitnessChecker::CheckFoldOf(const std::string& where, uint32_t table,
                                 const std::map<Key, std::vector<float>>& rows,
                                 Clock clock) {
  if (job_.sync.spec.mode != SyncMode::kBsp) return;
  std::vector<Key> keys;
  std::vector<float> values;
  for (const auto& [key, row] : rows) {
    keys.push_back(key);
    values.insert(values.end(), row.begin(), row.end());
  }
  CheckFold(where, table, keys, values, clock);
}

void WitnessChecker::CheckAll(const std::string& where, Life* life,
                              uint32_t table,
                              const std::map<Key, std::vector<float>>& rows,
                              const std::vector<bool>& must, bool remember) {
  std::vector<Key> keys;
  std::vector<float> values;
  // Also those that should exist and do not.
  std::set<Key> all;
  for (uint32_t c = 0; c < job_.columns(); ++c) {
    const auto [rank, clock] = job_.OfColumn(c);
    for (Key key : job_.Pulled(rank, clock.step, table)) all.insert(key);
  }
  for (const auto& [key, row] : rows) all.insert(key);
  for (Key key : all) {
    keys.push_back(key);
    const auto it = rows.find(key);
    if (it == rows.end()) {
      values.resize(values.size() + job_.width());
    } else {
      values.insert(values.end(), it->second.begin(), it->second.end());
    }
  }
  CheckRows(where, life, table, keys, values, must, /*exactly=*/true, remember);
}

}  // namespace seraph::testing
