// YAML as a plain tree in which every value knows where it was written.
//
// The parser is yaml-cpp's; the tree is ours, because yaml-cpp's own lets the
// first of two equal keys win without a word, and forgets what was quoted.
#ifndef SERAPH_COMMON_CONFIG_YAML_TREE_H_
#define SERAPH_COMMON_CONFIG_YAML_TREE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/config/problems.h"

namespace seraph {

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;                // Of a scalar, without its quotes.
  bool quoted = false;             // Of a scalar, also as a block (| or >).
  std::vector<YamlNode> items;     // Of a list.
  std::vector<YamlEntry> entries;  // Of a map, in the order of the file.
  Place place;                     // Of a null: its key.

  // The entry of a map, or nullptr; also for what is no map.
  const YamlEntry* Find(absl::string_view key) const;
  YamlEntry* Find(absl::string_view key);
};

struct YamlEntry {
  std::string key;
  Place place;  // Of the key.
  YamlNode value;
};

// "a map", "a list", "nothing", or the scalar in quotes.
std::string Describe(const YamlNode& node);

// Larger files are refused: no configuration comes near.
inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;

// Reads one document. Adds a problem, with line and column where there are
// any, for: text that is not YAML, not UTF-8, larger than kMaxYamlBytes or with
// more than 100,000 values; tabs in the indentation; a second document;
// directives, tags, anchors and aliases; a key twice in one map; a key that is
// not plain text; more than 32 levels. Never throws.
//
// Returns what could be read, or nullopt where it makes no sense to look for
// further problems in it. A text without any value gives a null node.
//
// `source` names the text in every Place; with `lines` false (an override's
// value) places have the source alone.
std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  absl::string_view source, bool lines,
                                  Problems* problems);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_YAML_TREE_H_
