#include "common/functions/function_value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace seraph {
namespace {

bool IsWholeNumber(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    text.remove_prefix(1);
  }
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// A decimal number, and no word such as "inf" or "nan".
bool IsNumber(absl::string_view text, double* value) {
  const bool digits =
      std::any_of(text.begin(), text.end(), absl::ascii_isdigit);
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isdigit(c) || c == '.' || c == '-' || c == '+' ||
           c == 'e' || c == 'E';
  });
  return digits && plain && absl::SimpleAtod(text, value);
}

template <typename T, typename Parse>
absl::StatusOr<FunctionValue> ParseList(absl::string_view text,
                                        absl::string_view what, Parse parse) {
  std::vector<T> values;
  if (text.empty()) return values;
  for (const absl::string_view one : absl::StrSplit(text, ',')) {
    T value{};
    if (!parse(absl::StripAsciiWhitespace(one), &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", one, "' is no ", what));
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

absl::string_view ValueTypeName(ValueType type) {
  switch (type) {
    case ValueType::kInt:
      return "int";
    case ValueType::kDouble:
      return "double";
    case ValueType::kText:
      return "text";
    case ValueType::kKeys:
      return "keys";
    case ValueType::kFloats:
      return "floats";
  }
  return "?";
}

bool IsFinite(const FunctionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    return std::isfinite(*number);
  }
  if (const auto* list = std::get_if<std::vector<float>>(&value)) {
    return std::all_of(list->begin(), list->end(),
                       [](float one) { return std::isfinite(one); });
  }
  return true;
}

size_t BytesOf(const FunctionValue& value) {
  size_t bytes = sizeof(FunctionValue);
  if (const auto* text = std::get_if<std::string>(&value)) {
    bytes += text->size();
  } else if (const auto* keys = std::get_if<std::vector<Key>>(&value)) {
    bytes += keys->size() * sizeof(Key);
  } else if (const auto* list = std::get_if<std::vector<float>>(&value)) {
    bytes += list->size() * sizeof(float);
  }
  return bytes;
}

absl::StatusOr<FunctionValue> ParseFunctionValue(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "text:")) return std::string(text);
  if (absl::ConsumePrefix(&text, "keys:")) {
    return ParseList<Key>(text, "key", [](absl::string_view one, Key* key) {
      return absl::SimpleAtoi(one, key);
    });
  }
  if (absl::ConsumePrefix(&text, "floats:")) {
    return ParseList<float>(text, "number",
                            [](absl::string_view one, float* value) {
                              return absl::SimpleAtof(one, value);
                            });
  }
  if (IsWholeNumber(text)) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " does not fit into 64 bits"));
    }
    return value;
  }
  double value = 0;
  if (IsNumber(text, &value)) return value;
  return std::string(text);
}

}  // namespace seraph
