#include "common/rpc/grpc_status.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/status/errors.h"
#include "proto/error_details.pb.h"

namespace seraph {
namespace {

constexpr char kDomain[] = "seraph";

// What message and details may take in the trailers: the limit of gRPC is 8 KiB
// for all of them together.
constexpr size_t kBudgetBytes = 6 << 10;

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// The length of the character at the start of `text`, or 0 if it is none.
size_t Utf8Length(absl::string_view text) {
  const uint8_t first = text[0];
  const size_t length = first < 0x80         ? 1
                        : first >> 5 == 0x06 ? 2
                        : first >> 4 == 0x0E ? 3
                        : first >> 3 == 0x1E ? 4
                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = length == 1 ? first : first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
    code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3F);
  }
  // Not the shortest form, half of a pair, or beyond the last.
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF) return 0;
  if (code >= 0xD800 && code <= 0xDFFF) return 0;
  return length;
}

// A string field of a message must be UTF-8, or the peer refuses all of it.
std::string ToUtf8(absl::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      result.push_back('?');
    } else {
      result.append(text.data(), length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

// The bytes that a character of the message costs: once percent-encoded, once
// in the details, which are base64.
size_t CostOf(char c) {
  const bool plain = c >= ' ' && c <= '~' && c != '%';
  return plain ? 3 : 5;
}

// The longest start of `message` that costs at most `budget`, with a note of
// what is missing.
std::string Fit(const std::string& message, size_t budget) {
  constexpr size_t kNoteCost = 100;
  size_t total = 0;
  for (char c : message) total += CostOf(c);
  if (total <= budget) return message;

  size_t cost = kNoteCost;
  size_t end = 0;
  while (end < message.size() && cost + CostOf(message[end]) <= budget) {
    cost += CostOf(message[end++]);
  }
  while (end > 0 && end < message.size() && IsContinuation(message[end])) --end;
  return absl::StrCat(message.substr(0, end), "... (", message.size() - end,
                      " bytes cut)");
}

size_t Base64Size(const google::rpc::Status& details) {
  return details.ByteSizeLong() * 4 / 3;
}

google::rpc::Status DetailsOf(const absl::Status& status, bool with_values) {
  google::rpc::Status result;
  if (const std::string reason = ReasonOf(status); !reason.empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason(ToUtf8(reason));
    info.set_domain(kDomain);
    if (with_values) {
      for (const auto& [name, value] : ReasonValuesOf(status)) {
        (*info.mutable_metadata())[ToUtf8(name)] = ToUtf8(value);
      }
    }
    result.add_details()->PackFrom(info);
  }
  if (const auto delay = RetryAfterOf(status)) {
    google::rpc::RetryInfo info;
    absl::Duration rest;
    info.mutable_retry_delay()->set_seconds(
        absl::IDivDuration(*delay, absl::Seconds(1), &rest));
    info.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
    result.add_details()->PackFrom(info);
  }
  return result;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status details = DetailsOf(status, /*with_values=*/true);
  if (Base64Size(details) > kBudgetBytes / 2) {
    details = DetailsOf(status, /*with_values=*/false);
  }
  const std::string message =
      Fit(ToUtf8(status.message()), kBudgetBytes - Base64Size(details));

  const auto code = static_cast<grpc::StatusCode>(status.code());
  if (details.details().empty()) return grpc::Status(code, message);
  details.set_code(code);
  details.set_message(message);
  return grpc::Status(code, message, details.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());

  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& detail : details.details()) {
    google::rpc::ErrorInfo error;
    google::rpc::RetryInfo retry;
    if (detail.UnpackTo(&error)) {
      result = WithReason(std::move(result), error.reason(),
                          {error.metadata().begin(), error.metadata().end()});
    } else if (detail.UnpackTo(&retry)) {
      result =
          WithRetryAfter(std::move(result),
                         absl::Seconds(retry.retry_delay().seconds()) +
                             absl::Nanoseconds(retry.retry_delay().nanos()));
    }
  }
  return result;
}

}  // namespace seraph
