// Places where a test can make a process die. docs/decisions/fail-points.md
#ifndef SERAPH_COMMON_TESTING_FAIL_POINT_H_
#define SERAPH_COMMON_TESTING_FAIL_POINT_H_

namespace seraph {

// Ends the process at once, as kill -9 would, where the environment has
// SERAPH_FAIL_POINT=<name> and this is the first pass, or <name>:<n> and it is
// the n-th. Else it does nothing, at the cost of one load: it may stand
// anywhere but in an inner loop. The variable is read once, at the first pass
// of any point.
//
// `name` is a literal, dotted like the names of log lines:
// "scheduler.committed". Threads: any.
void FailPoint(const char* name);

}  // namespace seraph

#endif  // SERAPH_COMMON_TESTING_FAIL_POINT_H_
