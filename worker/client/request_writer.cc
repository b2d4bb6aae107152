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

void RequestWriter::MakeRoom(size_t bytes) {
  if (bytes_ > 0 && bytes_ + bytes > limits_.message_bytes) Flush();
  bytes_ += bytes;
}

v1::PushRequest* RequestWriter::Push(uint32_t placement, size_t bytes) {
  MakeRoom(bytes);
  Begin();
  pushed_.push_back(placement);
  return &pushing_;
}

void RequestWriter::PushEmpty(uint32_t placement, const EmptyPart& part) {
  Begin();
  pushed_empty_.push_back(placement);
  AddEmptyPart(part, &pushing_);
}

void RequestWriter::Begin() {
  if (!pushed_.empty() || !pushed_empty_.empty()) return;
  pushing_ = *push_;
  *pushing_.mutable_header() = header_;
  pushing_.set_reads_taken(true);
  pushing_.mutable_parts()->Reserve(expected_);
  pushing_.mutable_empty_parts()->Reserve(expected_empty_ *
                                          kNumbersPerEmptyPart);
}

v1::PullRequest* RequestWriter::Pull(const PulledPart& part, size_t bytes) {
  MakeRoom(bytes);
  if (pulled_.empty()) {
    *pulling_.mutable_header() = header_;
    *pulling_.mutable_clock() = pull_clock_;
  }
  pulled_.push_back(part);
  return &pulling_;
}

void RequestWriter::TakeIn(size_t more) {
  std::string* values = pushing_.mutable_values();
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
  if (owner == nullptr || !pushing_.values().empty()) {
    TakeIn(bytes.size() + more);
    pushing_.mutable_values()->append(bytes.data(), bytes.size());
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
  std::string* values = pushing_.mutable_values();
  values->resize(values->size() + bytes);
  return values->data() + values->size() - bytes;
}

void RequestWriter::Flush() {
  // What is small is copied on its way anyway.
  if (referred_bytes_ < referred_.size() * kLeastReferred) TakeIn(0);
  pushed_.insert(pushed_.end(), pushed_empty_.begin(), pushed_empty_.end());
  const bool fused =
      !pushed_.empty() && !pulled_.empty() &&
      pushing_.keys().size() + pushing_.values().size() + referred_bytes_ <=
          limits_.fused_push_bytes;
  if (fused) {
    CutRequest cut;
    cut.request.values = std::move(referred_);
    v1::PushPullRequest* both = cut.request.message.mutable_push_pull();
    *both->mutable_push() = std::move(pushing_);
    *both->mutable_pull() = std::move(pulling_);
    cut.pushed = std::move(pushed_);
    cut.pulled = std::move(pulled_);
    finished_.push_back(std::move(cut));
  } else {
    if (!pushed_.empty()) {
      CutRequest cut;
      cut.request.values = std::move(referred_);
      *cut.request.message.mutable_push() = std::move(pushing_);
      cut.pushed = std::move(pushed_);
      finished_.push_back(std::move(cut));
    }
    if (!pulled_.empty()) {
      CutRequest cut;
      *cut.request.message.mutable_pull() = std::move(pulling_);
      cut.pulled = std::move(pulled_);
      finished_.push_back(std::move(cut));
    }
  }
  pushing_ = v1::PushRequest();
  referred_.clear();
  referred_bytes_ = 0;
  pulling_ = v1::PullRequest();
  pushed_.clear();
  pushed_empty_.clear();
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
