#include <limits>
#include <string>

#include "client/bench/peer_process.h"
#include "client/cli/flags.h"
#include "client/verbs/verbs.h"

namespace seraph {
namespace {

// What PeerProcess starts.
class BenchPeerVerb final : public Verb {
 public:
  std::string name() const override { return "bench-peer"; }
  std::string summary() const override {
    return "The other end of bench's bare exchanges, which bench starts.";
  }
  std::string examples() const override {
    return "  seraphctl bench-peer tcp --request-bytes 100 --reply-bytes 10 "
           "--ready-file /tmp/ready\n";
  }
  void Define(CLI::App* app) override {
    AddChoice(app, "KIND", {"tcp", "echo"}, &kind_, "Of the exchange.")
        ->required();
    AddCount(app, "--request-bytes", &load_.request_bytes,
             "Of a request (default: 1).");
    AddCount(app, "--reply-bytes", &load_.reply_bytes,
             "Of a reply (default: 1).");
    AddValue(app, "--ready-file", "FILE", &ready_file_,
             "Gets the address when it listens.")
        ->required();
    AddNumber(app, "--exit-with-parent", 1, std::numeric_limits<int>::max(),
              &parent_,
              "Ends when this process does, which has to be its parent.");
  }

  absl::Status Run(const GlobalOptions&, const Environment& env) override {
    return RunPeer(kind_, load_, ready_file_, parent_, env.interrupt);
  }

 private:
  std::string kind_;
  LoopbackLoad load_;
  std::string ready_file_;
  int parent_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeBenchPeerVerb() {
  return std::make_unique<BenchPeerVerb>();
}

}  // namespace seraph
