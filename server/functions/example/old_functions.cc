// A library of another SERAPH_FUNCTIONS_ABI, for a test.
#include "server/functions/seraph_functions.h"

namespace {

constexpr seraph_library kLibrary = {SERAPH_FUNCTIONS_ABI + 41, nullptr, 5};

}  // namespace

const seraph_library* seraph_functions() { return &kLibrary; }
