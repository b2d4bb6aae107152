// What readers see one after the other, and what they see of sessions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/sim/witness.h"

namespace seraph::testing {

void WitnessChecker::LookStarts(const Who& who) {
  LifeOf(who.generation).looks[who.rank] = ++now_;
}

void WitnessChecker::LookEnds(const Who& who, const std::vector<Key>& keys,
                              absl::Span<const float> rows) {
  ++looks_;
  ++now_;
  Life& life = LifeOf(who.generation);
  const Instant began = life.looks[who.rank];
  std::vector<bool> must(job_.columns());
  if (job_.sync.spec.mode == SyncMode::kAsp) {
    for (uint32_t c = 0; c < must.size(); ++c) {
      must[c] = life.columns[c].acknowledged < began;
    }
  }
  const std::string where =
      absl::StrCat("session ", who.rank - job_.ranks(), ", generation ",
                   who.generation, " looks: ");
  CheckRows(where, &life, 0, keys, rows, must, /*exactly=*/false,
            /*remember=*/true);
  CheckSeen(where, who, began, 0, keys, rows);
  CheckSessions(where, who, began, keys, rows);
}

// asp: seen by anyone; ssp: by whoever reads.
void WitnessChecker::CheckSeen(const std::string& where, const Who& who,
                               Instant began, uint32_t table,
                               const std::vector<Key>& keys,
                               absl::Span<const float> rows) {
  const SyncMode mode = job_.sync.spec.mode;
  if (mode == SyncMode::kBsp) return;
  Life& life = LifeOf(who.generation);
  Shown& shown = life.shown[{who.rank, who.attempt}];
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t partition =
        cuts_[table].PartitionOf(ToMixedKey(job_.tables[table], keys[i]));
    for (uint32_t c = 0; c < job_.columns(); ++c) {
      if (rows[i * job_.width() + c] != 0) {
        if (mode == SyncMode::kSsp) {
          shown.entries.try_emplace({table, partition, c}, now_);
        }
        continue;
      }
      const auto place = life.columns[c].places.find({table, partition});
      if (place == life.columns[c].places.end()) continue;
      Instant seen = place->second.seen;
      if (mode == SyncMode::kSsp) {
        const auto own = shown.entries.find({table, partition, c});
        seen = own == shown.entries.end() ? kNever : own->second;
      }
      if (seen >= began) continue;
      const auto [rank, clock] = job_.OfColumn(c);
      const auto pushed =
          job_.Pushed(rank, clock, place->second.attempt, table);
      if (std::binary_search(pushed.begin(), pushed.end(), keys[i])) {
        Report(absl::StrCat(where, "rank ", rank, "'s entry ", ToString(clock),
                            " was seen before, and is gone from table ", table,
                            ", partition ", partition));
      }
    }
  }
}

void WitnessChecker::SessionPushStarts(const Who& who, uint32_t number) {
  ++session_pushes_;
  Numbered& pushes = LifeOf(who.generation).sessions[who.rank - job_.ranks()];
  pushes.started = std::max(pushes.started, number);
}

void WitnessChecker::SessionPushEnds(const Who& who, uint32_t number) {
  ++now_;
  Life& life = LifeOf(who.generation);
  Numbered& pushes = life.sessions[who.rank - job_.ranks()];
  pushes.acknowledged.resize(number, now_);
  uint32_t& own =
      life.shown[{who.rank, who.attempt}].pushes[who.rank - job_.ranks()];
  own = std::max(own, number);
}

uint32_t WitnessChecker::LeastOf(const Life& life, const Who& who,
                                 uint32_t session, Instant began) const {
  if (job_.sync.spec.mode == SyncMode::kSsp) {
    const auto shown = life.shown.find({who.rank, who.attempt});
    if (shown == life.shown.end()) return 0;
    const auto pushes = shown->second.pushes.find(session);
    return pushes == shown->second.pushes.end() ? 0 : pushes->second;
  }
  // Both ascend.
  const auto before = [began](const std::vector<Instant>& instants) {
    return static_cast<uint32_t>(
        std::lower_bound(instants.begin(), instants.end(), began) -
        instants.begin());
  };
  const Numbered& pushes = life.sessions[session];
  return std::max(before(pushes.acknowledged), before(pushes.seen));
}

std::optional<uint32_t> WitnessChecker::PushesIn(const std::string& where,
                                                 uint32_t session, Key key,
                                                 float sum) {
  float first = 0, digit = 1;
  for (uint32_t n = 0; n <= WitnessJob::kMostOfSession; ++n) {
    if (sum == first) return n;
    first += digit;
    digit *= 4;
  }
  Report(absl::StrCat(where, "of session ", session, " key ", key, " has ", sum,
                      ", which is not its first pushes, each once"));
  return std::nullopt;
}

void WitnessChecker::CheckSessions(const std::string& where, const Who& who,
                                   Instant began, const std::vector<Key>& keys,
                                   absl::Span<const float> rows) {
  if (job_.sync.spec.mode == SyncMode::kBsp) return;
  Life& life = LifeOf(who.generation);
  for (uint32_t s = 0; s < job_.sessions; ++s) {
    const std::vector<Key> own = job_.KeysOfSession(s);
    Numbered& pushes = life.sessions[s];
    const uint32_t least = LeastOf(life, who, s, began);
    std::optional<uint32_t> there;
    for (size_t i = 0; i < keys.size(); ++i) {
      const float sum = rows[i * job_.width() + job_.columns() + s];
      const bool pushed = std::binary_search(own.begin(), own.end(), keys[i]);
      if (!pushed && sum == 0) continue;
      const std::optional<uint32_t> here = PushesIn(where, s, keys[i], sum);
      if (!here.has_value()) return;
      if (!pushed || (there.has_value() && *there != *here)) {
        return Report(absl::StrCat(where, "a push of session ", s,
                                   " is torn at key ", keys[i]));
      }
      there = here;
    }
    if (!there.has_value()) continue;
    if (*there > pushes.started) {
      Report(absl::StrCat(where, "push ", *there, " of session ", s,
                          " is there, and nobody has pushed it"));
    }
    if (*there < least) {
      Report(absl::StrCat(where, "push ", least, " of session ", s,
                          " was acknowledged or seen before, and ", *there,
                          " are there"));
    }
    if (pushes.seen.size() < *there) pushes.seen.resize(*there, now_);
    uint32_t& shown = life.shown[{who.rank, who.attempt}].pushes[s];
    shown = std::max(shown, *there);
  }
}

void WitnessChecker::CheckSessionsAtEnd(
    uint64_t generation, const std::map<Key, std::vector<float>>& rows) {
  if (job_.sync.spec.mode == SyncMode::kBsp) return;
  const Life& life = LifeOf(generation);
  for (uint32_t s = 0; s < job_.sessions; ++s) {
    for (Key key : job_.KeysOfSession(s)) {
      const auto row = rows.find(key);
      const float sum = row == rows.end() ? 0 : row->second[job_.columns() + s];
      const std::optional<uint32_t> there =
          PushesIn("at the end: ", s, key, sum);
      const size_t acknowledged = life.sessions[s].acknowledged.size();
      if (!there.has_value() || *there == acknowledged) continue;
      Report(absl::StrCat("at the end: ", *there, " pushes of session ", s,
                          " are there, where ", acknowledged,
                          " were acknowledged"));
    }
  }
}

}  // namespace seraph::testing
