// What can go wrong in a function, for a test.
#include <stdexcept>

#include "server/functions/seraph_functions.h"

namespace {

int Throws(const seraph_call*) { throw std::runtime_error("out of luck"); }
int ThrowsInt(const seraph_call*) { throw 7; }
int ReturnsSeven(const seraph_call*) { return 7; }
int GivesNothing(const seraph_call*) { return 0; }
int GivesNoType(const seraph_call* call) {
  seraph_value value = {};
  value.type = 99;
  call->add_result(call->host, &value);
  return 0;
}
int SetsARow(const seraph_call* call) {
  const float values[64] = {};
  call->set_row(call->host, 1, values);
  return 0;
}
int WritesAndThrows(const seraph_call* call) {
  SetsARow(call);
  throw std::runtime_error("out of luck");
}

constexpr seraph_function Reading(const char* name,
                                  int (*run)(const seraph_call*),
                                  uint32_t combine) {
  return {.name = name,
          .version = 2,
          .writes = 0,
          .combine = combine,
          .arguments = nullptr,
          .argument_count = 0,
          .run = run};
}

constexpr seraph_function kFunctions[] = {
    Reading("throws", Throws, SERAPH_LIST),
    Reading("throws_int", ThrowsInt, SERAPH_SUM),
    Reading("returns_seven", ReturnsSeven, SERAPH_LIST),
    Reading("gives_no_sum", GivesNothing, SERAPH_SUM),
    Reading("gives_no_count", GivesNothing, SERAPH_COUNT),
    Reading("gives_no_type", GivesNoType, SERAPH_LIST),
    Reading("sets_a_row", SetsARow, SERAPH_LIST),
    {.name = "writes_and_throws",
     .version = 2,
     .writes = 1,
     .combine = SERAPH_LIST,
     .arguments = nullptr,
     .argument_count = 0,
     .run = WritesAndThrows},
};

constexpr seraph_library kLibrary = {
    SERAPH_FUNCTIONS_ABI, kFunctions,
    sizeof(kFunctions) / sizeof(kFunctions[0])};

}  // namespace

const seraph_library* seraph_functions() { return &kLibrary; }
