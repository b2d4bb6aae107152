// When a pull may be answered: the one place that tells bsp, ssp and asp apart
// for reads.
//
// Source: bounded staleness as in Ho et al., "More Effective Distributed ML via
// a Stale Synchronous Parallel Parameter Server", NIPS 2013, counted inside an
// epoch; docs/architecture.md has the table of modes.
#ifndef SERAPH_SERVER_CORE_SYNC_POLICY_H_
#define SERAPH_SERVER_CORE_SYNC_POLICY_H_

#include <cstdint>

#include "common/base/clock.h"
#include "common/base/planted_bug.h"
#include "common/job/sync_spec.h"

namespace seraph {

struct SyncPolicy {
  SyncSpec spec;
  // asp: the end of an epoch has work to do (validation, a decision about
  // stopping), so the first pull of the next epoch waits for all ranks.
  bool epoch_barrier = false;

  // `clock`: of the pull. `own`: the entry that the log expects next from the
  // pulling rank. `slowest`: the least such entry of all ranks. Everything
  // below `slowest` is in the log of this partition, so the condition cannot
  // be ahead of what it promises.
  bool MayAnswer(Clock clock, Clock own, Clock slowest) const {
    switch (spec.mode) {
      case SyncMode::kBsp:
        return slowest >= clock;
      case SyncMode::kSsp:
        return own >= Back(clock, spec.pipeline) &&
               slowest >=
                   Back(clock, spec.staleness +
                                   IsPlanted(PlantedBug::kStalenessOffByOne));
      case SyncMode::kAsp:
        return own >= Back(clock, spec.pipeline) &&
               (!epoch_barrier || slowest.epoch >= clock.epoch);
    }
    return false;
  }

 private:
  // `steps` clocks earlier, but not before the start of the epoch: there all
  // ranks meet.
  static Clock Back(Clock clock, uint32_t steps) {
    return {clock.epoch, clock.step > steps ? clock.step - steps : 0};
  }
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_SYNC_POLICY_H_
