#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/render/job_text.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class ClusterVerb final : public Verb {
 public:
  std::string name() const override { return "cluster"; }
  std::string summary() const override {
    return "Describes the cluster: its nodes and their load.";
  }
  std::string examples() const override {
    return "  seraphctl cluster\n"
           "  seraphctl cluster --scheduler 10.0.0.1:7400 -o yaml\n";
  }
  void Define(CLI::App* app) override {}

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<ClusterView> cluster = client->DescribeCluster();
    if (!cluster.ok()) return CallError(cluster.status());
    return PrintResult(options, env, ClusterDocument(*cluster),
                       ClusterText(*cluster));
  }
};

}  // namespace

std::unique_ptr<Verb> MakeClusterVerb() {
  return std::make_unique<ClusterVerb>();
}

}  // namespace seraph
