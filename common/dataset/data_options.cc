#include "common/dataset/data_options.h"

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

template <typename E>
using Names = std::pair<E, absl::string_view>;

constexpr Names<DataFormat> kFormats[] = {{DataFormat::kLibsvm, "libsvm"},
                                          {DataFormat::kLibffm, "libffm"},
                                          {DataFormat::kCsv, "csv"},
                                          {DataFormat::kIdx, "idx"}};
constexpr absl::string_view kFormatNames[] = {"libsvm", "libffm", "csv", "idx"};

constexpr Names<CsvHeader> kHeaders[] = {{CsvHeader::kAuto, "auto"},
                                         {CsvHeader::kYes, "true"},
                                         {CsvHeader::kNo, "false"}};

constexpr Names<BadRecordAction> kActions[] = {
    {BadRecordAction::kFail, "fail"}, {BadRecordAction::kSkip, "skip"}};

constexpr absl::string_view kSparseOptions[] = {
    "block_bytes", "group_bytes", "index_base", "max_record_bytes"};
constexpr absl::string_view kCsvOptions[] = {
    "block_bytes", "categorical", "columns",          "delimiter",
    "group_bytes", "hash_bits",   "header",           "label_column",
    "missing",     "skip_lines",  "max_record_bytes",
};
constexpr absl::string_view kIdxOptions[] = {"block_bytes", "group_bytes",
                                             "labels", "scale"};

template <typename E, size_t N>
absl::string_view NameOf(const Names<E> (&names)[N], E value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "";
}

template <typename E, size_t N>
std::optional<E> FromName(const Names<E> (&names)[N], absl::string_view name) {
  for (const auto& [value, candidate] : names) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

bool IsDelimiter(char c) {
  return !absl::ascii_isalnum(c) && absl::ascii_isascii(c) && c != '\0' &&
         absl::string_view("\"+-.\r\n").find(c) == absl::string_view::npos;
}

}  // namespace

absl::string_view DataFormatName(DataFormat format) {
  return NameOf(kFormats, format);
}

std::optional<DataFormat> DataFormatFromName(absl::string_view name) {
  return FromName(kFormats, name);
}

absl::Span<const absl::string_view> DataFormatNames() { return kFormatNames; }

absl::Span<const absl::string_view> OptionNames(DataFormat format) {
  switch (format) {
    case DataFormat::kLibsvm:
    case DataFormat::kLibffm:
      return kSparseOptions;
    case DataFormat::kCsv:
      return kCsvOptions;
    case DataFormat::kIdx:
      return kIdxOptions;
  }
  return {};
}

absl::string_view CsvHeaderName(CsvHeader header) {
  return NameOf(kHeaders, header);
}

std::optional<CsvHeader> CsvHeaderFromName(absl::string_view name) {
  return FromName(kHeaders, name);
}

absl::string_view BadRecordActionName(BadRecordAction action) {
  return NameOf(kActions, action);
}

std::optional<BadRecordAction> BadRecordActionFromName(absl::string_view name) {
  return FromName(kActions, name);
}

std::optional<char> DelimiterFromName(absl::string_view name) {
  if (name == "tab" || name == "\\t") return '\t';
  if (name == "space") return ' ';
  if (name.size() == 1 && IsDelimiter(name[0])) return name[0];
  return std::nullopt;
}

uint32_t DataOptions::IndexBase(DataFormat format) const {
  return index_base.value_or(format == DataFormat::kLibsvm ? 1 : 0);
}

absl::Status DataOptions::Validate() const {
  std::vector<std::string> bad;
  const auto check_range = [&bad](absl::string_view name, uint64_t value,
                                  uint64_t low, uint64_t high) {
    if (value < low || value > high) {
      bad.push_back(
          absl::StrCat(name, ": ", value, " is not in ", low, "..", high));
    }
  };
  if (block_bytes != 0) {
    check_range("block_bytes", block_bytes, 64, uint64_t{1} << 30);
  }
  check_range("group_bytes", group_bytes, 4096, uint64_t{1} << 32);
  check_range("max_record_bytes", max_record_bytes, 64, uint64_t{1} << 30);
  check_range("index_base", index_base.value_or(0), 0, 1);
  check_range("hash_bits", hash_bits, 0, 62);
  if (label_column.empty()) bad.push_back("label_column: is empty");
  if (!IsDelimiter(delimiter)) {
    bad.push_back("delimiter: is a quote, a letter, a digit or one of +-.");
  }
  if (!std::isfinite(scale) || scale == 0) {
    bad.push_back(absl::StrCat("scale: ", scale, " is 0 or not finite"));
  }
  if (bad.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(bad, "; "));
}

}  // namespace seraph
