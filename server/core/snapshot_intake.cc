#include "server/core/snapshot_intake.h"

#include <utility>

namespace seraph {

bool SnapshotIntake::Take(SnapshotPiece piece) {
  if (piece.snapshot > snapshot_ && piece.piece == 0) {
    Restart();
    snapshot_ = piece.snapshot;
    position_ = piece.position;
    pieces_ = piece.pieces;
  }
  if (piece.snapshot != snapshot_ || piece.piece != taken_ ||
      piece.pieces != pieces_ || piece.position != position_ ||
      taken_ == pieces_) {
    return false;
  }
  bytes_ += piece.data;
  return ++taken_ == pieces_;
}

void SnapshotIntake::Restart() {
  taken_ = 0;
  bytes_ = std::string();
}

}  // namespace seraph
