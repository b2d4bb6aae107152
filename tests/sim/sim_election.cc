#include "tests/sim/sim_election.h"

namespace seraph::testing {

void SimElection::Expire() {
  std::erase_if(leases_, [this](const auto& lease) {
    return lease.second <= loop_.now();
  });
  if (leader_.has_value() && leases_.count(leader_->lease) == 0) {
    leader_.reset();
  }
}

uint64_t SimElection::Grant() {
  leases_[++last_lease_] = loop_.now() + kLease;
  return last_lease_;
}

bool SimElection::KeepUp(uint64_t lease) {
  Expire();
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  found->second = loop_.now() + kLease;
  return true;
}

std::optional<uint64_t> SimElection::Campaign(uint64_t lease) {
  Expire();
  if (leases_.count(lease) == 0) return std::nullopt;
  if (!leader_.has_value()) {
    leader_ = {lease, ++revision_};
    ++elections_;
  }
  if (leader_->lease != lease) return std::nullopt;
  return leader_->term;
}

absl::Status SimElection::Commit(const Transaction& transaction) {
  Expire();
  if (!leader_.has_value() || leader_->term != transaction.term) {
    return absl::FailedPreconditionError("another scheduler leads");
  }
  if (last_ == transaction.name) return absl::OkStatus();  // A repeat.
  if (last_ != transaction.before) {
    return absl::FailedPreconditionError("a late repeat");
  }
  ++revision_;
  last_ = transaction.name;
  for (const StateWrite& write : transaction.writes) {
    if (write.value.has_value()) {
      records_[write.key] = *write.value;
    } else {
      records_.erase(write.key);
    }
  }
  transaction.stored();
  return absl::OkStatus();
}

}  // namespace seraph::testing
