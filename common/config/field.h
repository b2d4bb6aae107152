// A key of a configuration file; yaml_reader.h tells how to use it.
#ifndef SERAPH_COMMON_CONFIG_FIELD_H_
#define SERAPH_COMMON_CONFIG_FIELD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/config/key_info.h"

namespace seraph {

class Section;

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

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_FIELD_H_
