#include "scheduler/job/job_plan.h"

#include <filesystem>

namespace seraph {

std::string PathOf(const std::string& base_directory, const std::string& path) {
  // An absolute right side replaces the left one.
  return (std::filesystem::path(base_directory) / path)
      .lexically_normal()
      .string();
}

std::string ModelPath(const JobSpec& spec, const std::string& base_directory) {
  return PathOf(PathOf(base_directory, spec.output_directory), "model");
}

std::string RecordPath(const JobSpec& spec, const std::string& base_directory) {
  return PathOf(PathOf(base_directory, spec.output_directory), "result.json");
}

std::string CheckpointPath(const JobSpec& spec,
                           const std::string& base_directory,
                           const std::string& root, const std::string& job) {
  if (spec.checkpoint.has_value()) {
    return PathOf(PathOf(base_directory, spec.checkpoint->directory), job);
  }
  return root.empty() ? "" : PathOf(root, job);
}

}  // namespace seraph
