#include "common/log/log_line.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace seraph {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Event {
  std::string name;
  Fields fields;
};

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

void AppendEscaped(char c, std::string* result) {
  switch (c) {
    case '\n':
      result->append("\\n");
      return;
    case '\r':
      result->append("\\r");
      return;
    case '\t':
      result->append("\\t");
      return;
    default:
      if (absl::ascii_iscntrl(c)) {
        absl::StrAppend(result, "\\x", absl::Hex(c & 0xFF, absl::kZeroPad2));
      } else {
        result->push_back(c);
      }
  }
}

bool IsNameChar(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_' ||
         c == '.';
}

// The name at the start of *text, which it removes; "" if there is none.
std::string TakeName(absl::string_view* text) {
  size_t length = 0;
  while (length < text->size() && IsNameChar((*text)[length])) ++length;
  std::string name(text->substr(0, length));
  text->remove_prefix(length);
  return name;
}

// What QuotedForLog made, at the start of *text, which it removes.
std::optional<std::string> TakeQuoted(absl::string_view* text) {
  std::string value;
  for (size_t i = 1; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '"') {
      text->remove_prefix(i + 1);
      return value;
    }
    if (c != '\\') {
      value.push_back(c);
      continue;
    }
    if (++i == text->size()) break;
    switch ((*text)[i]) {
      case 'n':
        value.push_back('\n');
        break;
      case 'r':
        value.push_back('\r');
        break;
      case 't':
        value.push_back('\t');
        break;
      case 'x': {
        const std::string digits(text->substr(i + 1, 2));
        if (digits.size() != 2 || !absl::ascii_isxdigit(digits[0]) ||
            !absl::ascii_isxdigit(digits[1])) {
          return std::nullopt;
        }
        value.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
        i += 2;
        break;
      }
      default:
        value.push_back((*text)[i]);
    }
  }
  return std::nullopt;
}

// An event's name has a dot; what follows are key=value.
std::optional<Event> ParseEvent(absl::string_view text) {
  Event event;
  event.name = TakeName(&text);
  if (event.name.find('.') == std::string::npos) return std::nullopt;
  while (!text.empty()) {
    if (text[0] != ' ') return std::nullopt;
    text.remove_prefix(1);
    std::string key = TakeName(&text);
    if (key.empty() || text.empty() || text[0] != '=') return std::nullopt;
    text.remove_prefix(1);
    std::string value;
    if (!text.empty() && text[0] == '"') {
      std::optional<std::string> quoted = TakeQuoted(&text);
      if (!quoted.has_value()) return std::nullopt;
      value = *std::move(quoted);
    } else {
      const absl::string_view plain = text.substr(0, text.find(' '));
      value = std::string(plain);
      text.remove_prefix(plain.size());
    }
    event.fields.emplace_back(std::move(key), std::move(value));
  }
  return event;
}

}  // namespace

std::string QuotedForLog(absl::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result.push_back('\\');
    AppendEscaped(c, &result);
  }
  result.push_back('"');
  return result;
}

std::string TextLogLine(const LogLine& line) {
  std::string result = absl::StrCat(
      Rfc3339(line.time), " ", absl::AsciiStrToUpper(LevelName(line.level)),
      " ", line.component, line.node.empty() ? "" : " ", line.node, " ");
  for (char c : line.message) AppendEscaped(c, &result);
  return result;
}

std::string JsonLogLine(const LogLine& line) {
  nlohmann::ordered_json json = {
      {"time", Rfc3339(line.time)},
      {"level", std::string(LevelName(line.level))},
      {"component", std::string(line.component)},
  };
  if (!line.node.empty()) json["node"] = std::string(line.node);
  if (std::optional<Event> event = ParseEvent(line.message)) {
    json["event"] = event->name;
    nlohmann::ordered_json fields = nlohmann::ordered_json::object();
    for (const auto& [key, value] : event->fields) fields[key] = value;
    if (!fields.empty()) json["fields"] = std::move(fields);
  } else {
    json["message"] = std::string(line.message);
  }
  return json.dump(-1, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace seraph
