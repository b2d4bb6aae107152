#include "common/job/data_section.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/problems.h"

namespace seraph {
namespace {

constexpr std::pair<DataFormat, absl::string_view> kFormats[] = {
    {DataFormat::kLibsvm, "libsvm"},
    {DataFormat::kLibffm, "libffm"},
    {DataFormat::kCsv, "csv"},
    {DataFormat::kIdx, "idx"},
};

constexpr std::pair<BadRecordAction, absl::string_view> kBadRecordActions[] = {
    {BadRecordAction::kFail, "fail"},
    {BadRecordAction::kSkip, "skip"},
};

constexpr std::pair<CsvHeader, absl::string_view> kHeaders[] = {
    {CsvHeader::kAuto, "auto"},
    {CsvHeader::kYes, "true"},
    {CsvHeader::kNo, "false"},
};

constexpr absl::string_view kPlannedFormats[] = {"criteo"};

constexpr double kKiB = 1024;
constexpr double kGiB = 1024 * 1024 * kKiB;

// The word that DelimiterFromName() reads back.
std::string DelimiterName(char delimiter) {
  if (delimiter == '\t') return "tab";
  if (delimiter == ' ') return "space";
  return std::string(1, delimiter);
}

void VisitOptions(Section& section, DataFormat format, bool format_known,
                  const ModelSpec& model, DataOptions* options) {
  const auto key = [&](absl::string_view name, absl::string_view doc) {
    const absl::Span<const absl::string_view> users = OptionNames(format);
    const bool used =
        std::find(users.begin(), users.end(), name) != users.end();
    return section.Key(name, doc).OnlyIf(
        used || !format_known,
        absl::StrCat("the format '", DataFormatName(format), "'"));
  };
  key("block_bytes",
      "Bytes of a block, uncompressed: the unit that is dealt to ranks. 0: by "
      "the size of the file and the number of ranks.")
      .AtMost(kGiB)
      .BindBytes(&options->block_bytes);
  if (options->block_bytes != 0 && options->block_bytes < 64) {
    section.Complain("block_bytes", "is neither 0 nor at least 64B");
  }
  key("group_bytes",
      "Memory of the records that are shuffled with each other; a rank holds "
      "one such group, which has one block at least.")
      .Between(4 * kKiB, 4 * kGiB)
      .BindBytes(&options->group_bytes);
  key("max_record_bytes",
      "The longest line that is taken for a record. A longer one stops the "
      "job, also with on_bad_record: skip.")
      .Between(64, kGiB)
      .BindBytes(&options->max_record_bytes);
  key("index_base",
      "The lowest index that a file may have. Dense tables count from it; "
      "sparse ones take the index as the key.")
      .Between(0, 1)
      .DefaultText("1 (libsvm), 0 (libffm)")
      .Bind(&options->index_base);
  key("label_column",
      "The column with the label: its number, from 0 (negative: from the end), "
      "its name in the header, or none (for prediction only).")
      .NotEmpty()
      .Bind(&options->label_column);

  std::string delimiter = DelimiterName(options->delimiter);
  key("delimiter",
      "What is between the cells: one character, or tab, or space. Not a "
      "quote, a letter, a digit, nor one of + - .")
      .Bind(&delimiter);
  if (const std::optional<char> known = DelimiterFromName(delimiter)) {
    options->delimiter = *known;
  } else {
    section.Complain("delimiter",
                     absl::StrCat(Quoted(delimiter),
                                  " is not one character that can stand "
                                  "between numbers, nor tab or space"));
  }

  key("header",
      "Whether the first line names the columns. auto: it does if none of its "
      "cells is a number and the second line has one.")
      .BindChoice<CsvHeader>(&options->header, kHeaders);
  key("skip_lines", "Lines in front of all that are passed over.")
      .AtMost(1e6)
      .Bind(&options->skip_lines);
  key("columns",
      "The feature columns, by number or name; a feature's key is its place in "
      "this list. Empty: all but the label, in the order of the file.")
      .Bind(&options->columns);
  key("categorical",
      "The feature columns whose cells are names: each becomes a hashed key of "
      "value 1.")
      .Bind(&options->categorical);
  key("hash_bits",
      "Categorical keys have so many bits, above those of the columns. 0: 63, "
      "for sparse tables only.")
      .Between(0, 62)
      .Bind(&options->hash_bits);
  if (!options->categorical.empty() && options->hash_bits == 0 &&
      model.keys.has_value()) {
    section.Complain("hash_bits",
                     "must be at least 1: model.keys makes dense tables, and "
                     "`categorical` needs keys in them");
  }
  key("missing", "Cells that mean that the value is not known.")
      .Bind(&options->missing);
  key("scale", "The value of a pixel is its byte times this; not 0.")
      .DefaultText("1/255")
      .Bind(&options->scale);
  if (options->scale == 0) section.Complain("scale", "must not be 0");
  key("labels",
      "The label files, in the order of the image files. Empty: those among "
      "the files, or with the usual names beside the images.")
      .Bind(&options->labels);
}

void RefuseEmptyPaths(Section& section, absl::string_view key,
                      const std::vector<std::string>& paths) {
  if (std::find(paths.begin(), paths.end(), "") != paths.end()) {
    section.Complain(key, "has an empty path");
  }
}

}  // namespace

void VisitData(Section& section, const ModelSpec& model, DataSpec* data) {
  section
      .Key("format",
           "The form of the records. Compressed files are known by their "
           "contents.")
      .Required()
      .Planned(kPlannedFormats)
      .BindChoice<DataFormat>(&data->format, kFormats);
  section
      .Key("train",
           "The training data: files, folders or globs, relative to the job "
           "file.")
      .Required()
      .NotEmpty()
      .Bind(&data->train);
  RefuseEmptyPaths(section, "train", data->train);
  section
      .Key("validation",
           "The validation data, likewise. Empty: none, or "
           "validation_fraction.")
      .Bind(&data->validation);
  RefuseEmptyPaths(section, "validation", data->validation);
  section
      .Key("validation_fraction",
           "Part of the training records that is kept for validation; which "
           "ones follows from the seed.")
      .AtLeast(0)
      .Below(1)
      .Bind(&data->validation_fraction);
  if (!data->validation.empty() && data->validation_fraction > 0) {
    section.Complain("validation_fraction",
                     "contradicts data.validation: give one of them");
  }
  section
      .Key("on_bad_record",
           "A record that cannot be read stops the job, or is counted, and the "
           "first ones are reported by file and line.")
      .BindChoice<BadRecordAction>(&data->options.on_bad_record,
                                   kBadRecordActions);
  section.Map("options", "By format. An option of another format is an error.",
              [&](Section& s) {
                VisitOptions(s, data->format, !section.Failed("format"), model,
                             &data->options);
              });
}

}  // namespace seraph
