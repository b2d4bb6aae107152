// What follows for a job from the pass over its data.
#ifndef SERAPH_SCHEDULER_JOB_FACT_DECISION_H_
#define SERAPH_SCHEDULER_JOB_FACT_DECISION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/dataset/dataset_facts.h"
#include "common/dataset/input_files.h"
#include "common/model_file/model_metadata.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_ref.h"

namespace seraph {

struct ScannedData {
  std::vector<InputFile> train_files;
  std::vector<DatasetFacts> train_parts;
  std::vector<InputFile> validation_files;  // Of data.validation.
  std::vector<DatasetFacts> validation_parts;
  std::optional<ModelMetadata> init;  // Of the model that the job starts from.
};

// All of the plan but where partitions and ranks go: labels, classes, tables,
// steps of an epoch, and whether ranks meet at its end.
//
// A pure function: what holds for the whole data set is decided here, once, and
// never by a rank. A job that starts from a model keeps that model's labels:
// the weights mean them, whatever part of them the new data show.
//
// Errors, for people: as MergeFacts, CheckSameColumns, DecideLabels and
// JobTables; InvalidArgument for data without records, or with a feature that
// model.keys excludes, or for an initial model of another kind or with other
// labels than the data.
absl::StatusOr<JobPlan> DecideFacts(JobRef job, const JobRequest& request,
                                    uint32_t default_partitions,
                                    ScannedData data);

// Whether ranks meet at the end of each epoch of the job.
bool HasEpochBarrier(const JobSpec& spec);

// What a user should be told about the data.
std::vector<std::string> DataWarnings(const JobPlan& plan);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_FACT_DECISION_H_
