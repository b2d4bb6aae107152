// The documents that `-o json` and `-o yaml` print: docs/command-line.md.
//
// Programs depend on their keys: what is there stays; more may be added.
#ifndef SERAPH_CLIENT_RENDER_DOCUMENTS_H_
#define SERAPH_CLIENT_RENDER_DOCUMENTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/view/cluster_view.h"
#include "client/view/job_view.h"
#include "nlohmann/json.hpp"

namespace seraph {

// Keys stay in the order in which they are added.
using Document = nlohmann::ordered_json;

// "PENDING", "RUNNING", ... "UNKNOWN".
absl::string_view JobStateName(JobState state);

// A job with its epochs, model, records: of run, submit --watch, job, watch and
// cancel.
Document JobDocument(const JobView& job);

// {"job": {"id", "name", "state", "error"}}: of submit.
Document SubmittedDocument(const std::string& id, const std::string& name);

// {"jobs": [{"id", "name", "state", ...}]}.
Document JobsDocument(const std::vector<JobView>& jobs);

// {"lines": [{"time", "text"}]}.
Document LogDocument(const std::vector<LogLine>& lines);

Document ClusterDocument(const ClusterView& cluster);
Document NodeDocument(const NodeView& node);
Document CheckpointDocument(const CheckpointView& checkpoint);

// As an object, in their order.
Document ValuesDocument(const NamedValues& values);

// Two spaces for each level, and a line end. Bytes that are no UTF-8 are
// replaced; numbers that are not finite are null.
std::string ToJsonText(const Document& document);

// The same as YAML 1.2, texts in double quotes.
std::string ToYamlText(const Document& document);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_DOCUMENTS_H_
