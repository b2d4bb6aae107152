#include "worker/client/request_writer.h"

#include <string>
#include <utility>

#include "common/wire/key_encoding.h"
#include "common/wire/value_codec.h"
#include "common/wire/value_encoding.h"

namespace seraph {
namespace {

// Bytes of a piece, on the average, that is not copied.
constexpr size_t kLeastReferred = 4 * MessageWriter::kCopied;

}  // namespace

void RequestSender::Write(v1::RequestHeader* header) const {
  header->mutable_job()->set_id(job);
  header->mutable_job()->set_generation(generation);
  header->set_incarnation(incarnation);
  header->mutable_rank()->set_rank(rank);
  header->mutable_rank()->set_attempt(attempt);
}

void RequestWriter::MakeRoom(size_t bytes) {
  if (bytes_ > 0 && bytes_ + bytes > limits_.message_bytes) Flush();
  bytes_ += bytes;
}

v1::PushRequest* RequestWriter::Pushing() {
  if (pushing_.has_value()) return pushing_->message.mutable_push();
  v1::PushRequest* push = pushing_.emplace().message.mutable_push();
  sender_.Write(push->mutable_header());
  entry_(push);
  push->set_reads_taken(true);
  push->mutable_parts()->Reserve(expected_);
  push->mutable_empty_parts()->Reserve(expected_empty_ * kNumbersPerEmptyPart);
  pushed_.reserve(expected_ + expected_empty_);
  return push;
}

v1::PushRequest* RequestWriter::Push(uint32_t placement, size_t bytes) {
  MakeRoom(bytes);
  v1::PushRequest* push = Pushing();
  if (!push->empty_parts().empty()) {
    // They come last in their request.
    Flush();
    bytes_ = bytes;
    push = Pushing();
  }
  pushed_.push_back(placement);
  return push;
}

void RequestWriter::PushEmpty(uint32_t placement, const EmptyPart& part) {
  AddEmptyPart(part, Pushing());
  pushed_.push_back(placement);
}

v1::PullRequest* RequestWriter::Pull(const PulledPart& part, size_t bytes) {
  MakeRoom(bytes);
  pulled_.push_back(part);
  if (pulling_.has_value()) return pulling_->message.mutable_pull();
  v1::PullRequest* pull = pulling_.emplace().message.mutable_pull();
  sender_.Write(pull->mutable_header());
  *pull->mutable_clock() = pull_clock_;
  return pull;
}

void RequestWriter::TakeIn(size_t more) {
  std::string* values = Pushing()->mutable_values();
  // All at once: a string that grows is copied again and again.
  if (values->empty()) values->reserve(referred_bytes_ + more);
  for (const OwnedSlice& piece : referred_) {
    values->append(piece.bytes.data(), piece.bytes.size());
  }
  referred_.clear();
  referred_bytes_ = 0;
}

void RequestWriter::AddValues(absl::string_view bytes,
                              const std::shared_ptr<const void>& owner,
                              size_t more) {
  if (bytes.empty()) return;
  if (owner == nullptr || !Pushing()->values().empty()) {
    TakeIn(bytes.size() + more);
    Pushing()->mutable_values()->append(bytes.data(), bytes.size());
    return;
  }
  referred_bytes_ += bytes.size();
  if (!referred_.empty() && referred_.back().owner == owner) {
    absl::string_view& before = referred_.back().bytes;
    if (before.data() + before.size() == bytes.data()) {
      before = {before.data(), before.size() + bytes.size()};
      return;
    }
  }
  referred_.push_back({bytes, owner});
}

char* RequestWriter::AddValues(size_t bytes, size_t more) {
  TakeIn(bytes + more);
  std::string* values = Pushing()->mutable_values();
  values->resize(values->size() + bytes);
  return values->data() + values->size() - bytes;
}

void RequestWriter::Flush() {
  // What is small is copied on its way anyway.
  if (referred_bytes_ < referred_.size() * kLeastReferred) TakeIn(0);
  const auto push_bytes = [&] {
    const v1::PushRequest& push = pushing_->message.push();
    return push.keys().size() + push.values().size() + referred_bytes_;
  };
  if (pushing_.has_value() && pulling_.has_value() &&
      push_bytes() <= limits_.fused_push_bytes) {
    v1::ExchangeRequest& message = pushing_->message;
    v1::PushRequest* const push = message.unsafe_arena_release_push();
    v1::PushPullRequest* both = message.mutable_push_pull();
    both->unsafe_arena_set_allocated_push(push);  // Of the same arena.
    v1::PullRequest* const pull = pulling_->message.mutable_pull();
    std::string keys;
    keys.swap(*pull->mutable_keys());  // To spare a copy.
    *both->mutable_pull() = *pull;
    both->mutable_pull()->mutable_keys()->swap(keys);
    pushing_->values = std::move(referred_);
    finished_.push_back({.request = *std::move(pushing_),
                         .pushed = std::move(pushed_),
                         .pulled = std::move(pulled_)});
  } else {
    if (pushing_.has_value()) {
      pushing_->values = std::move(referred_);
      finished_.push_back({.request = *std::move(pushing_),
                           .pushed = std::move(pushed_),
                           .pulled = {}});
    }
    if (pulling_.has_value()) {
      finished_.push_back({.request = *std::move(pulling_),
                           .pushed = {},
                           .pulled = std::move(pulled_)});
    }
  }
  pushing_.reset();
  pulling_.reset();
  referred_.clear();
  referred_bytes_ = 0;
  pushed_.clear();
  pulled_.clear();
  bytes_ = 0;
}

std::vector<CutRequest> RequestWriter::Finish() {
  Flush();
  return std::move(finished_);
}

void ForEachPart(
    const RankRequest& request, absl::FunctionRef<size_t(uint32_t table)> width,
    absl::FunctionRef<void(size_t index, const PartBytes<v1::PushPart>& part)>
        visit) {
  const v1::PushRequest& push = *PushOf(request.message);
  absl::string_view keys = push.keys();
  absl::string_view values = push.values();
  std::shared_ptr<const void> owner;
  auto piece = request.values.begin();
  for (int i = 0; i < push.parts_size(); ++i) {
    const v1::PushPart& part = push.parts(i);
    const size_t key_bytes = KeyBytesOf(part);
    const size_t value_bytes =
        part.key_count() *
        RowBytes(*KindOf(part.values()), width(part.table()));
    // Each part's values lie in one piece.
    if (values.empty() && value_bytes > 0) {
      values = piece->bytes;
      owner = (piece++)->owner;
    }
    visit(i, {&part, keys.substr(0, key_bytes), values.substr(0, value_bytes),
              owner});
    keys.remove_prefix(key_bytes);
    values.remove_prefix(value_bytes);
  }
}

void ForEachPart(
    const v1::PullRequest& pull,
    absl::FunctionRef<void(size_t index, const PartBytes<v1::PullPart>& part)>
        visit) {
  absl::string_view keys = pull.keys();
  for (int i = 0; i < pull.parts_size(); ++i) {
    const size_t key_bytes = KeyBytesOf(pull.parts(i));
    visit(i, {&pull.parts(i), keys.substr(0, key_bytes), {}, nullptr});
    keys.remove_prefix(key_bytes);
  }
}

}  // namespace seraph
