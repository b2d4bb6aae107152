// A library that brings a function which is there already, for a test.
#include "server/functions/seraph_functions.h"

namespace {

int Run(const seraph_call*) { return 0; }

constexpr seraph_function kFunctions[] = {{.name = "sum",
                                           .version = 1,
                                           .writes = 0,
                                           .combine = SERAPH_LIST,
                                           .arguments = nullptr,
                                           .argument_count = 0,
                                           .run = Run}};

constexpr seraph_library kLibrary = {SERAPH_FUNCTIONS_ABI, kFunctions, 1};

}  // namespace

const seraph_library* seraph_functions() { return &kLibrary; }
