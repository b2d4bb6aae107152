#include "worker/client/rank_request.h"

#include "google/protobuf/arena.h"

namespace seraph {
namespace {

// With the arena itself. glibc keeps pieces of so many bytes at hand for a
// thread, and no larger ones.
constexpr size_t kPlaceBytes = 1024;

google::protobuf::ArenaOptions OptionsOf(char* block, size_t bytes) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = bytes;
  return options;
}

}  // namespace

struct RankRequest::Place {
  Place() : arena(OptionsOf(first, sizeof(first))) {}

  alignas(8) char first[kPlaceBytes - sizeof(google::protobuf::Arena)];
  google::protobuf::Arena arena;
};

RankRequest::RankRequest()
    : place_(std::make_unique<Place>()),
      message(*google::protobuf::Arena::CreateMessage<v1::ExchangeRequest>(
          &place_->arena)) {}

RankRequest::RankRequest(const v1::ExchangeRequest& copied) : RankRequest() {
  message = copied;
}

RankRequest::~RankRequest() = default;
RankRequest::RankRequest(RankRequest&& from) = default;

const v1::PushRequest* PushOf(const v1::ExchangeRequest& message) {
  if (message.has_push_pull()) return &message.push_pull().push();
  return message.has_push() ? &message.push() : nullptr;
}

const v1::PullRequest* PullOf(const v1::ExchangeRequest& message) {
  if (message.has_push_pull()) return &message.push_pull().pull();
  return message.has_pull() ? &message.pull() : nullptr;
}

void CopyEntry(const v1::PushRequest& from, v1::PushRequest* to) {
  if (from.has_clock()) *to->mutable_clock() = from.clock();
  to->set_number(from.number());
  to->set_ends_epoch(from.ends_epoch());
  to->set_examples(from.examples());
  to->set_reads_taken(from.reads_taken());
  if (from.has_ledger()) *to->mutable_ledger() = from.ledger();
  *to->mutable_calls() = from.calls();
}

size_t PushedBytes(const RankRequest& request) {
  const v1::PushRequest* push = PushOf(request.message);
  if (push == nullptr) return 0;
  size_t bytes = push->keys().size() + push->values().size();
  for (const OwnedSlice& piece : request.values) bytes += piece.bytes.size();
  return bytes;
}

size_t BulkBytes(const RankRequest& request) {
  size_t bytes = PushedBytes(request);
  if (const v1::PullRequest* pull = PullOf(request.message)) {
    bytes += pull->keys().size();
  }
  return bytes;
}

v1::ExchangeRequest WholeMessage(const RankRequest& request) {
  v1::ExchangeRequest whole = request.message;
  if (request.values.empty()) return whole;
  v1::PushRequest* push = whole.has_push_pull()
                              ? whole.mutable_push_pull()->mutable_push()
                              : whole.mutable_push();
  for (const OwnedSlice& piece : request.values) {
    push->mutable_values()->append(piece.bytes.data(), piece.bytes.size());
  }
  return whole;
}

}  // namespace seraph
