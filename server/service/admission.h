// How many bytes of requests a server takes in before it answers some.
#ifndef SERAPH_SERVER_SERVICE_ADMISSION_H_
#define SERAPH_SERVER_SERVICE_ADMISSION_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/clock.h"
#include "common/concurrent/mutex.h"
#include "server/core/log_record.h"

namespace seraph {

// The budget of a server and the shares of its jobs: a job may hold what is
// left of the whole, and never more than an equal part of it. What releases
// memory is always taken (JobAdmission::Take), and counted apart; its amount is
// bounded by what the ranks of the jobs can have out: one entry each of the
// oldest open clock, and one pull each, in each partition.
//
// Threads: every method may be called from any thread.
class Admission {
 public:
  // `seed`: of the delays that refused clients are told.
  Admission(uint64_t limit_bytes, uint64_t seed)
      : limit_bytes_(limit_bytes), seed_(seed) {}

  uint64_t limit_bytes() const { return limit_bytes_; }
  // Held within the budget now, and outside of it.
  uint64_t held_bytes() const { return held_bytes_; }
  uint64_t exempt_bytes() const { return exempt_bytes_; }
  // Parts refused so far.
  uint64_t refusals() const { return refusals_; }

 private:
  friend class JobAdmission;

  // What one job may hold.
  uint64_t share_bytes() const {
    return limit_bytes_ / std::max<uint64_t>(1, jobs_);
  }

  const uint64_t limit_bytes_;
  const uint64_t seed_;
  std::atomic<uint64_t> held_bytes_ = 0;
  std::atomic<uint64_t> exempt_bytes_ = 0;
  std::atomic<uint64_t> refusals_ = 0;
  std::atomic<uint64_t> jobs_ = 0;
};

// One job's part. Threads: every method may be called from any thread.
class JobAdmission : public std::enable_shared_from_this<JobAdmission> {
 public:
  // Table, partition, rank.
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;

  // Bytes that count until this goes.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { Swap(other); }
    Hold& operator=(Hold&& other) noexcept {
      Swap(other);
      return *this;
    }
    ~Hold();

   private:
    friend class JobAdmission;
    Hold(std::shared_ptr<JobAdmission> job, uint64_t bytes, bool exempt)
        : job_(std::move(job)), bytes_(bytes), exempt_(exempt) {}
    void Swap(Hold& other) {
      std::swap(job_, other.job_);
      std::swap(bytes_, other.bytes_);
      std::swap(exempt_, other.exempt_);
      std::swap(once_, other.once_);
    }

    std::shared_ptr<JobAdmission> job_;  // Null: nothing is held.
    uint64_t bytes_ = 0;
    bool exempt_ = false;
    std::optional<Place> once_;  // Of TakeOnce.
  };

  // `server` is shared with the jobs of a server.
  explicit JobAdmission(std::shared_ptr<Admission> server);
  ~JobAdmission();

  // Nullopt: beyond the budget. A job that holds nothing may hold any amount
  // that the server has, so that a request larger than its share passes; one
  // larger than the whole budget passes when the server holds nothing.
  std::optional<Hold> TryTake(uint64_t bytes);

  // Whatever the budget says.
  Hold Take(uint64_t bytes);
  // Likewise, of a rank in a partition. Nullopt: it holds such a one there.
  std::optional<Hold> TakeOnce(const Place& place, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Beyond the budget, as long as no more than a quarter of it is: what is
  // small is not to wait for what is large. Else nullopt.
  std::optional<Hold> TakeBeside(uint64_t bytes);

  // A refused part: when its client may try again, jittered.
  uint32_t RetryAfterMs();

  // Entries that come in chunks: the first chunk that is taken reserves room
  // for all, so that the others pass. A rank has one such entry at a time in a
  // partition; a later one, or one of another attempt, takes its place.
  struct ChunkedEntry {
    uint32_t table = 0;
    uint32_t partition = 0;
    RankName rank;
    Clock clock;

    friend bool operator==(const ChunkedEntry&, const ChunkedEntry&) = default;
  };
  bool HasBegun(const ChunkedEntry& entry) ABSL_LOCKS_EXCLUDED(mu_);
  void Begin(const ChunkedEntry& entry, Hold whole) ABSL_LOCKS_EXCLUDED(mu_);
  // Its chunks were answered: the room is free.
  void End(const ChunkedEntry& entry) ABSL_LOCKS_EXCLUDED(mu_);

  uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Begun {
    ChunkedEntry entry;
    uint64_t bytes = 0;
  };
  static Place PlaceOf(const ChunkedEntry& entry) {
    return {entry.table, entry.partition, entry.rank.rank};
  }
  void Release(uint64_t bytes, bool exempt);

  const std::shared_ptr<Admission> server_;
  std::atomic<uint64_t> held_bytes_ = 0;

  Mutex mu_;
  std::map<Place, Begun> begun_ ABSL_GUARDED_BY(mu_);
  std::set<Place> once_ ABSL_GUARDED_BY(mu_);  // Those who hold it.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_ADMISSION_H_
