#include "common/checkpoint/manifest.h"

#include <xxhash.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/json_fields.h"
#include "common/checkpoint/table_json.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr uint32_t kFormat = 1;
constexpr absl::string_view kSuffix = ".checkpoint";

std::string Hex(uint64_t checksum) {
  return absl::StrFormat("%016x", checksum);
}

void GetHex(JsonFields& fields, const std::string& key, uint64_t* to) {
  std::string text;
  fields.Get(key, &text);
  if (!fields.ok()) return;
  uint64_t value = 0;
  if (!absl::SimpleHexAtoi(text, &value) || text != Hex(value)) {
    return fields.Fail(key, "is no checksum");
  }
  *to = value;
}

// The checksum is the last value; it covers every byte before it.
std::string Ending(absl::string_view before) {
  return absl::StrCat(",\n \"checksum\": \"",
                      Hex(XXH3_64bits(before.data(), before.size())),
                      "\"\n}\n");
}

constexpr size_t kEndingBytes =
    absl::string_view(",\n \"checksum\": \"0123456789abcdef\"\n}\n").size();

Json PartToJson(const CutPart& part) {
  Json files = Json::array();
  for (const CutFile& file : part.files) {
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"checksum", Hex(file.checksum)}});
  }
  return Json{{"table", part.table},
              {"partition", part.partition},
              {"first_key", part.range.first},
              {"last_key", part.range.last},
              {"rows", part.rows},
              {"files", std::move(files)}};
}

void ReadFile(JsonFields& fields, CutFile* file) {
  fields.Get("name", &file->name);
  fields.Get("bytes", &file->bytes);
  GetHex(fields, "checksum", &file->checksum);
  if (file->name.empty() || absl::StrContains(file->name, '/')) {
    fields.Fail("name", "is no name of a file in the folder");
  }
}

void ReadPart(JsonFields& fields, size_t tables, CutPart* part) {
  fields.Get("table", &part->table);
  fields.Get("partition", &part->partition);
  fields.Get("first_key", &part->range.first);
  fields.Get("last_key", &part->range.last);
  fields.Get("rows", &part->rows);
  fields.Objects("files", [&](JsonFields& file) {
    ReadFile(file, &part->files.emplace_back());
  });
  if (part->table >= tables) fields.Fail("table", "there is no such table");
  if (part->range.first > part->range.last) {
    fields.Fail("last_key", "is before first_key");
  }
  if (part->files.empty()) fields.Fail("files", "is empty");
}

void ReadManifest(JsonFields& fields, CheckpointManifest* manifest) {
  uint32_t format = 0;
  fields.Get("seraph_checkpoint", &format);
  if (fields.ok() && format != kFormat) {
    return fields.Fail(
        "seraph_checkpoint",
        absl::StrCat("is ", format, ", which this build cannot read; it reads ",
                     kFormat));
  }
  fields.Get("seraph_version", &manifest->seraph_version);
  fields.Get("job_id", &manifest->job_id);
  fields.Get("job_name", &manifest->job_name);
  fields.Get("generation", &manifest->generation);
  fields.Get("cut", &manifest->cut);
  std::string time;
  fields.Get("time", &time);
  std::string error;
  if (fields.ok() &&
      !absl::ParseTime(absl::RFC3339_full, time, &manifest->time, &error)) {
    fields.Fail("time", error);
  }
  fields.Objects("clocks", [&](JsonFields& of) {
    Clock& clock = manifest->clocks.emplace_back();
    of.Get("epoch", &clock.epoch);
    of.Get("step", &clock.step);
  });
  fields.Objects("tables", [&](JsonFields& of) {
    ReadTable(of, &manifest->tables.emplace_back());
  });
  fields.Objects("parts", [&](JsonFields& of) {
    ReadPart(of, manifest->tables.size(), &manifest->parts.emplace_back());
  });
  fields.Get("job", &manifest->job_yaml);
  fields.Get("model", &manifest->model);
  std::string state;
  fields.Get("state", &state);
  if (fields.ok() && !absl::Base64Unescape(state, &manifest->state)) {
    fields.Fail("state", "is not in base64");
  }
  std::string checked_before;
  fields.Get("checksum", &checked_before);
  fields.Done();
}

}  // namespace

std::string ManifestToText(const CheckpointManifest& manifest) {
  Json clocks = Json::array();
  for (const Clock& clock : manifest.clocks) {
    clocks.push_back({{"epoch", clock.epoch}, {"step", clock.step}});
  }
  Json tables = Json::array();
  for (const TableSpec& table : manifest.tables) {
    tables.push_back(TableToJson(table));
  }
  Json parts = Json::array();
  for (const CutPart& part : manifest.parts) parts.push_back(PartToJson(part));
  const Json document = {
      {"seraph_checkpoint", kFormat},
      {"seraph_version", manifest.seraph_version},
      {"job_id", manifest.job_id},
      {"job_name", manifest.job_name},
      {"generation", manifest.generation},
      {"cut", manifest.cut},
      {"time", absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", manifest.time,
                                absl::UTCTimeZone())},
      {"clocks", std::move(clocks)},
      {"tables", std::move(tables)},
      {"parts", std::move(parts)},
      {"job", manifest.job_yaml},
      {"model", manifest.model},
      {"state", absl::Base64Escape(manifest.state)}};
  std::string text = document.dump(1, ' ', /*ensure_ascii=*/false,
                                   Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // "\n}".
  absl::StrAppend(&text, Ending(text));
  return text;
}

absl::StatusOr<CheckpointManifest> ManifestFromText(absl::string_view text) {
  if (text.size() < kEndingBytes ||
      text.substr(text.size() - kEndingBytes) !=
          Ending(text.substr(0, text.size() - kEndingBytes))) {
    return absl::DataLossError(
        "the manifest is damaged: its checksum does not fit");
  }
  const Json document = Json::parse(text.begin(), text.end(), nullptr,
                                    /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return absl::InvalidArgumentError("the manifest is no JSON");
  }
  CheckpointManifest manifest;
  absl::Status status;
  JsonFields fields(document, "", &status);
  ReadManifest(fields, &manifest);
  SERAPH_RETURN_IF_ERROR(status);
  return manifest;
}

std::string ToString(const ManifestName& name) {
  return absl::StrCat("g", name.generation, "-c", name.cut, kSuffix);
}

std::optional<ManifestName> ParseManifestName(absl::string_view file) {
  ManifestName name;
  if (!absl::ConsumePrefix(&file, "g")) return std::nullopt;
  const size_t dash = file.find("-c");
  if (dash == absl::string_view::npos) return std::nullopt;
  absl::string_view cut = file.substr(dash + 2);
  if (!absl::ConsumeSuffix(&cut, kSuffix)) return std::nullopt;
  if (!absl::SimpleAtoi(file.substr(0, dash), &name.generation) ||
      !absl::SimpleAtoi(cut, &name.cut)) {
    return std::nullopt;
  }
  return name;
}

}  // namespace seraph
