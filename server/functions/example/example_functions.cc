// A library of functions of one's own: docs/functions.md walks through it.
#include <cmath>
#include <vector>

#include "server/functions/seraph_functions.h"

namespace {

// power_sum(p: double): the sum of |x|^p over a column.
int PowerSum(const seraph_call* call) {
  const double p = call->arguments[0].real;
  if (p <= 0) {
    call->set_error(call->host, "p has to be greater than 0");
    return 1;
  }
  double sum = 0;
  seraph_rows rows;
  while (call->next_rows(call->host, &rows)) {
    for (size_t i = 0; i < rows.count; ++i) {
      sum += std::pow(std::abs(rows.values[i * call->width + call->column]), p);
    }
  }
  seraph_value result = {};
  result.type = SERAPH_DOUBLE;
  result.real = sum;
  call->add_result(call->host, &result);
  return 0;
}

// clip(limit: double): brings the values of a column into [-limit, limit].
int Clip(const seraph_call* call) {
  const float limit = static_cast<float>(call->arguments[0].real);
  std::vector<float> row(call->width);
  seraph_rows rows;
  while (call->next_rows(call->host, &rows)) {
    for (size_t i = 0; i < rows.count; ++i) {
      const float* const values = rows.values + i * call->width;
      if (std::abs(values[call->column]) <= limit) continue;
      row.assign(values, values + call->width);
      row[call->column] = std::copysign(limit, values[call->column]);
      call->set_row(call->host, rows.keys[i], row.data());
    }
  }
  return 0;
}

constexpr seraph_argument kPowerSumArguments[] = {{"p", SERAPH_DOUBLE, 0}};
constexpr seraph_argument kClipArguments[] = {{"limit", SERAPH_DOUBLE, 0}};

constexpr seraph_function kFunctions[] = {
    {.name = "power_sum",
     .version = 1,
     .writes = 0,
     .combine = SERAPH_SUM,
     .arguments = kPowerSumArguments,
     .argument_count = 1,
     .run = PowerSum},
    {.name = "clip",
     .version = 1,
     .writes = 1,
     .combine = SERAPH_LIST,
     .arguments = kClipArguments,
     .argument_count = 1,
     .run = Clip},
};

constexpr seraph_library kLibrary = {SERAPH_FUNCTIONS_ABI, kFunctions, 2};

}  // namespace

const seraph_library* seraph_functions() { return &kLibrary; }
