// What a process has cost so far, as the kernel counts it.
#ifndef SERAPH_CLIENT_BENCH_PROCESS_COST_H_
#define SERAPH_CLIENT_BENCH_PROCESS_COST_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace seraph {

// Processor time of all threads of a process of this machine, user and system;
// `process` 0: of this one. Errors: the system's reason.
absl::StatusOr<absl::Duration> ProcessorTime(pid_t process);

// Resident memory in bytes. Errors: the system's reason.
absl::StatusOr<uint64_t> ResidentMemory(pid_t process);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_PROCESS_COST_H_
