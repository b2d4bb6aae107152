#include "scheduler/io/job_record.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "common/io/atomic_file.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

using Json = nlohmann::ordered_json;

Json MetricsJson(const MetricValues& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = value;
  return json;
}

Json EpochJson(const EpochView& epoch) {
  const double seconds = absl::ToDoubleSeconds(epoch.seconds);
  Json json;
  json["epoch"] = epoch.epoch;
  json["examples"] = epoch.examples;
  json["seconds"] = seconds;
  json["examples_per_second"] =
      seconds > 0 ? static_cast<double>(epoch.examples) / seconds : 0;
  json["train"] = MetricsJson(epoch.train);
  if (!epoch.validation.empty()) {
    json["validation"] = MetricsJson(epoch.validation);
  }
  return json;
}

}  // namespace

std::string JobRecordJson(const JobView& view) {
  const absl::string_view state = JobStateName(view.state);
  Json json;
  json["job"] = {{"id", view.id},
                 {"name", view.name},
                 {"state", std::string(state.data(), state.size())},
                 {"error", view.error}};
  json["epochs"] = Json::array();
  for (const EpochView& epoch : view.epochs) {
    json["epochs"].push_back(EpochJson(epoch));
  }
  json["model"] = {{"path", view.model_path}, {"digest", view.model_digest}};
  json["records"] = {{"read", view.records_read}, {"bad", view.records_bad}};
  json["recoveries"] = view.recoveries;
  json["warnings"] = view.warnings;
  // Messages may quote bytes of data files that are not UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status WriteJobRecord(const std::string& path, const JobView& view) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file,
                          AtomicFile::Create(path));
  SERAPH_RETURN_IF_ERROR(file->Append(JobRecordJson(view)));
  return file->Commit();
}

}  // namespace seraph
