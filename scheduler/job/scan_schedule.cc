#include "scheduler/job/scan_schedule.h"

#include <algorithm>

namespace seraph {
namespace {

std::vector<ScanPiece> Numbered(std::vector<ScanPiece> pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i].number = i;
  return pieces;
}

uint64_t BytesOf(const ScanPiece& piece) {
  const uint64_t end = piece.end == 0 ? piece.file.data.size_bytes : piece.end;
  return end - std::min(piece.begin, end);
}

}  // namespace

std::vector<ScanPiece> CutIntoPieces(const std::vector<ResolvedFile>& files,
                                     bool validation, uint64_t block_bytes,
                                     uint64_t piece_bytes) {
  const uint64_t step =
      std::max<uint64_t>(1, piece_bytes / block_bytes) * block_bytes;
  std::vector<ScanPiece> pieces;
  for (size_t i = 0; i < files.size(); ++i) {
    ScanPiece piece;
    piece.file = files[i].file;
    piece.file_index = i;
    piece.block_bytes = block_bytes;
    piece.validation = validation;
    const uint64_t size = files[i].file.data.size_bytes;
    if (files[i].splittable) {
      for (; size - piece.begin > step; piece.begin += step) {
        piece.end = piece.begin + step;
        pieces.push_back(piece);
      }
      piece.end = 0;
    }
    pieces.push_back(piece);
  }
  return pieces;
}

ScanSchedule::ScanSchedule(std::vector<ScanPiece> pieces,
                           std::vector<Node> workers, uint32_t in_flight)
    : pieces_(Numbered(std::move(pieces))),
      in_flight_(in_flight),
      workers_(std::move(workers)),
      taken_(workers_.size()),
      parts_(pieces_.size()) {
  for (const ScanPiece& piece : pieces_) {
    bytes_ += BytesOf(piece);
    left_.insert(piece.number);
  }
}

std::optional<ScanSchedule::Next> ScanSchedule::TakeNext() {
  if (left_.empty()) return std::nullopt;
  const auto freest = std::min_element(
      taken_.begin(), taken_.end(),
      [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (freest == taken_.end() || freest->size() >= in_flight_) {
    return std::nullopt;
  }
  const uint32_t piece = *left_.begin();
  left_.erase(left_.begin());
  freest->insert(piece);
  return Next{workers_[freest - taken_.begin()], pieces_[piece]};
}

void ScanSchedule::LoseWorker(const Node& worker) {
  for (size_t i = workers_.size(); i-- > 0;) {
    if (workers_[i].incarnation != worker.incarnation) continue;
    left_.insert(taken_[i].begin(), taken_[i].end());
    workers_.erase(workers_.begin() + i);
    taken_.erase(taken_.begin() + i);
  }
}

void ScanSchedule::AddWorker(const Node& worker) {
  for (const Node& known : workers_) {
    if (known.incarnation == worker.incarnation) return;
  }
  workers_.push_back(worker);
  taken_.emplace_back();
}

void ScanSchedule::Finish(const ScanPiece& piece, const Node& worker,
                          DatasetFacts facts) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].incarnation != worker.incarnation) continue;
    if (taken_[i].erase(piece.number) == 0) return;
    parts_[piece.number] = std::move(facts);
    ++finished_;
    finished_bytes_ += BytesOf(piece);
    return;
  }
}

double ScanSchedule::fraction() const {
  if (bytes_ == 0) return done() ? 1 : 0;
  return static_cast<double>(finished_bytes_) / static_cast<double>(bytes_);
}

std::vector<DatasetFacts> ScanSchedule::TakeParts(bool validation) {
  std::vector<DatasetFacts> parts;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].validation == validation) {
      parts.push_back(std::move(parts_[i]));
    }
  }
  return parts;
}

}  // namespace seraph
