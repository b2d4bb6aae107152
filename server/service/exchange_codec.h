// Replies of the calls that touch rows, whose rows stay where partitions wrote
// them.
#ifndef SERAPH_SERVER_SERVICE_EXCHANGE_CODEC_H_
#define SERAPH_SERVER_SERVICE_EXCHANGE_CODEC_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/float_buffer.h"
#include "common/wire/message_writer.h"
#include "proto/parameters.pb.h"

namespace seraph {

// The rows of one part: row-major values, or the bytes that they travel as.
using PulledRows = std::variant<FloatBuffer, std::string>;

absl::string_view BytesOf(const PulledRows& rows);

// A reply without its bulk.
template <typename Reply>
struct WithRows {
  Reply head;
  std::vector<PulledRows> rows;  // Of the pull in it: by part.
};

// On the wire. Rows are not copied, unless there are few.
MessageWriter WriteReply(WithRows<v1::PullReply> reply);
MessageWriter WriteReply(WithRows<v1::PushReply> reply);
MessageWriter WriteReply(WithRows<v1::PushPullReply> reply);
MessageWriter WriteReply(WithRows<v1::ExchangeReply> reply);

// As one protobuf message.
v1::ExchangeReply WholeReply(WithRows<v1::ExchangeReply> reply);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_EXCHANGE_CODEC_H_
