#include "server/service/request_codec.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/finite.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/function_codec.h"
#include "common/wire/key_encoding.h"
#include "common/wire/push_parts.h"
#include "common/wire/slice_values.h"
#include "common/wire/value_codec.h"
#include "common/wire/value_encoding.h"
#include "server/service/ledger_codec.h"
#include "server/service/listed_keys.h"

namespace seraph {
namespace {

// Copies the next values, and looks at them while they are in the cache: the
// index of the first one that is not finite; values.size() if there is none.
size_t CopyFinite(SliceReader* from, absl::Span<float> values) {
  constexpr size_t kPiece = 4096;
  size_t finite = 0;
  for (size_t begin = 0; begin < values.size(); begin += kPiece) {
    const absl::Span<float> piece = values.subspan(begin, kPiece);
    CopyValues(from, piece);
    if (finite == begin) finite += FirstNotFinite(piece);
  }
  return finite;
}

// Walks over the bytes of a bulk field, part after part.
class Tail {
 public:
  explicit Tail(const ByteSlices& bytes)
      : size_(bytes.size()), reader_(bytes) {}

  // [count * width] values, in rows of `kind`, and how many of them are known
  // to be finite.
  absl::Status TakeRows(ValueKind kind, size_t count, size_t width,
                        FloatBuffer* out, size_t* finite) {
    if (width == 0) return absl::OkStatus();  // There is no such table.
    const size_t row_bytes = RowBytes(kind, width);
    if (count > reader_.left() / row_bytes) return TooShort("values");
    out->resize(count * width);
    if (kind == ValueKind::kFloat32) {
      *finite = CopyFinite(&reader_, absl::MakeSpan(*out));
      return absl::OkStatus();
    }
    float* to = out->data();
    ForEachRecord(count, row_bytes, &reader_, [&](const char* row) {
      DecodeRow(kind, row, absl::MakeSpan(to, width));
      to += width;
    });
    return absl::OkStatus();
  }

  // Keys in a form of `bytes`. What is wrong with the keys alone is told in
  // `*wrong`.
  absl::Status TakeKeys(KeyForm form, Key first, size_t count, size_t bytes,
                        std::vector<Key>* keys, absl::Status* wrong) {
    if (bytes > reader_.left()) return TooShort("keys");
    *wrong = seraph::TakeKeys(form, first, count, bytes, &reader_, keys);
    return absl::OkStatus();
  }

  absl::Status CheckEnd(const char* field) const {
    if (reader_.left() == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the field '", field, "' has ", reader_.left(),
                     " bytes more than its parts say"));
  }

 private:
  absl::Status TooShort(const char* field) const {
    return absl::InvalidArgumentError(
        absl::StrCat("the field '", field, "' is shorter than its parts say (",
                     size_, " bytes)"));
  }

  const size_t size_;
  SliceReader reader_;
};

// A part that cannot be what it says.
template <typename Message>
void Refuse(std::string why, DecodedPart<Message>* decoded) {
  decoded->actor = nullptr;
  decoded->refusal.outcome = {.code = PartCode::kInvalid,
                              .message = std::move(why)};
}

// A list takes the place of a pull's keys; an entry is to have its own.
void SetList(std::shared_ptr<KeyList> list, PullMessage* message) {
  message->list = std::move(list);
}
void SetList(std::shared_ptr<KeyList> list, PushMessage* message) {
  message->keys = list->keys();
  message->list = std::move(list);
}

// The keys of a part that has them by name alone.
template <typename Part, typename Message>
void FindList(const Part& part, const ListedKeys& lists,
              DecodedPart<Message>* decoded) {
  std::shared_ptr<KeyList> list = lists.Find(*decoded->actor, part);
  if (list == nullptr) {
    decoded->actor = nullptr;
    decoded->refusal.outcome = {
        .code = PartCode::kUnknownList,
        .message = "no list of keys of this name is known here"};
  } else if (list->keys().size() != part.key_count()) {
    Refuse(absl::StrCat(part.key_count(), " keys of a list of ",
                        list->keys().size()),
           decoded);
  } else {
    SetList(std::move(list), &decoded->message);
  }
}

// Keeps the keys of a part that names them too.
template <typename Part, typename Message>
void KeepList(const Part& part, const ListedKeys& lists, std::vector<Key>* keys,
              DecodedPart<Message>* decoded) {
  absl::StatusOr<std::shared_ptr<KeyList>> list =
      lists.Keep(*decoded->actor, part, keys);
  if (!list.ok()) return Refuse(std::string(list.status().message()), decoded);
  if (*list != nullptr) SetList(*std::move(list), &decoded->message);
}

template <typename Message>
void FindPartition(const ServedJob& job, uint32_t table, uint32_t partition,
                   DecodedPart<Message>* decoded) {
  decoded->actor = job.Find(table, partition);
  if (decoded->actor != nullptr) return;
  decoded->refusal.outcome = {
      .code = PartCode::kNotHere,
      .message = absl::StrCat("table ", table, ", partition ", partition,
                              " is not on this server")};
  decoded->refusal.epoch = job.EpochSeen(table, partition);
}

// Takes a part's keys and finds its partition.
template <typename Part, typename Message>
absl::Status TakeKeys(const Part& part, const ServedJob& job,
                      const ListedKeys& lists, Tail* keys,
                      DecodedPart<Message>* decoded) {
  FindPartition(job, part.table(), part.partition(), decoded);
  if (part.encoding() == v1::KEY_ENCODING_LISTED) {
    if (decoded->actor != nullptr) FindList(part, lists, decoded);
    return absl::OkStatus();
  }
  const std::optional<KeyForm> form = FormOf(part.encoding());
  if (!form.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown key encoding ", part.encoding()));
  }
  if (*form != KeyForm::kRange) {
    absl::Status wrong;
    std::vector<Key> list;
    SERAPH_RETURN_IF_ERROR(keys->TakeKeys(*form, part.first_key(),
                                          part.key_count(), KeyBytesOf(part),
                                          &list, &wrong));
    if (!wrong.ok() && decoded->actor != nullptr) {
      Refuse(std::string(wrong.message()), decoded);
    }
    if (part.has_list() && decoded->actor != nullptr) {
      KeepList(part, lists, &list, decoded);
    }
    if (decoded->message.list == nullptr) {
      decoded->message.keys = std::move(list);
    }
    return absl::OkStatus();
  }
  if (decoded->actor == nullptr || part.key_count() == 0) {
    return absl::OkStatus();
  }
  // Before anything is taken for them: the keys must be the partition's.
  const KeyRange& range = decoded->actor->range();
  if (!range.Contains(part.first_key()) ||
      part.key_count() - 1 > range.last - part.first_key()) {
    Refuse(
        absl::StrCat(part.key_count(), " keys from ", part.first_key(),
                     ": the partition holds ", range.first, " to ", range.last),
        decoded);
    return absl::OkStatus();
  }
  decoded->message.keys = KeySet::Range(part.first_key(), part.key_count());
  return absl::OkStatus();
}

// Errors: InvalidArgument for an encoding that a later version may have.
absl::StatusOr<ValueKind> ValuesOf(v1::ValueEncoding encoding) {
  const std::optional<ValueKind> kind = KindOf(encoding);
  if (kind.has_value()) return *kind;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown value encoding ", encoding));
}

// Values per key of a part's table; 0 where there is no such table.
size_t WidthOf(const ServedJob& job, uint32_t table) {
  return table < job.tables().size() ? job.tables()[table].width : 0;
}

}  // namespace

std::optional<RankName> RankNameOf(const v1::RequestHeader& header) {
  if (!header.has_rank()) return std::nullopt;
  return RankName{header.rank().rank(), header.rank().attempt()};
}

absl::StatusOr<std::vector<DecodedPart<PullMessage>>> DecodePull(
    const v1::PullRequest& request, const ByteSlices& key_bytes,
    const ServedJob& job) {
  std::vector<DecodedPart<PullMessage>> parts(request.parts_size());
  const std::optional<RankName> rank = RankNameOf(request.header());
  size_t reply_bytes = 0;
  for (const v1::PullPart& part : request.parts()) {
    SERAPH_ASSIGN_OR_RETURN(const ValueKind kind, ValuesOf(part.values()));
    reply_bytes +=
        part.key_count() * RowBytes(kind, WidthOf(job, part.table()));
  }
  if (reply_bytes > kMaxReplyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the answer would have ", reply_bytes, " bytes; at most ",
                     kMaxReplyBytes, " fit: pull fewer keys at once"));
  }
  const ListedKeys lists(job, request.header());
  Tail keys(key_bytes);
  for (int i = 0; i < request.parts_size(); ++i) {
    PullMessage& message = parts[i].message;
    message.epoch = request.parts(i).epoch();
    message.rank = rank;
    message.number = request.parts(i).number();
    parts[i].form = {
        *KindOf(request.parts(i).values()),
        static_cast<uint32_t>(WidthOf(job, request.parts(i).table()))};
    if (request.has_clock()) message.clock = FromProto(request.clock());
    SERAPH_RETURN_IF_ERROR(
        TakeKeys(request.parts(i), job, lists, &keys, &parts[i]));
  }
  SERAPH_RETURN_IF_ERROR(keys.CheckEnd("keys"));
  return parts;
}

absl::Status DecodePush(const v1::PushRequest& request,
                        const ByteSlices& key_bytes,
                        const ByteSlices& value_bytes, const ServedJob& job,
                        PushParts* decoded_parts) {
  SERAPH_RETURN_IF_ERROR(CheckEmptyParts(request));
  PushParts& parts = *decoded_parts;
  parts.resize(PartsOf(request));
  const std::optional<RankName> rank = RankNameOf(request.header());
  const ListedKeys lists(job, request.header());
  // What the request says of all of its parts.
  const auto set_common = [&](uint32_t table, uint64_t epoch,
                              PushMessage* message) {
    message->epoch = epoch;
    message->rank = rank;
    message->clock = FromProto(request.clock());
    message->session = request.header().session();
    message->number = request.number();
    message->ends_epoch = request.ends_epoch();
    message->examples = request.examples();
    for (const v1::TableCall& one : request.calls()) {
      if (one.table() != table) continue;
      SERAPH_ASSIGN_OR_RETURN(FunctionCall call, FromProto(one.call()));
      message->calls.push_back(std::move(call));
    }
    return absl::OkStatus();
  };
  const auto set_ledger = [&](DecodedPart<PushMessage>* part) {
    if (part->actor == nullptr || !part->actor->options().is_ledger) return;
    part->message.ledger = DecodeLedger(request.ledger());
  };
  Tail keys(key_bytes);
  Tail values(value_bytes);
  for (int i = 0; i < request.parts_size(); ++i) {
    const v1::PushPart& part = request.parts(i);
    PushMessage& message = parts[i].message;
    SERAPH_RETURN_IF_ERROR(set_common(part.table(), part.epoch(), &message));
    message.chunk = part.chunk();
    message.chunks = part.chunks() == 0 ? 1 : part.chunks();
    SERAPH_RETURN_IF_ERROR(TakeKeys(part, job, lists, &keys, &parts[i]));
    SERAPH_ASSIGN_OR_RETURN(const ValueKind kind, ValuesOf(part.values()));
    SERAPH_RETURN_IF_ERROR(
        values.TakeRows(kind, part.key_count(), WidthOf(job, part.table()),
                        &message.values, &message.known_finite));
    set_ledger(&parts[i]);
  }
  for (size_t i = 0; i < EmptyPartsOf(request); ++i) {
    const EmptyPart part = EmptyPartAt(request, i);
    DecodedPart<PushMessage>& decoded = parts[request.parts_size() + i];
    SERAPH_RETURN_IF_ERROR(
        set_common(part.table, part.epoch, &decoded.message));
    FindPartition(job, part.table, part.partition, &decoded);
    set_ledger(&decoded);
  }
  SERAPH_RETURN_IF_ERROR(keys.CheckEnd("keys"));
  SERAPH_RETURN_IF_ERROR(values.CheckEnd("values"));
  return absl::OkStatus();
}

void EncodeResult(const Answer& answer, v1::PartResult* result) {
  const PartOutcome& outcome = answer.outcome;
  switch (outcome.code) {
    case PartCode::kOk:
      result->set_code(v1::PART_OK);
      break;
    case PartCode::kNotHere:
      result->set_code(v1::PART_NOT_HERE);
      break;
    case PartCode::kStaleEpoch:
      result->set_code(v1::PART_STALE_EPOCH);
      break;
    case PartCode::kStaleAttempt:
      result->set_code(v1::PART_STALE_ATTEMPT);
      break;
    case PartCode::kUnknownAttempt:
      result->set_code(v1::PART_UNKNOWN_ATTEMPT);
      break;
    case PartCode::kExpectedClock:
      result->set_code(v1::PART_EXPECTED_CLOCK);
      ToProto(outcome.expected, result->mutable_expected());
      break;
    case PartCode::kInvalid:
      result->set_code(v1::PART_INVALID);
      break;
    case PartCode::kRetryAfter:
      result->set_code(v1::PART_RETRY_AFTER);
      result->set_retry_after_ms(outcome.retry_after_ms);
      break;
    case PartCode::kFailed:
      result->set_code(v1::PART_FAILED);
      break;
    case PartCode::kReplaced:
      result->set_code(v1::PART_REPLACED);
      break;
    case PartCode::kFunctionFailed:
      result->set_code(v1::PART_FUNCTION_FAILED);
      break;
    case PartCode::kUnknownList:
      result->set_code(v1::PART_UNKNOWN_LIST);
      break;
  }
  // Even an empty one would take memory.
  if (!outcome.message.empty()) result->set_message(outcome.message);
  result->set_epoch(answer.epoch);
  result->set_position(answer.position);
}

}  // namespace seraph
