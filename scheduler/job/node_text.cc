#include "scheduler/job/node_text.h"

#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

struct Words {
  std::string operator()(const RunRanks&) const { return "starting ranks: "; }
  std::string operator()(const AssignPartitions&) const {
    return "creating tables: ";
  }
  std::string operator()(const ReadLedger&) const {
    return "reading the job's ledger: ";
  }
  std::string operator()(const ScanPiece& piece) const {
    return absl::StrCat("reading ", piece.file.data.path, ": ");
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

std::string Describe(const Node& node) {
  return absl::StrCat(
      node.role == NodeRole::kServer ? "server " : "worker ", node.name,
      node.name == node.address ? "" : absl::StrCat(" (", node.address, ")"));
}

std::string NodeNames(const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const Node& node : nodes) {
    if (known.insert(node.name).second) names.push_back(node.name);
  }
  return absl::StrJoin(names, ", ");
}

std::string DescribeOrder(const OrderBody& order) {
  return std::visit(Words(), order);
}

std::string CountText(uint64_t n, absl::string_view what) {
  return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
}

}  // namespace seraph
