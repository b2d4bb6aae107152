// What a primary knows of another replica, and sends to it.
#ifndef SERAPH_SERVER_CORE_PEER_LINK_H_
#define SERAPH_SERVER_CORE_PEER_LINK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "server/core/log_tail.h"
#include "server/core/partition_state.h"
#include "server/core/peer_message.h"

namespace seraph {

// A member of the epoch, or its recruit. Made anew in each epoch: what was
// confirmed in another one does not count.
class PeerLink {
 public:
  using Bodies = std::vector<decltype(PeerMessage::body)>;

  PeerLink(Node node, bool is_member, absl::Duration now)
      : node_(std::move(node)),
        is_member_(is_member),
        awaited_(is_member),
        heard_(now),
        progress_(now) {}

  const Node& node() const { return node_; }
  bool is_member() const { return is_member_; }

  // Whether acknowledgements and leases wait for it: a member always, a recruit
  // from Await on.
  bool awaited() const { return awaited_; }
  uint64_t confirmed() const { return confirmed_; }
  // The number of the snapshot that it was given; records behind it have to be
  // kept as long as it is a recruit.
  std::optional<uint64_t> snapshot_number() const { return snapshot_number_; }
  // When the newest thing that it confirmed was sent.
  std::optional<absl::Duration> lease_from() const { return lease_from_; }
  // It has another log, or needs records that are gone: no confirmation can
  // come.
  bool is_lost() const { return stage_ == Stage::kLost; }

  // A recruit: wait for it from here on; it is one of the members when it has
  // confirmed `number`.
  void Await(uint64_t number) {
    awaited_ = true;
    ready_at_ = number;
  }
  bool IsReady() const {
    return awaited_ && ready_at_.has_value() && confirmed_ >= *ready_at_;
  }
  void GiveUp() { awaited_ = false; }  // A planted bug's.

  // Asks where its log ends; nothing is sent until it has answered.
  void Ask(absl::Duration now, Bodies* out);

  void OnTell(const TellPosition& tell, const PartitionState& state,
              const LogTail& tail, absl::Duration now);
  void OnConfirm(const ConfirmRecords& confirm, const PartitionState& state,
                 absl::Duration now);
  void OnTaken(const TakenPieces& taken, absl::Duration now);

  // Whether it waits for a snapshot that it was not given yet.
  bool NeedsSnapshot() const {
    return stage_ == Stage::kSnapshot && snapshot_ == nullptr;
  }
  void GiveSnapshot(uint64_t id, LogPosition position, std::string bytes,
                    size_t piece_bytes, absl::Duration now);

  // What can be sent now: records behind what was sent, or pieces, as long as
  // what is not confirmed fits into the window.
  void Pump(const PartitionState& state, const LogTail& tail,
            size_t window_bytes, absl::Duration now, Bodies* out);

  // Sends again what got no answer, asks again, pings.
  void Tick(const PartitionState& state, const LogTail& tail,
            absl::Duration lease, absl::Duration now, Bodies* out);

  // A time in which nobody could have been heard does not count.
  void Excuse(absl::Duration now);

  // Whether it was silent, or something sent to it unconfirmed, for `lease`.
  bool IsSilent(uint64_t last, absl::Duration lease, absl::Duration now) const;

  // A recruit: whether it is time to wait for it. Everything up to `last` was
  // sent to it; or it has been getting records for a lease and pushes come
  // faster than it takes them: waiting slows them down to its pace.
  bool IsNear(uint64_t last, absl::Duration lease, absl::Duration now) const {
    return stage_ == Stage::kInLine &&
           (next_ > last || now - in_line_since_ >= lease);
  }
  size_t bytes() const { return snapshot_ == nullptr ? 0 : snapshot_->size(); }

 private:
  enum class Stage {
    kAsked,     // Its position is not known.
    kSnapshot,  // It holds nothing.
    kInLine,    // It gets records, from next_ on.
    kLost,
  };

  void Advance(uint64_t number, absl::Duration now);
  // Its log ends at `number` or later: goes on from there.
  void EnterLine(uint64_t number, absl::Duration now);

  Node node_;
  bool is_member_;
  bool awaited_;
  Stage stage_ = Stage::kAsked;
  bool has_log_ = false;
  uint64_t question_ = 0;
  uint64_t next_ = 1;
  uint64_t last_sent_ = 0;  // The highest number that was ever sent.
  uint64_t confirmed_ = 0;
  std::optional<uint64_t> ready_at_;
  std::optional<absl::Duration> lease_from_;

  std::optional<uint64_t> snapshot_number_;
  LogPosition snapshot_position_;
  std::unique_ptr<const std::string> snapshot_;
  uint64_t snapshot_id_ = 0;
  size_t piece_bytes_ = 0;
  uint32_t pieces_ = 0;
  uint32_t pieces_sent_ = 0;
  uint32_t pieces_taken_ = 0;

  absl::Duration in_line_since_;
  absl::Duration heard_;     // When anything came from it.
  absl::Duration progress_;  // When it confirmed more, or was sent more after
                             // it had confirmed all.
  absl::Duration sent_ = -absl::InfiniteDuration();    // Anything.
  absl::Duration resent_ = -absl::InfiniteDuration();  // Again.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PEER_LINK_H_
