#include "common/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/part_format.h"
#include "common/io/atomic_blob.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "xxhash.h"

namespace seraph {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 30;

// Which cut a file of ours, complete or not, belongs to; nullopt for any other.
std::optional<ManifestName> CutOf(const std::string& name) {
  const std::string whole = TemporaryFor(name);
  const std::string& file = whole.empty() ? name : whole;
  // A manifest that is complete is no leftover.
  if (!whole.empty() && ParseManifestName(whole).has_value()) {
    return ParseManifestName(whole);
  }
  const std::vector<absl::string_view> pieces = absl::StrSplit(file, '-');
  if (pieces.size() != 4) return std::nullopt;
  ManifestName cut;
  uint32_t table = 0;
  uint32_t partition = 0;
  if (!absl::SimpleAtoi(absl::StripPrefix(pieces[0], "g"), &cut.generation) ||
      !absl::SimpleAtoi(absl::StripPrefix(pieces[1], "c"), &cut.cut) ||
      !absl::SimpleAtoi(absl::StripPrefix(pieces[2], "t"), &table) ||
      !absl::SimpleAtoi(
          absl::StripSuffix(absl::StripPrefix(pieces[3], "p"), ".part"),
          &partition) ||
      PartFileName(cut.generation, cut.cut, table, partition) != file) {
    return std::nullopt;
  }
  return cut;
}

}  // namespace

absl::StatusOr<std::string> CheckpointFolder::Write(
    const CheckpointManifest& manifest) {
  const std::string name =
      ToString(ManifestName{manifest.generation, manifest.cut});
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicBlob> file,
                          AtomicBlob::Create(&folder_, name));
  SERAPH_RETURN_IF_ERROR(file->Append(ManifestToText(manifest)));
  SERAPH_RETURN_IF_ERROR(file->Commit());
  return name;
}

absl::StatusOr<CheckpointManifest> CheckpointFolder::Read(
    const std::string& file) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> reader,
                          folder_.Open(file));
  if (reader->size() > kMaxManifestBytes) {
    return absl::DataLossError(absl::StrCat(folder_.PathOf(file), ": has ",
                                            reader->size(),
                                            " bytes and is no manifest"));
  }
  std::string text;
  SERAPH_RETURN_IF_ERROR(reader->Read(reader->size(), &text));
  absl::StatusOr<CheckpointManifest> manifest = ManifestFromText(text);
  if (!manifest.ok()) {
    return Annotate(manifest.status(), folder_.PathOf(file));
  }
  const ManifestName name{manifest->generation, manifest->cut};
  if (ToString(name) != file) {
    return absl::DataLossError(absl::StrCat(
        folder_.PathOf(file), ": is the manifest of ", ToString(name)));
  }
  return manifest;
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::List() {
  SERAPH_ASSIGN_OR_RETURN(const std::vector<BlobInfo> files, folder_.List());
  std::vector<ManifestName> names;
  for (const BlobInfo& file : files) {
    const std::optional<ManifestName> name = ParseManifestName(file.name);
    if (name.has_value() && ToString(*name) == file.name) {
      names.push_back(*name);
    }
  }
  std::sort(names.rbegin(), names.rend());
  std::vector<std::string> sorted;
  for (const ManifestName& name : names) sorted.push_back(ToString(name));
  return sorted;
}

absl::Status CheckpointFolder::VerifyFile(
    const CutFile& file, const std::function<absl::Status()>& go_on) {
  const auto damaged = [&](absl::string_view what) {
    return absl::DataLossError(absl::StrCat(
        folder_.PathOf(file.name), ": ", what,
        "; the checkpoint cannot be used, an older one is: put the file back "
        "from a copy, or remove the checkpoint"));
  };
  const absl::StatusOr<std::unique_ptr<BlobReader>> reader =
      folder_.Open(file.name);
  if (!reader.ok()) {
    return absl::IsNotFound(reader.status()) ? damaged("is missing")
                                             : absl::Status(reader.status());
  }
  if ((*reader)->size() != file.bytes) {
    return damaged(
        absl::StrCat("has ", (*reader)->size(), " bytes, not ", file.bytes));
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> checksum(
      XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(checksum.get());
  std::string piece;
  for (uint64_t left = file.bytes; left > 0; left -= piece.size()) {
    if (go_on != nullptr) SERAPH_RETURN_IF_ERROR(go_on());
    SERAPH_RETURN_IF_ERROR(
        (*reader)->Read(std::min<uint64_t>(left, kReadBytes), &piece));
    if (piece.empty()) return damaged("ends early");
    XXH3_64bits_update(checksum.get(), piece.data(), piece.size());
  }
  if (XXH3_64bits_digest(checksum.get()) != file.checksum) {
    return damaged("is damaged: its checksum is not that of the manifest");
  }
  return absl::OkStatus();
}

absl::Status CheckpointFolder::Verify(
    const CheckpointManifest& manifest,
    const std::function<absl::Status()>& go_on) {
  for (const CutPart& part : manifest.parts) {
    for (const CutFile& file : part.files) {
      SERAPH_RETURN_IF_ERROR(VerifyFile(file, go_on));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckpointFolder::Found> CheckpointFolder::FindNewest(
    const std::string& job_id, const std::function<absl::Status()>& go_on) {
  SERAPH_ASSIGN_OR_RETURN(const std::vector<std::string> files, List());
  Found found;
  for (const std::string& file : files) {
    if (go_on != nullptr) SERAPH_RETURN_IF_ERROR(go_on());
    absl::StatusOr<CheckpointManifest> manifest = Read(file);
    absl::Status status = manifest.status();
    if (status.ok() && !job_id.empty() && manifest->job_id != job_id) {
      status = absl::FailedPreconditionError(
          absl::StrCat(folder_.PathOf(file), ": is of job '", manifest->job_id,
                       "', not '", job_id, "'"));
    }
    if (status.ok()) {
      absl::Status stopped;
      status = Verify(*manifest, [&] {
        if (go_on != nullptr) stopped = go_on();
        return stopped;
      });
      SERAPH_RETURN_IF_ERROR(stopped);
    }
    if (status.ok()) {
      found.file = file;
      found.manifest = *std::move(manifest);
      return found;
    }
    found.refused.push_back(std::string(status.message()));
  }
  return found;
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::Prune(
    const std::string& job_id, uint32_t keep, const std::string& verified) {
  SERAPH_ASSIGN_OR_RETURN(const std::vector<std::string> manifests, List());
  std::set<std::string> needed;
  std::vector<std::string> removed;
  std::optional<ManifestName> newest;
  uint32_t kept = 0;
  for (const std::string& file : manifests) {
    const absl::StatusOr<CheckpointManifest> manifest = Read(file);
    const bool readable = manifest.ok();
    // What cannot be read now may be read later; what is damaged never can.
    if (!readable && !absl::IsDataLoss(manifest.status())) {
      return manifest.status();
    }
    const bool ours = readable && manifest->job_id == job_id;
    if (ours && !newest.has_value()) newest = ParseManifestName(file);
    const bool foreign = readable && !ours;
    const bool stays = foreign || file == verified || (ours && kept < keep) ||
                       (!readable && !newest.has_value());
    if (ours && kept < keep) ++kept;
    if (!stays) {
      removed.push_back(file);
    } else if (readable) {
      for (const CutPart& part : manifest->parts) {
        for (const CutFile& of : part.files) needed.insert(of.name);
      }
    }
  }
  for (const std::string& file : removed) {
    SERAPH_RETURN_IF_ERROR(folder_.Remove(file));
  }
  // What is named must be there after any power cut.
  if (!removed.empty()) SERAPH_RETURN_IF_ERROR(folder_.Sync());
  if (!newest.has_value()) return removed;
  SERAPH_ASSIGN_OR_RETURN(const std::vector<BlobInfo> files, folder_.List());
  for (const BlobInfo& file : files) {
    const std::optional<ManifestName> cut = CutOf(file.name);
    if (!cut.has_value() || *cut >= *newest || needed.contains(file.name)) {
      continue;
    }
    SERAPH_RETURN_IF_ERROR(folder_.Remove(file.name));
    removed.push_back(file.name);
  }
  return removed;
}

}  // namespace seraph
