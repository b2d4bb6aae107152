#include "client/render/function_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/text_table.h"

namespace seraph {
namespace {

template <typename Number>
std::string Shortest(Number number) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  return std::string(buffer, end);
}

struct Rows {
  std::vector<Key> keys;
  std::vector<float> values;
};

// Empty where the rule gives none.
std::optional<Rows> RowsOf(const FunctionResult& result) {
  if (result.combine != CombineRule::kLeast &&
      result.combine != CombineRule::kLargest) {
    return std::nullopt;
  }
  Rows rows;
  if (result.values.size() != 2) return rows;
  if (const auto* keys = std::get_if<std::vector<Key>>(&result.values[0])) {
    rows.keys = *keys;
  }
  if (const auto* list = std::get_if<std::vector<float>>(&result.values[1])) {
    rows.values = *list;
  }
  const size_t size = std::min(rows.keys.size(), rows.values.size());
  rows.keys.resize(size);
  rows.values.resize(size);
  return rows;
}

// A float as the shortest decimal that reads back to it: as a double it would
// show digits that it does not have.
double AsDouble(float value) { return std::stod(Shortest(value)); }

Document ValueDocument(const FunctionValue& value) {
  if (const auto* list = std::get_if<std::vector<float>>(&value)) {
    Document values = Document::array();
    for (const float one : *list) values.push_back(AsDouble(one));
    return values;
  }
  return std::visit([](const auto& one) { return Document(one); }, value);
}

struct ValueText {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return Shortest(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<Key>& keys) const {
    return absl::StrJoin(keys, " ");
  }
  std::string operator()(const std::vector<float>& values) const {
    return absl::StrJoin(values, " ", [](std::string* out, float one) {
      out->append(Shortest(one));
    });
  }
};

}  // namespace

Document FunctionDocument(const FunctionCall& call,
                          const FunctionResult& result) {
  Document document = {
      {"function", {{"name", call.function}, {"version", result.version}}},
      {"table", result.table},
      {"column", call.column}};
  if (const auto rows = RowsOf(result); rows.has_value()) {
    Document list = Document::array();
    for (size_t i = 0; i < rows->keys.size(); ++i) {
      list.push_back(
          {{"key", rows->keys[i]}, {"value", AsDouble(rows->values[i])}});
    }
    document["rows"] = std::move(list);
  } else if (result.combine != CombineRule::kList &&
             result.values.size() == 1) {
    document["value"] = ValueDocument(result.values[0]);
  } else {
    document["values"] = Document::array();
    for (const FunctionValue& one : result.values) {
      document["values"].push_back(ValueDocument(one));
    }
  }
  return document;
}

std::string FunctionText(const FunctionResult& result) {
  if (const auto rows = RowsOf(result); rows.has_value()) {
    TextTable table({{"KEY", true}, {"VALUE", true}});
    for (size_t i = 0; i < rows->keys.size(); ++i) {
      table.AddRow({absl::StrCat(rows->keys[i]), Shortest(rows->values[i])});
    }
    return table.ToString();
  }
  std::string text;
  for (const FunctionValue& one : result.values) {
    absl::StrAppend(&text, std::visit(ValueText(), one), "\n");
  }
  return text;
}

}  // namespace seraph
