#include "worker/client/request_wire.h"

#include <string>
#include <utility>
#include <vector>

#include "common/wire/exchange_bulk.h"

namespace seraph {
namespace {

using Owner = std::shared_ptr<const RankRequest>;

// All fields but parts and bulk: request_wire_test finds one that is missing.
v1::PushRequest HeadOf(const v1::PushRequest& push) {
  v1::PushRequest head;
  if (push.has_header()) *head.mutable_header() = push.header();
  CopyEntry(push, &head);
  *head.mutable_empty_parts() = push.empty_parts();
  return head;
}

v1::PullRequest HeadOf(const v1::PullRequest& pull) {
  v1::PullRequest head;
  if (pull.has_header()) *head.mutable_header() = pull.header();
  if (pull.has_clock()) *head.mutable_clock() = pull.clock();
  return head;
}

// The parts are not copied before they are written.
template <typename Request>
void WriteParts(const Request& request, MessageWriter* written) {
  for (const auto& part : request.parts()) {
    MessageWriter one;
    one.Head(part);
    written->Message(Request::kPartsFieldNumber, std::move(one));
  }
}

MessageWriter Write(const v1::PushRequest& push, const Owner& owner) {
  MessageWriter written;
  const std::vector<OwnedSlice>& pieces = owner->values;
  if (pieces.empty() &&
      push.keys().size() + push.values().size() <= MessageWriter::kCopied) {
    written.Head(push);  // Its bulk would be copied anyway.
    return written;
  }
  written.Head(HeadOf(push));
  WriteParts(push, &written);
  written.Bytes(kPushKeys.number, OwnedSlice{push.keys(), owner});
  if (pieces.empty()) {
    written.Bytes(kPushValues.number, OwnedSlice{push.values(), owner});
  } else {
    written.Bytes(kPushValues.number, pieces);
  }
  return written;
}

MessageWriter Write(const v1::PullRequest& pull, const Owner& owner) {
  MessageWriter written;
  if (pull.keys().size() <= MessageWriter::kCopied) {
    written.Head(pull);
    return written;
  }
  written.Head(HeadOf(pull));
  WriteParts(pull, &written);
  written.Bytes(kPullKeys.number, OwnedSlice{pull.keys(), owner});
  return written;
}

}  // namespace

MessageWriter WriteRequest(const Owner& request, uint64_t number) {
  v1::ExchangeRequest head;
  head.set_number(number);
  MessageWriter written;
  written.Head(head);
  const v1::ExchangeRequest& message = request->message;
  if (message.has_push()) {
    written.Message(v1::ExchangeRequest::kPushFieldNumber,
                    Write(message.push(), request));
  } else if (message.has_pull()) {
    written.Message(v1::ExchangeRequest::kPullFieldNumber,
                    Write(message.pull(), request));
  } else if (message.has_push_pull()) {
    MessageWriter both;
    both.Message(v1::PushPullRequest::kPushFieldNumber,
                 Write(message.push_pull().push(), request));
    both.Message(v1::PushPullRequest::kPullFieldNumber,
                 Write(message.push_pull().pull(), request));
    written.Message(v1::ExchangeRequest::kPushPullFieldNumber, std::move(both));
  }
  return written;
}

}  // namespace seraph
