#include "common/config/yaml_reader.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/config_pass.h"
#include "common/config/nearest.h"

namespace seraph {
namespace {

constexpr absl::string_view kSectionType = "section";

// An override without a value takes its key back to the default.
bool IsReset(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kNull && node.place.line == 0;
}

// " (it belongs in 'train.optimizer')" for a key that has another home.
std::string BelongsIn(absl::string_view name,
                      const std::vector<KeyInfo>& keys) {
  std::vector<std::string> homes;
  for (const KeyInfo& key : keys) {
    if (key.path == name) {
      homes.push_back("at the top");
    } else if (absl::EndsWith(key.path, absl::StrCat(".", name))) {
      homes.push_back(absl::StrCat(
          "in '", key.path.substr(0, key.path.size() - name.size() - 1), "'"));
    }
  }
  if (homes.empty()) return "";
  return absl::StrCat(" (it belongs ", absl::StrJoin(homes, " or "), ")");
}

}  // namespace

std::string Section::PathOf(absl::string_view name) const {
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", name);
}

Field Section::Key(absl::string_view name, absl::string_view doc) {
  known_.emplace_back(name);
  return Field(this, name, doc);
}

bool Section::Given(absl::string_view name) const {
  if (pass_.mode != ConfigPass::Mode::kRead) return false;
  const YamlEntry* entry = in_->Find(name);
  return entry != nullptr && !IsReset(entry->value);
}

bool Section::Failed(absl::string_view name) const {
  return std::find(failed_.begin(), failed_.end(), name) != failed_.end();
}

void Section::Complain(absl::string_view name, absl::string_view message) {
  if (pass_.mode != ConfigPass::Mode::kRead) return;
  const YamlEntry* entry = in_->Find(name);
  const Place& place = entry != nullptr ? entry->value.place : in_->place;
  Report(place, PathOf(name), message);
}

void Section::Report(const Place& place, absl::string_view path,
                     absl::string_view message) {
  // An override's place says the path already.
  if (place.source == absl::StrCat("--set ", path)) {
    pass_.problems->Add(place, message);
  } else {
    pass_.problems->Add(place, absl::StrCat(path, ": ", message));
  }
}

void Section::VisitEntry(absl::string_view name, const YamlEntry* entry,
                         absl::FunctionRef<void(Section&)> visit) {
  YamlNode nothing;
  nothing.place = entry != nullptr ? entry->place : in_->place;
  const YamlNode* node = &nothing;
  if (entry != nullptr && entry->value.kind != YamlNode::Kind::kNull) {
    node = &entry->value;
    if (node->kind != YamlNode::Kind::kMap) {
      Complain(name, absl::StrCat("expected a map, got ", Describe(*node)));
      return;
    }
  }
  Section section(&pass_, PathOf(name), node, nullptr);
  visit(section);
  section.ReportUnknownKeys();
}

bool Section::VisitOptional(absl::string_view name, absl::string_view doc,
                            bool has_value,
                            absl::FunctionRef<void(Section&)> visit) {
  known_.emplace_back(name);
  switch (pass_.mode) {
    case ConfigPass::Mode::kRead: {
      const YamlEntry* entry = in_->Find(name);
      if (entry == nullptr || entry->value.kind == YamlNode::Kind::kNull) {
        return false;
      }
      VisitEntry(name, entry, visit);
      return true;
    }
    case ConfigPass::Mode::kWrite: {
      if (!has_value) return false;
      YamlNode map;
      map.kind = YamlNode::Kind::kMap;
      Section section(&pass_, PathOf(name), nullptr, &map);
      visit(section);
      out_->entries.push_back({std::string(name), Place{}, std::move(map)});
      return false;
    }
    case ConfigPass::Mode::kDescribe: {
      KeyInfo info;
      info.path = PathOf(name);
      info.type = std::string(kSectionType);
      info.doc = std::string(doc);
      pass_.keys.push_back(std::move(info));
      Section section(&pass_, PathOf(name), nullptr, nullptr);
      visit(section);
      return false;
    }
  }
  return false;
}

void Section::Map(absl::string_view name, absl::string_view doc,
                  absl::FunctionRef<void(Section&)> visit) {
  if (pass_.mode == ConfigPass::Mode::kRead) {
    known_.emplace_back(name);
    VisitEntry(name, in_->Find(name), visit);
  } else {
    VisitOptional(name, doc, /*has_value=*/true, visit);
  }
}

void Section::ReportUnknownKeys() {
  for (const YamlEntry& entry : in_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) {
      continue;
    }
    std::string hint;
    if (!pass_.problems->full()) {
      hint = BelongsIn(entry.key, pass_.keys);
      if (hint.empty()) hint = DidYouMean(entry.key, known_);
    }
    const std::string where =
        path_.empty() ? "" : absl::StrCat(" in '", path_, "'");
    pass_.problems->Add(
        entry.place,
        absl::StrCat("unknown key ", Quoted(entry.key), where, hint));
  }
}

void ReadConfig(const YamlNode& root, const std::vector<KeyInfo>& keys,
                absl::FunctionRef<void(Section&)> visit, Problems* problems,
                std::map<std::string, std::string>* origins) {
  if (root.kind != YamlNode::Kind::kMap && root.kind != YamlNode::Kind::kNull) {
    problems->Add(root.place,
                  absl::StrCat("expected a map of keys, got ", Describe(root)));
    return;
  }
  ConfigPass pass(ConfigPass::Mode::kRead);
  pass.problems = problems;
  pass.origins = origins;
  pass.keys = keys;
  Section section(&pass, "", &root, nullptr);
  visit(section);
  section.ReportUnknownKeys();
}

YamlNode WriteConfig(absl::FunctionRef<void(Section&)> visit) {
  YamlNode root;
  root.kind = YamlNode::Kind::kMap;
  ConfigPass pass(ConfigPass::Mode::kWrite);
  Section section(&pass, "", nullptr, &root);
  visit(section);
  return root;
}

std::vector<KeyInfo> DescribeConfig(absl::FunctionRef<void(Section&)> visit) {
  ConfigPass pass(ConfigPass::Mode::kDescribe);
  Section section(&pass, "", nullptr, nullptr);
  visit(section);
  return std::move(pass.keys);
}

}  // namespace seraph
