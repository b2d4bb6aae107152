#include "server/functions/built_ins.h"

namespace seraph {

Functions MakeBuiltIns() {
  Functions functions;
  AddBlockSums(&functions);
  AddCounts(&functions);
  AddExtremes(&functions);
  AddElementFunctions(&functions);
  AddRandomFunctions(&functions);
  return functions;
}

}  // namespace seraph
