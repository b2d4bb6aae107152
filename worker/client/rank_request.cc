#include "worker/client/rank_request.h"

namespace seraph {

const v1::PushRequest* PushOf(const v1::ExchangeRequest& message) {
  if (message.has_push_pull()) return &message.push_pull().push();
  return message.has_push() ? &message.push() : nullptr;
}

const v1::PullRequest* PullOf(const v1::ExchangeRequest& message) {
  if (message.has_push_pull()) return &message.push_pull().pull();
  return message.has_pull() ? &message.pull() : nullptr;
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
