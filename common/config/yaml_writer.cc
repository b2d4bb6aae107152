#include "common/config/yaml_writer.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

// Plain only where no reader of YAML could see anything but this text.
bool IsSafePlain(absl::string_view text) {
  if (text.empty()) return false;
  if (!absl::ascii_isalpha(text[0]) && text[0] != '_' && text[0] != '/') {
    return false;
  }
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) &&
        absl::string_view("_-./").find(c) == absl::string_view::npos) {
      return false;
    }
  }
  const std::string lower = absl::AsciiStrToLower(text);
  for (const absl::string_view word :
       {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}) {
    if (lower == word) return false;
  }
  return true;
}

std::string DoubleQuoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", absl::string_view(&c, 1));
    } else if (c == '\t') {
      absl::StrAppend(&quoted, "\\t");
    } else {
      quoted.push_back(c);
    }
  }
  quoted.push_back('"');
  return quoted;
}

std::string WriteText(absl::string_view text) {
  return IsSafePlain(text) ? std::string(text) : DoubleQuoted(text);
}

void WriteMap(const YamlNode& map, const std::string& prefix, int level,
              absl::FunctionRef<std::string(absl::string_view)> comment,
              std::string* out) {
  for (const YamlEntry& entry : map.entries) {
    const std::string path = absl::StrCat(prefix, entry.key);
    absl::StrAppend(out, std::string(2 * level, ' '), WriteText(entry.key),
                    ":");
    if (entry.value.kind == YamlNode::Kind::kMap &&
        !entry.value.entries.empty()) {
      out->push_back('\n');
      WriteMap(entry.value, absl::StrCat(path, "."), level + 1, comment, out);
      continue;
    }
    absl::StrAppend(out, " ", WriteInline(entry.value));
    if (const std::string text = comment(path); !text.empty()) {
      absl::StrAppend(out, "  # ", text);
    }
    out->push_back('\n');
  }
}

}  // namespace

std::string WriteInline(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kScalar:
      return node.quoted ? WriteText(node.text) : node.text;
    case YamlNode::Kind::kList:
      return absl::StrCat(
          "[",
          absl::StrJoin(node.items, ", ",
                        [](std::string* out, const YamlNode& item) {
                          out->append(WriteInline(item));
                        }),
          "]");
    case YamlNode::Kind::kMap:
      return absl::StrCat(
          "{",
          absl::StrJoin(node.entries, ", ",
                        [](std::string* out, const YamlEntry& entry) {
                          absl::StrAppend(out, WriteText(entry.key), ": ",
                                          WriteInline(entry.value));
                        }),
          "}");
  }
  return "";
}

std::string WriteYaml(
    const YamlNode& root,
    absl::FunctionRef<std::string(absl::string_view path)> comment) {
  std::string out;
  WriteMap(root, "", 0, comment, &out);
  return out;
}

}  // namespace seraph
