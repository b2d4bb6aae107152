#include "common/config/overrides.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace seraph {
namespace {

void Apply(const std::vector<std::string>& path, absl::string_view value,
           const std::string& source, YamlNode* root, Problems* problems) {
  const Place place{source};
  for (const std::string& name : path) {
    if (name.empty()) {
      problems->Add(place, "an empty name in the path");
      return;
    }
  }
  std::optional<YamlNode> parsed =
      ParseYaml(value, source, /*lines=*/false, problems);
  if (!parsed.has_value()) return;
  YamlNode* node = root;
  for (size_t i = 0; i < path.size(); ++i) {
    if (node->kind == YamlNode::Kind::kNull) {
      node->kind = YamlNode::Kind::kMap;
      node->place = place;
    }
    if (node->kind != YamlNode::Kind::kMap) {
      problems->Add(
          place,
          absl::StrCat("'", absl::StrJoin(path.begin(), path.begin() + i, "."),
                       "' is ", Describe(*node), " and has no keys"));
      return;
    }
    YamlEntry* entry = node->Find(path[i]);
    if (entry == nullptr) {
      node->entries.push_back({path[i], place, YamlNode{}});
      entry = &node->entries.back();
    }
    node = &entry->value;
  }
  *node = *std::move(parsed);
}

}  // namespace

void ApplySet(absl::string_view set, YamlNode* root, Problems* problems) {
  const size_t equals = set.find('=');
  if (equals == absl::string_view::npos) {
    problems->Add(Place{absl::StrCat("--set ", set)}, "expected path=value");
    return;
  }
  const absl::string_view path = set.substr(0, equals);
  Apply(absl::StrSplit(path, '.'), set.substr(equals + 1),
        absl::StrCat("--set ", path), root, problems);
}

void ApplyEnvironment(const std::map<std::string, std::string>& environment,
                      YamlNode* root, Problems* problems) {
  for (const auto& [name, value] : environment) {
    absl::string_view path = name;
    if (!absl::ConsumePrefix(&path, "SERAPH_") ||
        path.find("__") == absl::string_view::npos) {
      continue;
    }
    Apply(absl::StrSplit(absl::AsciiStrToLower(path), "__"), value, name, root,
          problems);
  }
}

}  // namespace seraph
