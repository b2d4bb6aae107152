// The terms of optimizers that are settled late, where the rules are: whoever
// reads a row from a file needs them, too.
#ifndef SERAPH_SERVER_UPDATE_LAZY_TERMS_H_
#define SERAPH_SERVER_UPDATE_LAZY_TERMS_H_

#include "common/table/lazy_terms.h"  // IWYU pragma: export

#endif  // SERAPH_SERVER_UPDATE_LAZY_TERMS_H_
