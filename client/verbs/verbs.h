// The verbs of the command line.
#ifndef SERAPH_CLIENT_VERBS_VERBS_H_
#define SERAPH_CLIENT_VERBS_VERBS_H_

#include <memory>
#include <vector>

#include "client/cli/verb.h"

namespace seraph {

std::unique_ptr<Verb> MakeRunVerb();
std::unique_ptr<Verb> MakeSubmitVerb();
std::unique_ptr<Verb> MakeJobsVerb();
std::unique_ptr<Verb> MakeJobVerb();
std::unique_ptr<Verb> MakeWatchVerb();
std::unique_ptr<Verb> MakeLogsVerb();
std::unique_ptr<Verb> MakePauseVerb();
std::unique_ptr<Verb> MakeResumeVerb();
std::unique_ptr<Verb> MakeCheckpointVerb();
std::unique_ptr<Verb> MakeCancelVerb();
std::unique_ptr<Verb> MakeCallVerb();
std::unique_ptr<Verb> MakeExportVerb();
std::unique_ptr<Verb> MakePredictVerb();
std::unique_ptr<Verb> MakeDigestVerb();
std::unique_ptr<Verb> MakeClusterVerb();
std::unique_ptr<Verb> MakeDrainVerb();
std::unique_ptr<Verb> MakeValidateVerb();
std::unique_ptr<Verb> MakeBenchVerb();
std::unique_ptr<Verb> MakeBenchPeerVerb();
std::unique_ptr<Verb> MakeCompletionVerb();

// All of them, in the order in which --help lists them.
std::vector<std::unique_ptr<Verb>> MakeVerbs();

}  // namespace seraph

#endif  // SERAPH_CLIENT_VERBS_VERBS_H_
