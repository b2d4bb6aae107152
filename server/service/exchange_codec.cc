#include "server/service/exchange_codec.h"

#include <string>

#include "common/wire/exchange_bulk.h"

namespace seraph {
namespace {

using Rows = std::vector<PulledRows>;

MessageWriter WritePull(const v1::PullReply& head, Rows rows) {
  MessageWriter reply;
  reply.Head(head);
  const auto owner = std::make_shared<const Rows>(std::move(rows));
  std::vector<OwnedSlice> values;
  for (const PulledRows& part : *owner) {
    values.push_back(OwnedSlice{BytesOf(part), owner});
  }
  reply.Bytes(kPulledValues.number, values);
  return reply;
}

MessageWriter WritePushPull(const v1::PushPullReply& head, Rows rows) {
  MessageWriter push, reply;
  push.Head(head.push());
  reply.Message(v1::PushPullReply::kPushFieldNumber, std::move(push));
  reply.Message(v1::PushPullReply::kPullFieldNumber,
                WritePull(head.pull(), std::move(rows)));
  return reply;
}

void TakeIn(const Rows& rows, v1::PullReply* reply) {
  std::string* values = reply->mutable_values();
  for (const PulledRows& part : rows) {
    const absl::string_view bytes = BytesOf(part);
    values->append(bytes.data(), bytes.size());
  }
}

}  // namespace

absl::string_view BytesOf(const PulledRows& rows) {
  if (const auto* bytes = std::get_if<std::string>(&rows)) return *bytes;
  const auto& values = std::get<FloatBuffer>(rows);
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

MessageWriter WriteReply(WithRows<v1::PullReply> reply) {
  return WritePull(reply.head, std::move(reply.rows));
}

MessageWriter WriteReply(WithRows<v1::PushReply> reply) {
  MessageWriter written;
  written.Head(reply.head);
  return written;
}

MessageWriter WriteReply(WithRows<v1::PushPullReply> reply) {
  return WritePushPull(reply.head, std::move(reply.rows));
}

MessageWriter WriteReply(WithRows<v1::ExchangeReply> reply) {
  MessageWriter written;
  v1::ExchangeReply& head = reply.head;
  const int field = head.body_case();
  if (head.has_pull()) {
    MessageWriter body = WritePull(head.pull(), std::move(reply.rows));
    head.clear_body();
    written.Head(head);
    written.Message(field, std::move(body));
  } else if (head.has_push_pull()) {
    MessageWriter body = WritePushPull(head.push_pull(), std::move(reply.rows));
    head.clear_body();
    written.Head(head);
    written.Message(field, std::move(body));
  } else {
    written.Head(head);
  }
  return written;
}

v1::ExchangeReply WholeReply(WithRows<v1::ExchangeReply> reply) {
  if (reply.head.has_pull()) TakeIn(reply.rows, reply.head.mutable_pull());
  if (reply.head.has_push_pull()) {
    TakeIn(reply.rows, reply.head.mutable_push_pull()->mutable_pull());
  }
  return std::move(reply.head);
}

}  // namespace seraph
