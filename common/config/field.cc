#include "common/config/field.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/config_pass.h"
#include "common/config/nearest.h"
#include "common/config/scalars.h"
#include "common/config/yaml_reader.h"
#include "common/config/yaml_writer.h"

namespace seraph {
namespace {

YamlNode Scalar(std::string text, bool quoted = false) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

// A text as a message or a file may have it: no control characters, of which
// only escapes in quotes could be the source. "" if so.
std::string CheckCharacters(const std::string& text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
      return absl::StrCat("a control character in ", Quoted(text));
    }
  }
  return "";
}

std::string WriteWholeBound(double bound) {
  return absl::StrCat(static_cast<uint64_t>(bound));
}

std::string WriteSizeBound(double bytes) {
  return WriteSize(static_cast<uint64_t>(bytes));
}

std::string WriteDurationBound(double seconds) {
  return WriteDuration(absl::Seconds(seconds));
}

std::string Expected(absl::string_view wanted, absl::string_view got) {
  return absl::StrCat("expected ", wanted, ", got ", got);
}

bool IsWhole(absl::string_view text) {
  uint64_t ignored = 0;
  return ReadWhole(text, &ignored) == Parsed::kOk;
}

}  // namespace

// Takes an error, the node that it is about, and what goes behind the path for
// an item of a list ("[1]").
using Fail = absl::FunctionRef<void(const YamlNode& at, absl::string_view index,
                                    absl::string_view message)>;

// What the type of a value knows of it.
struct Field::ValueType {
  absl::string_view name;
  std::string range;
  // False after any `fail`; else the variable has the value.
  absl::FunctionRef<bool(const YamlNode&, Fail fail)> read;
  absl::FunctionRef<YamlNode()> write;
};

// The same for a single value, whose text is all there is to read.
struct Field::ScalarType {
  absl::string_view name;
  std::string wanted;  // "a whole number".
  std::string range;
  bool may_be_quoted;
  // "" if the variable has the value, else what is wrong.
  absl::FunctionRef<std::string(const std::string& text)> read;
  absl::FunctionRef<YamlNode()> write;
};

Field::Field(Section* section, absl::string_view name, absl::string_view doc)
    : section_(*section), name_(name) {
  info_.path = section->PathOf(name);
  info_.doc = std::string(doc);
}

Field& Field::Required() {
  info_.required = true;
  return *this;
}

Field& Field::Between(double low, double high) {
  low_ = low;
  high_ = high;
  return *this;
}

Field& Field::AtLeast(double low) {
  low_ = low;
  return *this;
}

Field& Field::Above(double low) {
  low_ = low;
  low_open_ = true;
  return *this;
}

Field& Field::AtMost(double high) {
  high_ = high;
  return *this;
}

Field& Field::Below(double high) {
  high_ = high;
  high_open_ = true;
  return *this;
}

Field& Field::NotEmpty() {
  not_empty_ = true;
  return *this;
}

Field& Field::DefaultText(absl::string_view text) {
  info_.default_value = std::string(text);
  return *this;
}

Field& Field::OnlyIf(bool used, absl::string_view by) {
  used_ = used;
  used_by_ = std::string(by);
  return *this;
}

Field& Field::Planned(absl::Span<const absl::string_view> names) {
  for (const absl::string_view name : names) planned_.emplace_back(name);
  return *this;
}

std::string Field::RangeText(WriteBound write) const {
  if (!low_ && !high_) return "";
  if (!high_) return absl::StrCat(low_open_ ? "> " : ">= ", write(*low_));
  if (!low_) return absl::StrCat(high_open_ ? "< " : "<= ", write(*high_));
  if (!low_open_ && !high_open_) {
    return absl::StrCat(write(*low_), "..", write(*high_));
  }
  return absl::StrCat(low_open_ ? "(" : "[", write(*low_), ", ", write(*high_),
                      high_open_ ? ")" : "]");
}

std::string Field::OutOfRange(absl::string_view text, WriteBound write) const {
  const std::string range = RangeText(write);
  if (range.empty()) {
    return absl::StrCat(
        text, absl::StartsWith(text, "-") ? " is not >= 0" : " is too large");
  }
  const bool is_comparison = range[0] == '<' || range[0] == '>';
  return absl::StrCat(text, is_comparison ? " is not " : " is not in ", range);
}

bool Field::InRange(double value) const {
  if (low_ && (low_open_ ? value <= *low_ : value < *low_)) return false;
  if (high_ && (high_open_ ? value >= *high_ : value > *high_)) return false;
  return true;
}

bool Field::BindAs(const ValueType& type) {
  ConfigPass& pass = section_.pass_;
  switch (pass.mode) {
    case ConfigPass::Mode::kRead:
      return ReadAs(type);
    case ConfigPass::Mode::kWrite:
      if (used_ && !is_unset_) {
        section_.out_->entries.push_back({name_, Place{}, type.write()});
      }
      return false;
    case ConfigPass::Mode::kDescribe:
      info_.type = std::string(type.name);
      info_.range = type.range;
      if (info_.default_value.empty() && !info_.required && !is_unset_) {
        info_.default_value = WriteInline(type.write());
      }
      pass.keys.push_back(info_);
      return false;
  }
  return false;
}

bool Field::ReadAs(const ValueType& type) {
  if (!section_.Given(name_)) {
    if (info_.required) {
      section_.pass_.problems->Add(
          section_.in_->place, absl::StrCat("'", info_.path, "' is missing"));
      section_.failed_.push_back(name_);
    }
    return false;
  }
  if (!used_) {
    section_.Complain(name_, absl::StrCat("not used by ", used_by_));
    return false;
  }
  const YamlNode& node = section_.in_->Find(name_)->value;
  section_.pass_.origins->emplace(info_.path, ToString(node.place));
  const bool good =
      type.read(node, [&](const YamlNode& at, absl::string_view index,
                          absl::string_view message) {
        section_.Report(at.place, absl::StrCat(info_.path, index), message);
      });
  if (!good) section_.failed_.push_back(name_);
  return good;
}

bool Field::BindScalar(const ScalarType& type) {
  const auto read = [&](const YamlNode& node, Fail fail) {
    std::string error;
    if (node.kind != YamlNode::Kind::kScalar) {
      error = Expected(type.wanted, Describe(node));
    } else if (node.quoted && !type.may_be_quoted) {
      error = absl::StrCat(
          Expected(type.wanted, absl::StrCat("the text ", Quoted(node.text))),
          ": remove the quotes");
    } else {
      error = type.read(node.text);
    }
    if (!error.empty()) fail(node, "", error);
    return error.empty();
  };
  return BindAs({type.name, type.range, read, type.write});
}

bool Field::Bind(bool* value) {
  constexpr char kWanted[] = "true or false";
  return BindScalar({kWanted, kWanted, "", /*may_be_quoted=*/false,
                     [&](const std::string& text) -> std::string {
                       if (ReadBool(text, value) == Parsed::kOk) return "";
                       return Expected(kWanted, Quoted(text));
                     },
                     [&] { return Scalar(*value ? "true" : "false"); }});
}

bool Field::BindWhole(uint64_t max, uint64_t* value) {
  constexpr char kWanted[] = "a whole number";
  const auto read = [&](const std::string& text) -> std::string {
    uint64_t number = 0;
    const Parsed parsed = ReadWhole(text, &number);
    if (parsed == Parsed::kWrongType) return Expected(kWanted, Quoted(text));
    if (parsed == Parsed::kOutOfRange || number > max ||
        !InRange(static_cast<double>(number))) {
      return OutOfRange(text, WriteWholeBound);
    }
    *value = number;
    return "";
  };
  return BindScalar({"whole number", kWanted, RangeText(WriteWholeBound),
                     /*may_be_quoted=*/false, read,
                     [&] { return Scalar(absl::StrCat(*value)); }});
}

bool Field::Bind(uint64_t* value) {
  return BindWhole(std::numeric_limits<uint64_t>::max(), value);
}

bool Field::Bind(uint32_t* value) {
  uint64_t wide = *value;
  const bool read = BindWhole(std::numeric_limits<uint32_t>::max(), &wide);
  *value = static_cast<uint32_t>(wide);
  return read;
}

bool Field::Bind(double* value) {
  constexpr char kWanted[] = "a finite number";
  const auto read = [&](const std::string& text) -> std::string {
    double number = 0;
    const Parsed parsed = ReadNumber(text, &number);
    if (parsed == Parsed::kWrongType) return Expected(kWanted, Quoted(text));
    if (parsed == Parsed::kOutOfRange) {
      return absl::StrCat(text, " is more than a double can hold");
    }
    if (!InRange(number)) return OutOfRange(text, WriteNumber);
    *value = number;
    return "";
  };
  return BindScalar({"number", kWanted, RangeText(WriteNumber),
                     /*may_be_quoted=*/false, read,
                     [&] { return Scalar(WriteNumber(*value)); }});
}

bool Field::Bind(absl::Duration* value) {
  constexpr char kWanted[] = "a duration such as 500ms, 5s or 2m";
  const auto read = [&](const std::string& text) -> std::string {
    absl::Duration duration;
    const Parsed parsed = ReadDuration(text, &duration);
    if (parsed == Parsed::kWrongType) {
      return absl::StrCat(Expected(kWanted, Quoted(text)),
                          IsWhole(text) ? ": add a unit" : "");
    }
    if (parsed == Parsed::kOutOfRange ||
        !InRange(absl::ToDoubleSeconds(duration))) {
      return OutOfRange(text, WriteDurationBound);
    }
    *value = duration;
    return "";
  };
  return BindScalar({"duration", kWanted, RangeText(WriteDurationBound),
                     /*may_be_quoted=*/true, read,
                     [&] { return Scalar(WriteDuration(*value)); }});
}

bool Field::BindSizeAs(bool plain_too, uint64_t* bytes) {
  constexpr char kWanted[] = "a size such as 64KiB, 512MiB or 1GiB";
  const auto read = [&](const std::string& text) -> std::string {
    uint64_t size = 0;
    Parsed parsed = ReadSize(text, &size);
    if (parsed == Parsed::kWrongType && plain_too) {
      parsed = ReadWhole(text, &size);
    }
    if (parsed == Parsed::kWrongType) {
      return absl::StrCat(Expected(kWanted, Quoted(text)),
                          IsWhole(text) ? ": add a unit" : "");
    }
    if (parsed == Parsed::kOutOfRange || !InRange(static_cast<double>(size))) {
      return OutOfRange(text, WriteSizeBound);
    }
    *bytes = size;
    return "";
  };
  return BindScalar({"size", kWanted, RangeText(WriteSizeBound),
                     /*may_be_quoted=*/true, read,
                     [&] { return Scalar(WriteSize(*bytes)); }});
}

bool Field::BindSize(uint64_t* bytes) {
  return BindSizeAs(/*plain_too=*/false, bytes);
}

bool Field::BindBytes(uint64_t* bytes) {
  return BindSizeAs(/*plain_too=*/true, bytes);
}

bool Field::Bind(std::string* value) {
  const auto read = [&](const std::string& text) -> std::string {
    if (std::string error = CheckCharacters(text); !error.empty()) return error;
    if (not_empty_ && text.empty()) return "must not be empty";
    *value = text;
    return "";
  };
  return BindScalar({"text", "text", not_empty_ ? "not empty" : "",
                     /*may_be_quoted=*/true, read,
                     [&] { return Scalar(*value, /*quoted=*/true); }});
}

bool Field::Bind(std::vector<std::string>* value) {
  constexpr char kWanted[] = "a list of text";
  const auto read = [&](const YamlNode& node, Fail fail) {
    if (node.kind != YamlNode::Kind::kList) {
      fail(node, "",
           absl::StrCat(Expected(kWanted, Describe(node)),
                        node.kind == YamlNode::Kind::kScalar
                            ? ": put it in brackets"
                            : ""));
      return false;
    }
    if (not_empty_ && node.items.empty()) {
      fail(node, "", "must not be empty");
      return false;
    }
    bool good = true;
    std::vector<std::string> texts;
    for (const YamlNode& item : node.items) {
      const std::string index = absl::StrCat("[", texts.size(), "]");
      std::string error;
      if (item.kind != YamlNode::Kind::kScalar) {
        error = absl::StrCat(Expected("text", Describe(item)),
                             item.kind == YamlNode::Kind::kNull
                                 ? ": quote it if it is meant as text"
                                 : "");
      } else {
        error = CheckCharacters(item.text);
      }
      if (!error.empty()) {
        fail(item, index, error);
        good = false;
      }
      section_.pass_.origins->emplace(absl::StrCat(info_.path, index),
                                      ToString(item.place));
      texts.push_back(item.text);
    }
    if (good) *value = std::move(texts);
    return good;
  };
  const auto write = [&] {
    YamlNode list;
    list.kind = YamlNode::Kind::kList;
    for (const std::string& text : *value) {
      list.items.push_back(Scalar(text, /*quoted=*/true));
    }
    return list;
  };
  return BindAs({"list of text", not_empty_ ? "not empty" : "", read, write});
}

bool Field::BindName(absl::Span<const std::string> names, size_t* index) {
  const std::string known = absl::StrJoin(names, ", ");
  const auto read = [&](const std::string& text) -> std::string {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) {
        *index = i;
        return "";
      }
    }
    if (std::find(planned_.begin(), planned_.end(), text) != planned_.end()) {
      return absl::StrCat(Quoted(text), " is not in this version; it has ",
                          known);
    }
    return absl::StrCat("unknown value ", Quoted(text), DidYouMean(text, names),
                        "; known are ", known);
  };
  return BindScalar({"choice", absl::StrCat("one of ", known), known,
                     /*may_be_quoted=*/true, read,
                     [&] { return Scalar(names[*index]); }});
}

}  // namespace seraph
