#include "client/verbs/verbs.h"

namespace seraph {

std::vector<std::unique_ptr<Verb>> MakeVerbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(MakeRunVerb());
  verbs.push_back(MakeSubmitVerb());
  verbs.push_back(MakeJobsVerb());
  verbs.push_back(MakeJobVerb());
  verbs.push_back(MakeWatchVerb());
  verbs.push_back(MakeLogsVerb());
  verbs.push_back(MakePauseVerb());
  verbs.push_back(MakeResumeVerb());
  verbs.push_back(MakeCheckpointVerb());
  verbs.push_back(MakeCancelVerb());
  verbs.push_back(MakeCallVerb());
  verbs.push_back(MakeExportVerb());
  verbs.push_back(MakePredictVerb());
  verbs.push_back(MakeDigestVerb());
  verbs.push_back(MakeClusterVerb());
  verbs.push_back(MakeDrainVerb());
  verbs.push_back(MakeValidateVerb());
  verbs.push_back(MakeBenchVerb());
  verbs.push_back(MakeBenchPeerVerb());
  verbs.push_back(MakeCompletionVerb());
  return verbs;
}

}  // namespace seraph
