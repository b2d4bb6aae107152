// Writes a YamlNode so that ParseYaml reads the same tree back.
#ifndef SERAPH_COMMON_CONFIG_YAML_WRITER_H_
#define SERAPH_COMMON_CONFIG_YAML_WRITER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/config/yaml_tree.h"

namespace seraph {

// In one line: "[a, b]", "{k: v}", text quoted where YAML needs it.
std::string WriteInline(const YamlNode& node);

// A map in block style, two spaces a level; lists in one line. `comment` gives
// what to write behind the value at a path ("train.epochs"); "" for nothing.
// Requires: `root` is a map.
std::string WriteYaml(
    const YamlNode& root,
    absl::FunctionRef<std::string(absl::string_view path)> comment);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_YAML_WRITER_H_
