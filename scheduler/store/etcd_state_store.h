// The state in etcd: survives the loss of the scheduler's machine, and lets
// another scheduler take over.
#ifndef SERAPH_SCHEDULER_STORE_ETCD_STATE_STORE_H_
#define SERAPH_SCHEDULER_STORE_ETCD_STATE_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/concurrent/notification.h"
#include "common/time/clock.h"
#include "scheduler/store/etcd_client.h"
#include "scheduler/store/etcd_lease.h"
#include "scheduler/store/state_store.h"

namespace seraph {

struct EtcdOptions {
  std::vector<std::string> endpoints;
  std::string cluster;  // Keys lie under /seraph/<cluster>/.
  std::string address;  // Of this scheduler, for those who ask who leads.
  absl::Duration lease = absl::Seconds(5);
};

// Keys, below /seraph/<cluster>/:
//
//   leader         the leading scheduler's address, under its lease; its create
//                  revision is the term
//   last           a name of the last transaction
//   state/<key>    a record: 'i' and the value, or 'c' and where its chunks are
//   chunks/<id>/N  a piece of a large value
//   pending        a commit that is too large for a transaction, as a record;
//                  there only until its writes are in their places
//
// Every change is a transaction that compares the leader's create revision and
// `last`: nothing of a deposed scheduler is taken, nor a late repeat of a call
// that was made twice.
class EtcdStateStore final : public StateStore {
 public:
  // Waits until this scheduler leads. Errors are waited out, and logged; only
  // `stop` ends it before, with Cancelled. `on_leader` hears who leads
  // meanwhile, "" where nobody is known, at each change.
  static absl::StatusOr<std::unique_ptr<EtcdStateStore>> Campaign(
      const EtcdOptions& options, const MonotonicClock* clock,
      const Notification* stop,
      std::function<void(const std::string& address)> on_leader);

  ~EtcdStateStore() override;  // Another one may lead at once.

  uint64_t term() const override { return term_; }
  bool durable() const override { return true; }
  absl::Status Check() const override;
  absl::StatusOr<StateRecords> Load() override;
  absl::Status Commit(const StateWrites& writes) override;

 private:
  using Ops = std::vector<etcdserverpb::RequestOp>;

  EtcdStateStore(const EtcdOptions& options, std::unique_ptr<EtcdClient> client,
                 std::unique_ptr<EtcdLease> lease, int64_t term);

  absl::Status Deposed() const;
  std::string KeyOf(absl::string_view name) const;

  // One transaction that also moves `last`.
  absl::Status Change(const Ops& ops);
  // A record of a value, its chunks uploaded. `id` names them, "" if there are
  // none.
  absl::StatusOr<std::string> Frame(absl::string_view value, std::string* id);
  absl::StatusOr<std::string> Unframe(absl::string_view record);
  absl::StatusOr<std::vector<etcdserverpb::KeyValue>> List(
      const std::string& folder, bool keys_only, int64_t page);
  // Puts the records in their places, in as many transactions as it takes.
  absl::Status Place(const std::map<std::string, std::string>& framed);
  absl::Status FinishPending(const std::string& record);
  Ops PlaceOps(const std::string& key, const std::string& record);
  void Compact();

  const std::string folder_;
  const int64_t term_;
  const std::unique_ptr<EtcdClient> client_;
  const std::unique_ptr<EtcdLease> lease_;

  std::string last_;      // Of the transactions; "" before the first.
  uint64_t changes_ = 0;  // Transactions of this term.
  uint64_t chunked_ = 0;  // Values of this term.
  // The chunks of each stored key that has some.
  std::map<std::string, std::string> chunks_;
  bool deposed_ = false;
  bool unfinished_ = false;  // A pending commit may lie there.
  int64_t revision_ = 0;     // The newest that was seen.
  int64_t compact_to_ = 0;   // That of the compaction before.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_ETCD_STATE_STORE_H_
