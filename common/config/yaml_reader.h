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

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/config/key_info.h"
#include "common/config/problems.h"
#include "common/config/yaml_tree.h"

namespace seraph {

class Field;
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

// One key, in the making: limits first, then the variable. Limits that the
// value breaks are problems; the variable then keeps its default.
class Field {
 public:
  Field& Required();
  // Bounds of durations are in seconds, of sizes in bytes.
  Field& Between(double low, double high);  // Both included.
  Field& AtLeast(double low);
  Field& Above(double low);
  Field& AtMost(double high);
  Field& Below(double high);
  Field& NotEmpty();  // Text and lists.

  // What the reference says in place of the variable's value.
  Field& DefaultText(absl::string_view text);

  // With `used` false the key is an error when given ("... is not used by
  // svm"), and is not written.
  Field& OnlyIf(bool used, absl::string_view by);

  // Of a choice: names that are right but that this version does not have.
  Field& Planned(absl::Span<const absl::string_view> names);

  // Reads, writes or describes the variable. True if a value was read into it.
  bool Bind(bool* value);
  bool Bind(uint32_t* value);
  bool Bind(uint64_t* value);
  bool Bind(double* value);
  bool Bind(std::string* value);               // Any scalar, as it is written.
  bool Bind(std::vector<std::string>* value);  // A list of those.
  bool Bind(absl::Duration* value);            // With a unit.
  bool BindSize(uint64_t* bytes);              // With a unit.
  bool BindBytes(uint64_t* bytes);  // With a unit, or a plain number of bytes.

  // Unset: the key is absent.
  template <typename T>
  bool Bind(std::optional<T>* value) {
    is_unset_ = !value->has_value();
    T number = value->value_or(T{});
    const bool read = Bind(&number);
    if (read) *value = number;
    return read;
  }

  template <typename E>
  bool BindChoice(E* value,
                  absl::Span<const std::pair<E, absl::string_view>> choices) {
    std::vector<std::string> names;
    size_t index = 0;
    for (const auto& [choice, name] : choices) {
      if (choice == *value) index = names.size();
      names.emplace_back(name);
    }
    const bool read = BindName(names, &index);
    if (read) *value = choices[index].first;
    return read;
  }

  // A text that must be one of `names`.
  bool BindName(absl::Span<const std::string> names, size_t* index);

 private:
  friend class Section;
  struct ValueType;
  struct ScalarType;
  using WriteBound = std::string (*)(double bound);

  Field(Section* section, absl::string_view name, absl::string_view doc);

  bool BindAs(const ValueType& type);
  bool ReadAs(const ValueType& type);
  bool BindScalar(const ScalarType& type);
  bool BindWhole(uint64_t max, uint64_t* value);
  bool BindSizeAs(bool plain_too, uint64_t* bytes);
  bool InRange(double value) const;
  std::string RangeText(WriteBound write) const;
  std::string OutOfRange(absl::string_view text, WriteBound write) const;

  Section& section_;
  const std::string name_;
  KeyInfo info_;
  std::optional<double> low_, high_;
  bool low_open_ = false, high_open_ = false;
  bool not_empty_ = false;
  bool used_ = true;
  bool is_unset_ = false;
  std::string used_by_;
  std::vector<std::string> planned_;
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
