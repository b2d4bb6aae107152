#include "common/config/yaml_tree.h"

#include <exception>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

namespace seraph {
namespace {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxValues = 100'000;

// The tags that yaml-cpp gives to values that the file gave none.
constexpr char kPlainTag[] = "?";
constexpr char kQuotedTag[] = "!";

// The bytes of the UTF-8 character at the beginning of `text`, which is not
// empty; 0 if it is malformed (overlong forms and surrogates are).
size_t Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (first == 0xe0 && second < 0xa0) return 0;
    if (first == 0xed && second >= 0xa0) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (first == 0xf0 && second < 0x90) return 0;
    if (first == 0xf4 && second >= 0x90) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

// Where in which text.
class Source {
 public:
  Source(absl::string_view name, bool lines) : name_(name), lines_(lines) {}

  // `line` and `column` count from 0.
  Place At(int line, int column) const {
    if (!lines_ || line < 0) return {std::string(name_), 0, 0};
    return {std::string(name_), line + 1, column + 1};
  }
  Place At(const YAML::Mark& mark) const { return At(mark.line, mark.column); }

 private:
  const absl::string_view name_;
  const bool lines_;
};

// What must be refused before yaml-cpp sees the text: it would guess other
// encodings, pass control characters on, and say of a tab what helps nobody.
// False: read no further.
bool CheckCharacters(absl::string_view text, const Source& source,
                     Problems* problems) {
  int line = 0;
  size_t line_begin = 0;
  bool in_indentation = true;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = Utf8Length(text.substr(i));
    const char* bad = nullptr;
    if (length == 0) {
      bad = "not a text file: the bytes are not UTF-8";
    } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' &&
                c != '\n' && c != '\r') ||
               c == 0x7f) {
      bad = "not a text file: a control character";
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] != '\n') {
      bad = "a carriage return that ends no line";
    } else if (in_indentation && c == '\t') {
      bad = "a tab in the indentation: YAML wants spaces";
    } else if (i == line_begin && c == '%') {
      bad = "YAML directives (%) are not used here";
    }
    if (bad != nullptr) {
      problems->Add(source.At(line, static_cast<int>(i - line_begin)), bad);
      return false;
    }
    if (c == '\n') {
      ++line;
      line_begin = i + 1;
      in_indentation = true;
    } else if (c != ' ') {
      in_indentation = false;
    }
    i += length;
  }
  return true;
}

// Whether the quoted scalar that begins at `text[begin]` ends before the text
// does: yaml-cpp takes the end of the file for a closing quote. Blocks (| and
// >) need none.
bool QuoteCloses(absl::string_view text, size_t begin) {
  if (begin >= text.size()) return true;
  const char quote = text[begin];
  if (quote != '"' && quote != '\'') return true;
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) {
        return true;
      }
      ++i;
    }
  }
  return false;
}

// Builds the tree from yaml-cpp's events.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(absl::string_view text, const Source& source, Problems* problems)
      : text_(text), source_(source), problems_(*problems) {}

  bool too_large() const { return values_ > kMaxValues; }
  YamlNode TakeRoot() && { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckPlain(mark, kPlainTag, anchor);
    YamlNode node;
    node.place = source_.At(mark);
    Put(std::move(node), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problems_.Add(source_.At(mark),
                  "YAML aliases (*) are not used here: write the value out");
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.place = source_.At(mark);
    Put(std::move(node), mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& value) override {
    CheckPlain(mark, tag, anchor);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.text = value;
    node.quoted = tag == kQuotedTag;
    node.place = source_.At(mark);
    if (node.quoted && !QuoteCloses(text_, static_cast<size_t>(mark.pos))) {
      problems_.Add(node.place, "this quote is never closed");
    }
    Put(std::move(node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A list or map that is not yet closed.
  struct Level {
    YamlNode node;
    YAML::Mark mark;
    bool has_key = false;  // A map's key waits for its value.
    std::unordered_map<std::string, Place> keys;
  };

  void CheckPlain(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      problems_.Add(source_.At(mark), "YAML anchors (&) are not used here");
    }
    if (!tag.empty() && tag != kPlainTag && tag != kQuotedTag) {
      problems_.Add(source_.At(mark), "YAML tags (!) are not used here");
    }
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    CheckPlain(mark, tag, anchor);
    if (levels_.size() == kMaxDepth) {
      problems_.Add(source_.At(mark),
                    absl::StrCat("more than ", kMaxDepth,
                                 " lists and maps inside one another"));
    }
    Level& level = levels_.emplace_back();
    level.node.kind = kind;
    level.node.place = source_.At(mark);
    level.mark = mark;
  }

  void Close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    Put(std::move(level.node), level.mark);
  }

  // Gives `node` to the innermost open list or map.
  void Put(YamlNode node, const YAML::Mark& mark) {
    if (++values_ > kMaxValues) {
      if (values_ == kMaxValues + 1) {
        problems_.Add(source_.At(mark),
                      absl::StrCat("more than ", kMaxValues, " values"));
      }
      node = YamlNode{};  // The tree is refused: keep no more of it.
    }
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == YamlNode::Kind::kList) {
      if (values_ <= kMaxValues) level.node.items.push_back(std::move(node));
      return;
    }
    if (!level.has_key) {
      PutKey(std::move(node), &level);
    } else {
      YamlEntry& entry = level.node.entries.back();
      if (node.kind == YamlNode::Kind::kNull) node.place = entry.place;
      entry.value = std::move(node);
    }
    level.has_key = !level.has_key;
  }

  void PutKey(YamlNode key, Level* level) {
    if (values_ > kMaxValues && !level->node.entries.empty()) return;
    if (key.kind != YamlNode::Kind::kScalar) {
      problems_.Add(key.place, absl::StrCat("a key must be plain text, not ",
                                            Describe(key)));
    } else if (const auto [first, is_new] =
                   level->keys.try_emplace(key.text, key.place);
               !is_new) {
      problems_.Add(key.place, absl::StrCat("key ", Quoted(key.text),
                                            " a second time, first at ",
                                            ToString(first->second)));
    }
    level->node.entries.push_back({std::move(key.text), key.place, YamlNode{}});
  }

  const absl::string_view text_;
  const Source& source_;
  Problems& problems_;
  std::vector<Level> levels_;
  size_t values_ = 0;
  YamlNode root_;
};

// Takes what follows the first document, of which there should be nothing.
class SecondDocument final : public YAML::EventHandler {
 public:
  SecondDocument(const Source& source, Problems* problems)
      : source_(source), problems_(*problems) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    problems_.Add(source_.At(mark), "a second YAML document begins here");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  const Source& source_;
  Problems& problems_;
};

}  // namespace

const YamlEntry* YamlNode::Find(absl::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

YamlEntry* YamlNode::Find(absl::string_view key) {
  return const_cast<YamlEntry*>(std::as_const(*this).Find(key));
}

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return Quoted(node.text);
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

std::optional<YamlNode> ParseYaml(absl::string_view text,
                                  absl::string_view source_name, bool lines,
                                  Problems* problems) {
  const Source source(source_name, lines);
  if (text.size() > kMaxYamlBytes) {
    problems->Add(source.At(-1, -1), absl::StrCat("larger than 1 MiB"));
    return std::nullopt;
  }
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  if (!CheckCharacters(text, source, problems)) return std::nullopt;

  TreeBuilder builder(text, source, problems);
  // yaml-cpp throws at what is no YAML; no exception leaves this function.
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      SecondDocument second(source, problems);
      parser.HandleNextDocument(second);
    }
  } catch (const YAML::Exception& error) {
    problems->Add(source.At(error.mark),
                  absl::StrCat("not valid YAML: ", error.msg));
    return std::nullopt;
  } catch (const std::exception& error) {
    problems->Add(source.At(-1, -1),
                  absl::StrCat("not valid YAML: ", error.what()));
    return std::nullopt;
  }
  if (builder.too_large()) return std::nullopt;
  YamlNode root = std::move(builder).TakeRoot();
  if (root.kind == YamlNode::Kind::kNull) root.place = source.At(0, 0);
  return root;
}

}  // namespace seraph
