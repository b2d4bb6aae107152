// The pieces of a snapshot, as a recruit takes them.
#ifndef SERAPH_SERVER_CORE_SNAPSHOT_INTAKE_H_
#define SERAPH_SERVER_CORE_SNAPSHOT_INTAKE_H_

#include <cstdint>
#include <string>

#include "server/core/peer_message.h"

namespace seraph {

// One snapshot at a time, in order; the newest that was begun. A value.
class SnapshotIntake {
 public:
  // Takes the piece if it is the next one; a first piece of a later snapshot
  // begins anew. True if that was the last one.
  bool Take(SnapshotPiece piece);

  // What came so far; {0, 0} at the beginning.
  TakenPieces taken() const { return {snapshot_, taken_}; }
  LogPosition position() const { return position_; }
  const std::string& bytes() const { return bytes_; }

  // Forgets the pieces, but not which snapshot they were of: it is taken from
  // its first piece again.
  void Restart();

 private:
  uint64_t snapshot_ = 0;
  uint32_t taken_ = 0;
  uint32_t pieces_ = 0;
  LogPosition position_;
  std::string bytes_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_SNAPSHOT_INTAKE_H_
