// A function that runs where the rows are.
#ifndef SERAPH_SERVER_FUNCTIONS_FUNCTION_H_
#define SERAPH_SERVER_FUNCTIONS_FUNCTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/functions/function_call.h"
#include "common/functions/function_signature.h"
#include "common/functions/partial_result.h"
#include "common/table/table_spec.h"
#include "server/functions/rows_at.h"

namespace seraph {

// A column of another table's partition of the same range, copied out of it.
struct ColumnCopy {
  TableSpec table;  // For the initial values of keys that are missing.
  uint32_t column = 0;
  std::vector<Key> keys;      // [n], mixed, ascending.
  std::vector<float> values;  // [n].
};

// What a call gives to a function: arguments that CheckArguments has passed,
// columns that the tables have.
struct FunctionInput {
  uint32_t column = 0;
  absl::Span<const FunctionValue> arguments;
  const ColumnCopy* other = nullptr;  // Null: the same table.
};

// Threads: immutable; any number may run it at once, over different partitions.
// Functions of users need not be: LibraryFunction.
class Function {
 public:
  virtual ~Function() = default;

  const FunctionSignature& signature() const { return signature_; }

  // Whether every replica that runs it over the same rows writes the same bits:
  // its calls may stand in a log, and be run by each replica by itself.
  bool built_in() const { return built_in_; }

  // Takes the columns that its arguments `column` and, if given, `table` name.
  // Where the table is another one, its column comes as FunctionInput::other.
  bool reads_other() const {
    return signature_.Find("column").has_value() &&
           signature_.Find("table").has_value();
  }

  // A function that reads. Errors: those of the function, for its caller.
  virtual absl::StatusOr<PartialResult> Read(const RowsAt& rows,
                                             const FunctionInput& input) const;

  // A function that writes: hands over rows with their new values, keys mixed
  // and ascending over all calls. The rows of a group are read before it is
  // handed over, so that `write` may change them at once. Values may be not
  // finite: that is for `write` to find.
  using WriteRows = absl::FunctionRef<void(absl::Span<const Key> keys,
                                           absl::Span<const float> values)>;
  virtual absl::Status Write(const RowsAt& rows, const FunctionInput& input,
                             WriteRows write) const;

  // What the arguments alone say, beyond their types: called once, before
  // anything else is done. Errors: InvalidArgument.
  virtual absl::Status Check(absl::Span<const FunctionValue> arguments) const {
    return absl::OkStatus();
  }

 protected:
  Function(FunctionSignature signature, bool built_in)
      : signature_(std::move(signature)), built_in_(built_in) {}

 private:
  const FunctionSignature signature_;
  const bool built_in_;
};

// A call that was checked, on its way to a partition.
struct PlannedCall {
  std::shared_ptr<const Function> function;
  FunctionCall call;  // With the function's version.
  std::shared_ptr<const ColumnCopy> other;

  FunctionInput input() const {
    return {.column = call.column,
            .arguments = call.arguments,
            .other = other.get()};
  }
};

// Gives PartialResult::values = [mixed keys, floats] of a column: how one
// partition's column comes to the other's function. Not in any registry.
std::shared_ptr<const Function> ColumnCopyFunction();

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_FUNCTION_H_
