#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/render/progress_line.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// What a draining node still has.
uint64_t LeftOn(const NodeView& node) {
  return std::max<uint64_t>(node.partitions,
                            uint64_t{node.primaries} + node.backups) +
         node.ranks;
}

bool IsGone(const NodeView& node) {
  return node.state == "DEAD" || node.state == "LEFT";
}

class DrainVerb final : public Verb {
 public:
  std::string name() const override { return "drain"; }
  std::string summary() const override {
    return "Moves everything off a node, and keeps it so.";
  }
  std::string examples() const override {
    return "  seraphctl drain 10.0.0.7:7401\n"
           "  seraphctl drain 10.0.0.7:7401 --no-wait\n"
           "'seraphctl cluster' lists the nodes. Ctrl-C ends the waiting; the "
           "node goes on draining\nuntil it starts anew.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "NODE", &node_, "The node's name.");
    AddSwitch(app, "--no-wait", &no_wait_,
              "Does not wait until nothing is left there.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::Status begun = client->Drain(node_);
    if (absl::IsNotFound(begun)) return UnknownNode(client.get(), begun);
    if (!begun.ok()) return CallError(begun);

    ProgressLine progress(env.err, env.err_terminal, env.clock);
    absl::Duration last_heard = env.clock->Now();
    std::optional<NodeView> last;
    uint64_t most = 0;
    while (true) {
      const absl::StatusOr<ClusterView> cluster = client->DescribeCluster();
      if (cluster.ok()) {
        last_heard = env.clock->Now();
        last = Find(*cluster);
        if (!last.has_value()) {
          return CallError(absl::NotFoundError(
              absl::StrCat("the scheduler at ", client->address(),
                           " has forgotten node '", node_, "'")));
        }
        most = std::max(most, LeftOn(*last));
        const bool drained = IsGone(*last) || LeftOn(*last) == 0;
        if (drained || no_wait_) {
          progress.Clear();
          return Report(options, env, *last, drained);
        }
        progress.Show(
            absl::StrCat("draining ", node_),
            1 - static_cast<double>(LeftOn(*last)) / most,
            absl::StrCat(LeftOn(*last), " partitions and ranks left"));
        // A scheduler that has taken over meanwhile may not know of it.
        if (last->state == "ALIVE") client->Drain(node_).IgnoreError();
      } else if (!absl::IsCancelled(cluster.status()) &&
                 env.clock->Now() - last_heard >= env.scheduler_patience) {
        progress.Clear();
        return CallError(cluster.status());
      }
      if (env.interrupt->WaitFor(env.poll_interval)) {
        progress.Clear();
        return ReportInterrupt(options, env, last);
      }
    }
  }

 private:
  std::optional<NodeView> Find(const ClusterView& cluster) const {
    for (const NodeView& node : cluster.nodes) {
      if (node.name == node_) return node;
    }
    return std::nullopt;
  }

  absl::Status UnknownNode(SchedulerClient* client, const absl::Status& why) {
    const absl::StatusOr<ClusterView> cluster = client->DescribeCluster();
    if (!cluster.ok() || cluster->nodes.empty()) return CallError(why);
    return CallError(absl::NotFoundError(
        absl::StrCat("there is no node '", node_, "'; the nodes are ",
                     absl::StrJoin(cluster->nodes, ", ",
                                   [](std::string* out, const NodeView& node) {
                                     absl::StrAppend(out, node.name);
                                   }))));
  }

  absl::Status Report(const GlobalOptions& options, const Environment& env,
                      const NodeView& node, bool drained) {
    return PrintResult(
        options, env, {{"node", NodeDocument(node)}, {"drained", drained}},
        drained ? absl::StrCat(node.name, ": nothing is left there\n")
                : absl::StrCat(node.name, ": draining, ", LeftOn(node),
                               " partitions and ranks left\n"));
  }

  absl::Status ReportInterrupt(const GlobalOptions& options,
                               const Environment& env,
                               const std::optional<NodeView>& last) {
    if (last.has_value() && options.output != OutputFormat::kTable) {
      SERAPH_RETURN_IF_ERROR(Report(options, env, *last, false));
    }
    *env.err << "the node goes on draining; 'seraphctl drain " << node_
             << "' waits for it again" << std::endl;
    return Reported(ExitCode::kInterrupted);
  }

  std::string node_;
  bool no_wait_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeDrainVerb() { return std::make_unique<DrainVerb>(); }

}  // namespace seraph
