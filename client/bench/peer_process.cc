#include "client/bench/peer_process.h"

#include <unistd.h>

#include <fstream>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/bench/echo_stream.h"
#include "client/bench/tcp_exchange.h"
#include "client/local/daemon_paths.h"
#include "common/daemon/supervisor.h"
#include "common/io/atomic_file.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(2);
constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr absl::Duration kLongWait = absl::Hours(1);

}  // namespace

absl::StatusOr<std::unique_ptr<PeerProcess>> PeerProcess::Start(
    absl::string_view kind, const LoopbackLoad& load, const std::string& folder,
    const Environment& env) {
  SERAPH_ASSIGN_OR_RETURN(const std::string self, SelfPath());
  const std::string name = absl::StrCat("peer-", kind);
  const std::string ready_file = absl::StrCat(folder, "/", name, ".ready");
  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<ChildProcess> process,
      ChildProcess::Start(
          {.name = name,
           .argv = {self, "bench-peer", std::string(kind), "--request-bytes",
                    absl::StrCat(load.request_bytes), "--reply-bytes",
                    absl::StrCat(load.reply_bytes), "--ready-file", ready_file,
                    "--exit-with-parent", absl::StrCat(getpid())},
           .log_path = absl::StrCat(folder, "/", name, ".log"),
           .environment = env.variables}));
  const absl::Duration end = env.clock->Now() + kPatience;
  while (true) {
    std::ifstream file(ready_file);
    std::string address;
    if (file && std::getline(file, address)) {
      return absl::WrapUnique(
          new PeerProcess(std::move(process), std::move(address)));
    }
    if (const auto& ended = process->Poll(); ended.has_value()) {
      return absl::InternalError(
          absl::StrCat(name, " ", *ended, ":\n", process->LogTail(20)));
    }
    if (env.clock->Now() >= end) {
      return absl::DeadlineExceededError(
          absl::StrCat(name, " is not ready:\n", process->LogTail(20)));
    }
    if (env.interrupt->WaitFor(kPoll)) {
      return absl::CancelledError("interrupted");
    }
  }
}

absl::Status RunPeer(absl::string_view kind, const LoopbackLoad& load,
                     const std::string& ready_file, int parent,
                     Interrupt* interrupt) {
  if (parent > 0) SERAPH_RETURN_IF_ERROR(EndWithParent(parent));
  std::unique_ptr<TcpPeer> tcp;
  std::unique_ptr<EchoPeer> echo;
  std::string address;
  if (kind == "tcp") {
    SERAPH_ASSIGN_OR_RETURN(tcp, TcpPeer::Start(load));
    address = tcp->address();
  } else {
    SERAPH_ASSIGN_OR_RETURN(echo, EchoPeer::Start(load));
    address = echo->address();
  }
  SERAPH_ASSIGN_OR_RETURN(const auto file, AtomicFile::Create(ready_file));
  SERAPH_RETURN_IF_ERROR(file->Append(address + "\n"));
  SERAPH_RETURN_IF_ERROR(file->Commit());
  while (!interrupt->WaitFor(kLongWait)) {
  }
  return absl::OkStatus();
}

}  // namespace seraph
