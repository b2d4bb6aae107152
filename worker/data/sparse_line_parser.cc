#include "worker/data/sparse_line_parser.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/data/number.h"
#include "worker/data/row_end.h"

namespace seraph {
namespace {

constexpr absl::string_view kGroupPrefix = "qid:";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes the next part off `rest`; empty if there is none.
absl::string_view NextPart(absl::string_view* rest) {
  const char* at = rest->data();
  const char* const end = at + rest->size();
  while (at != end && IsBlank(*at)) ++at;
  const char* const begin = at;
  while (at != end && !IsBlank(*at)) ++at;
  *rest = absl::string_view(at, end - at);
  return absl::string_view(begin, at - begin);
}

// Takes the digits in front of ':' and the ':' off `entry`. False if something
// else stands there, or a number of more than 64 bits.
bool TakeNumber(absl::string_view* entry, uint64_t* number) {
  const char* at = entry->data();
  const char* const end = at + entry->size();
  uint64_t value = 0;
  while (at != end && absl::ascii_isdigit(*at) && at - entry->data() < 19) {
    value = value * 10 + (*at++ - '0');  // 19 digits are below 2^64.
  }
  if (at == end || at == entry->data()) return false;
  if (*at != ':') {
    const size_t colon = entry->find(':');
    if (colon == absl::string_view::npos ||
        ParseUint64(entry->substr(0, colon), &value) != NumberError::kNone) {
      return false;
    }
    at = entry->data() + colon;
  }
  *number = value;
  *entry = absl::string_view(at + 1, end - at - 1);
  return true;
}

absl::StatusOr<double> ParseLabel(absl::string_view text) {
  double label;
  const NumberError error = ParseDouble(text, &label);
  if (error == NumberError::kNone) return label;
  return absl::InvalidArgumentError(absl::StrCat(
      "label ", InQuotes(text), " ",
      absl::StrContains(text, ',') ? "is a list where one number is wanted"
                                   : Reason(error)));
}

absl::StatusOr<uint64_t> ParseGroup(absl::string_view part) {
  uint64_t group;
  const NumberError error =
      ParseUint64(part.substr(kGroupPrefix.size()), &group);
  if (error == NumberError::kNone) return group;
  return absl::InvalidArgumentError(absl::StrCat(
      "group ", InQuotes(part), " is not qid: and a whole number"));
}

}  // namespace

SparseLineParser::SparseLineParser(const RecordRules& rules)
    : with_fields_(rules.format == DataFormat::kLibffm),
      labels_optional_(rules.labels_optional),
      index_base_(rules.options.IndexBase(rules.format)),
      shift_(rules.dense_keys.has_value() ? index_base_ : 0),
      keys_(rules.dense_keys) {}

absl::StatusOr<bool> SparseLineParser::Parse(absl::string_view line,
                                             RecordBlock* block) const {
  absl::string_view rest = line.substr(0, line.find('#'));
  absl::string_view part = NextPart(&rest);
  if (part.empty()) return false;

  double label = std::numeric_limits<double>::quiet_NaN();
  if (!labels_optional_ || !absl::StrContains(part, ':')) {
    SERAPH_ASSIGN_OR_RETURN(label, ParseLabel(part));
    part = NextPart(&rest);
  }
  Batch& batch = block->records;
  uint64_t group = 0;
  bool sorted = true;
  for (; !part.empty(); part = NextPart(&rest)) {
    if (part[0] == 'q' && absl::StartsWith(part, kGroupPrefix)) {
      SERAPH_ASSIGN_OR_RETURN(group, ParseGroup(part));
      continue;
    }
    SERAPH_RETURN_IF_ERROR(ParseEntry(part, &batch));
    const size_t last = batch.keys.size() - 1;
    sorted = sorted && (last == batch.row_starts.back() ||
                        batch.keys[last - 1] < batch.keys[last]);
  }
  if (!sorted) {
    SERAPH_ASSIGN_OR_RETURN(const bool repeated, SortUnfinishedRow(&batch));
    block->repeated_index_records += repeated;
  }
  FinishRow(label, group, &batch);
  return true;
}

absl::Status SparseLineParser::ParseEntry(absl::string_view entry,
                                          Batch* batch) const {
  absl::string_view rest = entry;
  uint64_t field = 0, index = 0;
  if (with_fields_ && !TakeNumber(&rest, &field)) {
    return BadNumber("field", rest, entry);
  }
  if (!TakeNumber(&rest, &index)) return BadNumber("index", rest, entry);
  float value;
  if (const NumberError error = ParseFloat(rest, &value);
      error != NumberError::kNone) {
    return absl::InvalidArgumentError(absl::StrCat(
        "value ", InQuotes(rest), " of index ", index, " ", Reason(error),
        !with_fields_ && absl::StrContains(rest, ':')
            ? " (is this data.format: libffm?)"
            : ""));
  }
  if (index < index_base_ || (keys_ && index - shift_ >= *keys_)) {
    return BadIndex(entry, index);
  }
  if (with_fields_) {
    if (field > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("field ", field, " does not fit 32 bits"));
    }
    batch->fields.push_back(static_cast<uint32_t>(field));
  }
  batch->keys.push_back(index - shift_);
  batch->values.push_back(value);
  return absl::OkStatus();
}

// Why TakeNumber() did not like what `rest` of an entry begins with.
absl::Status SparseLineParser::BadNumber(absl::string_view name,
                                         absl::string_view rest,
                                         absl::string_view entry) const {
  if (!absl::StrContains(rest, ':')) {
    return absl::InvalidArgumentError(
        absl::StrCat(InQuotes(entry), " is not ",
                     with_fields_ ? "field:index:value" : "index:value"));
  }
  const absl::string_view text = rest.substr(0, rest.find(':'));
  uint64_t ignored;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", InQuotes(text),
                   ParseUint64(text, &ignored) == NumberError::kTooLarge
                       ? " does not fit 64 bits"
                       : " is not a whole number from 0 on"));
}

absl::Status SparseLineParser::BadIndex(absl::string_view entry,
                                        uint64_t index) const {
  if (index < index_base_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index ", index, " in ", InQuotes(entry),
        " is below options.index_base: 1; files that count from 0 need "
        "data.options.index_base: 0"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "index ", index, " in ", InQuotes(entry), " is too large: model.keys: ",
      *keys_, " with options.index_base: ", index_base_,
      " allows indices up to ", *keys_ - 1 + index_base_));
}

}  // namespace seraph
