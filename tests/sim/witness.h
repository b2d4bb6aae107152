// Jobs whose parameters say which pushes are in them, and a checker of that.
#ifndef SERAPH_TESTS_SIM_WITNESS_H_
#define SERAPH_TESTS_SIM_WITNESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/key.h"
#include "common/table/partitioning.h"
#include "common/table/table_spec.h"
#include "server/core/sync_policy.h"

namespace seraph::testing {

// Every row has a column for each (rank, clock) of the job, and the optimizer
// is `sum`. An entry adds a number in its own column, so a row is the set of
// the entries that were applied to it: 0 absent, twice the number twice.
//
// In bsp the number is 1. In ssp and asp it tells the attempt that pushed, and
// (`fickle`) which keys an entry pushes depends on its attempt, as where a
// gradient is sparse in its weights: of two attempts a partition must have one,
// whole.
struct WitnessJob {
  uint64_t seed = 1;
  SyncPolicy sync;
  uint32_t epochs = 1;
  std::vector<uint32_t> steps;    // By rank: batches of an epoch.
  std::vector<TableSpec> tables;  // Of width width().
  bool fickle = false;
  // Clients that are no ranks (ssp, asp), which push to table 0. Each has a
  // column of its own, behind those of the entries.
  uint32_t sessions = 0;

  uint32_t ranks() const { return steps.size(); }
  uint32_t columns() const;  // Of entries: of the steps and epochs.
  // In bsp a further one, in which all ranks push and the order counts; else
  // those of the sessions.
  uint32_t width() const {
    return columns() + (sync.spec.mode == SyncMode::kBsp ? 1 : sessions);
  }
  // Clocks of batches, not of the entries that end an epoch.
  uint32_t Column(uint32_t rank, Clock clock) const;
  std::pair<uint32_t, Clock> OfColumn(uint32_t column) const;

  // Original keys, ascending: what the batch pulls of a table, and what an
  // attempt pushes of that. Ranks touch some of the partitions, and the last
  // keys are pulled by nobody.
  std::vector<Key> Pulled(uint32_t rank, uint32_t step, uint32_t table) const;
  std::vector<Key> Pushed(uint32_t rank, Clock clock, uint32_t attempt,
                          uint32_t table) const;
  // What a rank pushes to the last column in bsp, for every key.
  float Share(uint32_t rank, Clock clock) const;
  // What is in the last column of a key when the clocks before `clock` are:
  // each clock's shares folded by rank, in order of the clocks.
  float Folded(Clock clock, uint32_t table, Key key) const;
  // [n * width()] of n pushed keys.
  std::vector<float> Values(uint32_t rank, Clock clock, uint32_t attempt,
                            size_t n) const;
  // The same for push `number` (from 1) of a session, of all its keys. The
  // numbers are digits of a sum: it tells each push that is in it, and how
  // often, as long as that is below four times.
  static constexpr uint32_t kMostOfSession = 11;  // Above, float32 would round.
  std::vector<Key> KeysOfSession(uint32_t session) const;
  std::vector<float> SessionValues(uint32_t session, uint32_t number) const;
  float Number(uint32_t attempt) const;
  std::optional<uint32_t> AttemptOf(float number) const;  // Unset: none.
};

// Checks what readers see against what was pushed and acknowledged.
//
//   * Nothing is there twice or in part: of an entry a partition has all its
//     keys or none, of one attempt, and for ever the same one.
//   * Nothing is there that was not pushed.
//   * bsp: exactly the clocks before; ssp: all up to the bound; own pushes.
//   * asp: a pull that begins after a push was acknowledged, or after somebody
//     saw it, contains it.
//   * ssp: so does a pull of whoever saw it, or was told so as a session.
//   * Of a session the first pushes are there, each once, up to one of them.
//   * ssp: nobody pushes further ahead than the bound lets it, nor is an entry
//     seen that its rank should not have been let to make.
//
// Generations of a job have histories of their own; a later one begins with
// what lies before the cut that it went back to.
class WitnessChecker {
 public:
  explicit WitnessChecker(const WitnessJob& job);

  // Everything at or behind `cut` (by rank; empty: the start) is undone.
  void WentBack(uint64_t generation, std::vector<Clock> cut);

  struct Who {
    uint64_t generation = 1;
    uint32_t rank = 0;
    uint32_t attempt = 1;
  };

  // A session is who has `rank` ranks() + its index, and attempt 1.
  Who Session(uint64_t generation, uint32_t index) const {
    return {generation, job_.ranks() + index, 1};
  }

  void PullStarts(const Who& who, Clock clock);
  // The rows of a pull: of each table [keys.size() * width].
  void PullEnds(const Who& who, Clock clock,
                const std::vector<std::vector<Key>>& keys,
                absl::Span<const absl::Span<const float>> rows);
  void PushStarts(const Who& who, Clock clock);
  // By all partitions.
  void PushEnds(const Who& who, Clock clock);

  // Of a session: pulls without a clock, one at a time, and numbered pushes.
  void LookStarts(const Who& who);
  void LookEnds(const Who& who, const std::vector<Key>& keys,
                absl::Span<const float> rows);
  void SessionPushStarts(const Who& who, uint32_t number);
  void SessionPushEnds(const Who& who, uint32_t number);

  // At the end, of a job that trained so many epochs and of whose sessions all
  // pushes were acknowledged: all rows that exist of a table, original keys.
  void Final(uint64_t generation, uint32_t table, uint32_t epochs,
             const std::map<Key, std::vector<float>>& rows);
  // The same of a cut: the entries before `cut` (by rank), and no other.
  void Cut(uint64_t generation, const std::string& name,
           const std::vector<Clock>& cut, uint32_t table,
           const std::map<Key, std::vector<float>>& rows);

  const std::vector<std::string>& errors() const { return errors_; }
  void Report(std::string error);

  int pulls() const { return pulls_; }
  int pushes() const { return pushes_; }
  int acknowledged() const { return acknowledged_; }
  int looks() const { return looks_; }
  int session_pushes() const { return session_pushes_; }

 private:
  using Instant = uint64_t;
  static constexpr Instant kNever = ~Instant{0};

  // An entry at a partition.
  struct Place {
    Instant seen = kNever;
    uint32_t attempt = 0;  // As seen.
  };
  struct Column {
    uint32_t attempts = 0;  // The highest that pushes.
    Instant started = kNever;
    Instant acknowledged = kNever;
    std::map<std::pair<uint32_t, uint32_t>, Place> places;
  };
  // A session's pushes, the first one first.
  struct Numbered {
    uint32_t started = 0;
    std::vector<Instant> acknowledged;
    std::vector<Instant> seen;  // By anyone.
  };
  // What one client has seen: entries by table, partition and column, and
  // pushes by session.
  struct Shown {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Instant> entries;
    std::map<uint32_t, uint32_t> pushes;
  };
  struct Life {
    std::vector<Column> columns;
    std::map<std::tuple<uint32_t, uint32_t, Clock>, Instant> pulls;
    std::vector<Numbered> sessions;
    std::map<uint32_t, Instant> looks;  // By session: when it began.
    std::map<std::pair<uint32_t, uint32_t>, Shown> shown;  // Rank, attempt.
  };

  Life& LifeOf(uint64_t generation);
  // What a pull at `clock` must have, whoever acknowledged what.
  bool MustHave(const Who& who, Clock clock, uint32_t rank, Clock other) const;
  // `exactly`: no others than those of `must`. `remember`: what is seen here is
  // there for good.
  void CheckRows(const std::string& where, Life* life, uint32_t table,
                 const std::vector<Key>& keys, absl::Span<const float> rows,
                 const std::vector<bool>& must, bool exactly, bool remember);
  // ssp and asp: what was seen before the pull began is there.
  void CheckSeen(const std::string& where, const Who& who, Instant began,
                 uint32_t table, const std::vector<Key>& keys,
                 absl::Span<const float> rows);
  // How many pushes of a session a pull must show that began then.
  uint32_t LeastOf(const Life& life, const Who& who, uint32_t session,
                   Instant began) const;
  void CheckSessions(const std::string& where, const Who& who, Instant began,
                     const std::vector<Key>& keys,
                     absl::Span<const float> rows);
  void CheckSessionsAtEnd(uint64_t generation,
                          const std::map<Key, std::vector<float>>& rows);
  // How many of its pushes a row has, each once and without gaps; nullopt, and
  // a report, if not so.
  std::optional<uint32_t> PushesIn(const std::string& where, uint32_t session,
                                   Key key, float sum);
  // bsp: the last column.
  void CheckFold(const std::string& where, uint32_t table,
                 const std::vector<Key>& keys, absl::Span<const float> rows,
                 Clock clock);
  void CheckFoldOf(const std::string& where, uint32_t table,
                   const std::map<Key, std::vector<float>>& rows, Clock clock);
  void CheckAll(const std::string& where, Life* life, uint32_t table,
                const std::map<Key, std::vector<float>>& rows,
                const std::vector<bool>& must, bool remember);
  // ssp: no entry of clocks that nobody may have reached.
  void CheckBound(const std::string& where, const Who& who, Clock clock,
                  absl::Span<const float> rows);

  const WitnessJob& job_;
  std::vector<Partitioning> cuts_;
  Instant now_ = 0;
  std::map<uint64_t, Life> lives_;
  std::vector<std::string> errors_;
  int pulls_ = 0, pushes_ = 0, acknowledged_ = 0;
  int looks_ = 0, session_pushes_ = 0;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_WITNESS_H_
