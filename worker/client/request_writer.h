// Parts of entries and pulls become requests, and are taken out of them again.
#ifndef SERAPH_WORKER_CLIENT_REQUEST_WRITER_H_
#define SERAPH_WORKER_CLIENT_REQUEST_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/wire/message_writer.h"
#include "common/wire/push_parts.h"
#include "proto/parameters.pb.h"
#include "worker/client/rank_request.h"

namespace seraph {

// Where the values of a pulled part go.
struct PulledPart {
  uint32_t placement = 0;  // Index into the router's placements.
  uint32_t table = 0;
  size_t first = 0;  // Of the routed keys.
  size_t count = 0;
};

// A request, and what it is made of.
struct CutRequest {
  RankRequest request;
  // Placements, by part of the push: those with a message, then the empty ones.
  std::vector<uint32_t> pushed;
  std::vector<PulledPart> pulled;  // By part of the pull.
};

struct RequestLimits {
  // No message carries more keys and values than this, unless a part does.
  size_t message_bytes = size_t{16} << 20;
  // A push of more travels apart from the pull that follows it: it takes a
  // place in the window of its server (send_window.h) and gives it back when it
  // is acknowledged, not when the pull is answered.
  size_t fused_push_bytes = size_t{64} << 10;
};

// What the requests to a server say in their headers.
struct RequestSender {
  std::string job;
  uint64_t generation = 0;
  uint32_t rank = 0;
  uint32_t attempt = 0;
  uint64_t incarnation = 0;  // Of the server.

  void Write(v1::RequestHeader* header) const;
};

// Writes parts for one server into as few requests as fit, pushes first, and of
// those the ones without keys last.
class RequestWriter {
 public:
  // Sets in a push what it says of all of its parts.
  using WriteEntry = absl::FunctionRef<void(v1::PushRequest* push)>;

  // `entry` is called for pushes alone, and must outlive this, as what it
  // refers to.
  RequestWriter(const RequestLimits& limits, RequestSender sender,
                WriteEntry entry, const v1::Clock& pull_clock)
      : limits_(limits),
        sender_(std::move(sender)),
        entry_(entry),
        pull_clock_(pull_clock) {}

  // About so many parts of pushes will follow, of both kinds.
  void Expect(size_t parts, size_t empty_parts) {
    expected_ = parts;
    expected_empty_ = empty_parts;
  }

  // The request that a part of so many bytes is to be added to.
  v1::PushRequest* Push(uint32_t placement, size_t bytes);
  // A part without keys, in a request that may have others.
  void PushEmpty(uint32_t placement, const EmptyPart& part);
  v1::PullRequest* Pull(const PulledPart& part, size_t bytes);

  // The values of the part that was added last. With an owner they stay what
  // they are as long as that is kept, and a message all of whose values have
  // one refers to them. Else they are copied; `more`: about so many bytes will
  // follow these.
  void AddValues(absl::string_view bytes,
                 const std::shared_ptr<const void>& owner, size_t more = 0);
  // Likewise: to write so many bytes to.
  char* AddValues(size_t bytes, size_t more);

  std::vector<CutRequest> Finish();

 private:
  void MakeRoom(size_t bytes);
  // The push that is being written.
  v1::PushRequest* Pushing();
  void Flush();
  // Copies what the message so far only refers to.
  void TakeIn(size_t more);

  const RequestLimits limits_;
  const RequestSender sender_;
  const WriteEntry entry_;
  const v1::Clock pull_clock_;

  size_t expected_ = 0;
  size_t expected_empty_ = 0;
  // With a push alone and a pull alone, until it is known that they go
  // together.
  std::optional<RankRequest> pushing_;
  std::optional<RankRequest> pulling_;
  // Values of pushing_, which has none itself then.
  std::vector<OwnedSlice> referred_;
  size_t referred_bytes_ = 0;
  std::vector<uint32_t> pushed_;
  std::vector<PulledPart> pulled_;
  size_t bytes_ = 0;
  std::vector<CutRequest> finished_;
};

// A part with its bytes, views of the request.
template <typename Part>
struct PartBytes {
  const Part* part = nullptr;
  absl::string_view keys;    // Empty where they are a range, or have a name.
  absl::string_view values;  // Of a push.
  // Of `values`; null: the request's message has them.
  std::shared_ptr<const void> owner;
};

// Calls `visit` with each part of the push, which there is, in order, but for
// the empty ones. `width`: values per key, by table. Requires: the request is
// one of a RequestWriter.
void ForEachPart(
    const RankRequest& request, absl::FunctionRef<size_t(uint32_t table)> width,
    absl::FunctionRef<void(size_t index, const PartBytes<v1::PushPart>& part)>
        visit);
void ForEachPart(
    const v1::PullRequest& pull,
    absl::FunctionRef<void(size_t index, const PartBytes<v1::PullPart>& part)>
        visit);

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_REQUEST_WRITER_H_
