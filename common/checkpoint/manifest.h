// What a checkpoint consists of: docs/checkpoint-format.md.
#ifndef SERAPH_COMMON_CHECKPOINT_MANIFEST_H_
#define SERAPH_COMMON_CHECKPOINT_MANIFEST_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/checkpoint/cut_part.h"
#include "common/table/table_spec.h"

namespace seraph {

struct CheckpointManifest {
  std::string seraph_version;
  std::string job_id;
  std::string job_name;
  uint64_t generation = 0;
  uint64_t cut = 0;
  absl::Time time;            // For people; whole milliseconds.
  std::vector<Clock> clocks;  // K, by rank.
  std::vector<TableSpec> tables;
  std::vector<CutPart> parts;  // Every partition of every table, in order.
  std::string job_yaml;        // Canonical.
  // ModelMetadataToJson: what a job that starts from it has to know. "": it
  // cannot be started from.
  std::string model;
  // The scheduler's own, any bytes: plan, metrics, counters.
  std::string state;

  friend bool operator==(const CheckpointManifest&,
                         const CheckpointManifest&) = default;
};

// The text of the file.
// Requires: job_id, job_name, job_yaml and names in UTF-8.
std::string ManifestToText(const CheckpointManifest& manifest);

// Errors: DataLoss for a text that is damaged or cut short; InvalidArgument for
// a format that this build cannot read, and for what no manifest says, naming
// the key. Neither names the file.
absl::StatusOr<CheckpointManifest> ManifestFromText(absl::string_view text);

// The name of a manifest's file: "g2-c17.checkpoint".
struct ManifestName {
  uint64_t generation = 0;
  uint64_t cut = 0;

  // Oldest first.
  friend auto operator<=>(const ManifestName&, const ManifestName&) = default;
};
std::string ToString(const ManifestName& name);
// nullopt for a file that is no manifest.
std::optional<ManifestName> ParseManifestName(absl::string_view file);

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_MANIFEST_H_
