// Bugs that are built in on purpose, to see that the simulation finds them.
#ifndef SERAPH_COMMON_BASE_PLANTED_BUG_H_
#define SERAPH_COMMON_BASE_PLANTED_BUG_H_

#include <cstdint>

namespace seraph {

// Each breaks one rule of docs/fault-tolerance.md, in one place of the code.
enum class PlantedBug : uint8_t {
  kNone,
  kForgetAppliedAtPromotion,     // A new primary forgets the ranks' clocks.
  kAcknowledgeBeforeBackup,      // A push is acknowledged when appended.
  kSkipEpochCheck,               // Messages of older epochs are taken.
  kCutBetweenPartitions,         // Each partition copies itself when asked.
  kStalenessOffByOne,            // ssp lets a pull miss one clock more.
  kDropOverwritten,              // bsp keeps nothing of the clock before.
  kMarkBeforePush,               // A chunk alone finishes its clock.
  kAcknowledgeRepeatAtOnce,      // Before its original is confirmed.
  kPrimaryShrinksInSync,         // It gives up a silent backup by itself.
  kRollbackWithoutGeneration,    // The generation stays as it was.
  kSameIncarnationAfterRestart,  // A restarted server keeps its id.
  kFenceAttemptInMemoryOnly,     // Without a log record.
  kReadUnconfirmed,              // asp answers before backups confirm.
  kStoreLazyDecayAtCheckpoint,   // A copy writes the lazy terms into rows.
  kSnapshotWhileWriting,         // A snapshot mixes two log positions.
  kAllDeadAtSchedulerStart,      // It does not wait a lease.
  kParkedPullsFillWindow,        // A waiting pull holds a place.
  kTakeNewerGeneration,          // Instead of an equal one.
  kRepeatRestore,                // A restore order is carried out twice.
  kOrderFillsNewIncarnation,     // An order for the one before is taken.
  kDiscardDivergentAtOnce,       // Without an order.
  kTakeLateSnapshot,             // Of an epoch that is over.
  kPromoteWithoutCollecting,     // In one epoch instead of two.
  kRecruitDeathBlocks,           // A dead recruit is waited for for ever.
  kCutWithoutStaging,            // Entries behind the cut are taken.
  kNoQuietTime,                  // A new primary waits out no lease.
  kTakeOlderEpoch,               // A client does, where it saw a later one.
  kRepeatSessionPush,            // A session's repeat is applied again.
};

#ifdef SERAPH_PLANTED_BUGS
// The one that is active; the test sets it, in its only thread.
inline PlantedBug planted_bug = PlantedBug::kNone;
inline bool IsPlanted(PlantedBug bug) { return planted_bug == bug; }
#else
// In every real build this is false at compile time, and nothing is left of
// the branch.
constexpr bool IsPlanted(PlantedBug) { return false; }
#endif

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_PLANTED_BUG_H_
