#include "worker/client/request_writer.h"

#include <utility>

#include "common/wire/key_encoding.h"
#include "common/wire/value_codec.h"
#include "common/wire/value_encoding.h"

namespace seraph {
void RequestWriter::MakeRoom(size_t bytes) {
  if (bytes_ > 0 && bytes_ + bytes > limits_.message_bytes) Flush();
  bytes_ += bytes;
}

v1::PushRequest* RequestWriter::Push(uint32_t placement, size_t bytes) {
  MakeRoom(bytes);
  if (pushed_.empty()) {
    pushing_ = *push_;
    *pushing_.mutable_header() = header_;
  }
  pushed_.push_back(placement);
  return &pushing_;
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

void RequestWriter::Flush() {
  const bool fused = !pushed_.empty() && !pulled_.empty() &&
                     pushing_.keys().size() + pushing_.values().size() <=
                         limits_.fused_push_bytes;
  if (fused) {
    CutRequest cut;
    v1::PushPullRequest* both = cut.request.mutable_push_pull();
    *both->mutable_push() = std::move(pushing_);
    *both->mutable_pull() = std::move(pulling_);
    cut.pushed = std::move(pushed_);
    cut.pulled = std::move(pulled_);
    finished_.push_back(std::move(cut));
  } else {
    if (!pushed_.empty()) {
      CutRequest cut;
      *cut.request.mutable_push() = std::move(pushing_);
      cut.pushed = std::move(pushed_);
      finished_.push_back(std::move(cut));
    }
    if (!pulled_.empty()) {
      CutRequest cut;
      *cut.request.mutable_pull() = std::move(pulling_);
      cut.pulled = std::move(pulled_);
      finished_.push_back(std::move(cut));
    }
  }
  pushing_ = v1::PushRequest();
  pulling_ = v1::PullRequest();
  pushed_.clear();
  pulled_.clear();
  bytes_ = 0;
}

std::vector<CutRequest> RequestWriter::Finish() {
  Flush();
  return std::move(finished_);
}

const v1::PushRequest* PushOf(const v1::ExchangeRequest& request) {
  if (request.has_push_pull()) return &request.push_pull().push();
  return request.has_push() ? &request.push() : nullptr;
}

const v1::PullRequest* PullOf(const v1::ExchangeRequest& request) {
  if (request.has_push_pull()) return &request.push_pull().pull();
  return request.has_pull() ? &request.pull() : nullptr;
}

void ForEachPart(
    const v1::PushRequest& push,
    absl::FunctionRef<size_t(uint32_t table)> width,
    absl::FunctionRef<void(size_t index, const PartBytes<v1::PushPart>& part)>
        visit) {
  absl::string_view keys = push.keys();
  absl::string_view values = push.values();
  for (int i = 0; i < push.parts_size(); ++i) {
    const v1::PushPart& part = push.parts(i);
    const size_t key_bytes = KeyBytesOf(part);
    const size_t value_bytes =
        part.key_count() *
        RowBytes(*KindOf(part.values()), width(part.table()));
    visit(i, {&part, keys.substr(0, key_bytes), values.substr(0, value_bytes)});
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
    visit(i, {&pull.parts(i), keys.substr(0, key_bytes), {}});
    keys.remove_prefix(key_bytes);
  }
}

}  // namespace seraph
