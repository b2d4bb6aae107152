// A store that two schedulers share, of which one leads.
#ifndef SERAPH_TESTS_SIM_SIM_ELECTION_H_
#define SERAPH_TESTS_SIM_SIM_ELECTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/store/state_write.h"
#include "tests/sim/sim_loop.h"

namespace seraph::testing {

// As scheduler/store uses etcd: leases, a leader's key whose revision is the
// term, and transactions that compare the term and the name of the one before.
// It never forgets; it may be stopped, and cut off.
class SimElection {
 public:
  SimElection(SimLoop* loop, StateRecords* records)
      : loop_(*loop), records_(*records) {}

  static constexpr absl::Duration kLease = absl::Milliseconds(250);

  uint64_t Grant();
  bool KeepUp(uint64_t lease);
  // The term, if the lease leads now, or led before.
  std::optional<uint64_t> Campaign(uint64_t lease);

  struct Transaction {
    uint64_t term = 0;
    std::string before, name;
    StateWrites writes;
    std::function<void()> stored;  // Called when it is, once.
  };
  // FailedPrecondition: another scheduler leads. A repeat changes nothing.
  absl::Status Commit(const Transaction& transaction);
  std::string last() const { return last_; }
  uint64_t term() const { return leader_.has_value() ? leader_->term : 0; }
  int elections() const { return elections_; }

 private:
  struct Leader {
    uint64_t lease = 0;
    uint64_t term = 0;
  };

  void Expire();

  SimLoop& loop_;
  StateRecords& records_;
  uint64_t revision_ = 0;
  uint64_t last_lease_ = 0;
  int elections_ = 0;
  std::optional<Leader> leader_;
  std::map<uint64_t, absl::Duration> leases_;  // Their ends.
  std::string last_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_ELECTION_H_
