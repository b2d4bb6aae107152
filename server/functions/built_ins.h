// The functions that come with the server.
#ifndef SERAPH_SERVER_FUNCTIONS_BUILT_INS_H_
#define SERAPH_SERVER_FUNCTIONS_BUILT_INS_H_

#include <memory>
#include <vector>

#include "server/functions/function.h"

namespace seraph {

using Functions = std::vector<std::shared_ptr<const Function>>;

// sum, norm, dot.
void AddBlockSums(Functions* functions);
// count, nnz.
void AddCounts(Functions* functions);
// min, max, top_k.
void AddExtremes(Functions* functions);
// scale, fill, axpy, copy.
void AddElementFunctions(Functions* functions);
// uniform, normal.
void AddRandomFunctions(Functions* functions);

// All of the above.
Functions MakeBuiltIns();

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_BUILT_INS_H_
