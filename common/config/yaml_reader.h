// Strict, typed access to configuration files: written once, used three ways.
//
// A visitor function names the keys of a struct:
//
//   void VisitStop(Section& section, StopSpec* stop) {
//     section.Key("patience", "Epochs without an improvement.")
//         .Between(1, 1000)
//         .Bind(&stop->patience);
//   }
//
// ReadConfig runs it over a file's tree and fills the struct, WriteConfig makes
// a tree of the struct, DescribeConfig lists the keys with their defaults,
// which are what the struct holds. So the three cannot differ.
//
// Threads: one at a time.
#ifndef SERAPH_COMMON_CONFIG_YAML_READER_H_
#define SERAPH_COMMON_CONFIG_YAML_READER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/config/field.h"
#include "common/config/key_info.h"
#include "common/config/problems.h"
#include "common/config/yaml_tree.h"

namespace seraph {

struct ConfigPass;

// A map of the file, or the file itself. Exists while its visitor runs.
class Section {
 public:
  // A value of this section. `doc` is a sentence or two for the reference.
  [[nodiscard]] Field Key(absl::string_view name, absl::string_view doc);

  // A map in this one. An absent one, or one without any key, reads as empty.
  void Map(absl::string_view name, absl::string_view doc,
           absl::FunctionRef<void(Section&)> visit);

  // A map that means something by being there; null counts as absent.
  template <typename T>
  void OptionalMap(absl::string_view name, absl::string_view doc,
                   std::optional<T>* value,
                   absl::FunctionRef<void(Section&, T*)> visit) {
    T present = value->value_or(T{});
    const bool is_present =
        VisitOptional(name, doc, value->has_value(),
                      [&](Section& section) { visit(section, &present); });
    if (is_present) *value = std::move(present);
  }

  // Whether the file or an override gives this key a value. False when not
  // reading.
  bool Given(absl::string_view name) const;

  // Whether reading `name` found a problem, so that what depends on its value
  // cannot be checked. False when not reading.
  bool Failed(absl::string_view name) const;

  // Adds a problem at the value of `name` or, if it was not given, at this
  // section. Does nothing when not reading.
  void Complain(absl::string_view name, absl::string_view message);

 private:
  friend class Field;
  friend void ReadConfig(const YamlNode&, const std::vector<KeyInfo>&,
                         absl::FunctionRef<void(Section&)>, Problems*,
                         std::map<std::string, std::string>*);
  friend YamlNode WriteConfig(absl::FunctionRef<void(Section&)>);
  friend std::vector<KeyInfo> DescribeConfig(absl::FunctionRef<void(Section&)>);

  Section(ConfigPass* pass, std::string path, const YamlNode* in, YamlNode* out)
      : pass_(*pass), path_(std::move(path)), in_(in), out_(out) {}

  std::string PathOf(absl::string_view name) const;
  bool VisitOptional(absl::string_view name, absl::string_view doc,
                     bool has_value, absl::FunctionRef<void(Section&)> visit);
  // Adds a problem with a value at `path`.
  void Report(const Place& place, absl::string_view path,
              absl::string_view message);
  // Visits the map that `entry` holds, if it holds one.
  void VisitEntry(absl::string_view name, const YamlEntry* entry,
                  absl::FunctionRef<void(Section&)> visit);
  void ReportUnknownKeys();

  ConfigPass& pass_;
  const std::string path_;
  const YamlNode* const in_;  // Reading.
  YamlNode* const out_;       // Writing.
  std::vector<std::string> known_;
  std::vector<std::string> failed_;
};

// Reads `root`, a map or nothing, and reports every problem: unknown keys with
// the nearest known name, missing and misplaced ones, wrong types and limits.
// `keys` is what DescribeConfig says of the visitor: a key in a wrong section
// is told where it belongs. `origins` gets the path and place of every value
// that was given, and of list items as "data.train[0]".
void ReadConfig(const YamlNode& root, const std::vector<KeyInfo>& keys,
                absl::FunctionRef<void(Section&)> visit, Problems* problems,
                std::map<std::string, std::string>* origins);

// The tree that reads back to the same values, every key written.
YamlNode WriteConfig(absl::FunctionRef<void(Section&)> visit);

// Every key, and every map with the type "section", in the visitor's order.
// Visitors of optional maps run as if they were there.
std::vector<KeyInfo> DescribeConfig(absl::FunctionRef<void(Section&)> visit);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_YAML_READER_H_
