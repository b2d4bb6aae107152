#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/connect.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/render/function_text.h"
#include "client/rpc/job_lookup.h"
#include "client/verbs/verbs.h"
#include "common/functions/function_call.h"
#include "common/functions/function_value.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr int kMaxInt = 1 << 30;

class CallVerb final : public Verb {
 public:
  std::string name() const override { return "call"; }
  std::string summary() const override {
    return "Calls a function on a table of a job that trains.";
  }
  std::string examples() const override {
    return "  seraphctl call adult-lr norm --table weights\n"
           "  seraphctl call adult-lr top_k 10 --table weights -o json\n"
           "  seraphctl call adult-lr dot 1 --table factors --column 0\n"
           "Arguments: 7 is an int, 0.5 a double, keys:1,2 and floats:0.5,1 "
           "are "
           "lists,\nall else is a text, and so is text:7. Functions that write "
           "are not for this verb.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "ID", &id_, "The job's id, its beginning, or its name.");
    AddArgument(app, "FUNCTION", &call_.function, "norm, sum, top_k, ...");
    AddArguments(app, "ARGS", &arguments_, "What the function takes.");
    AddValue(app, "--table", "NAME", &table_,
             "The table; may be left out where the job has one only.");
    AddNumber(app, "--column", 0, kMaxInt, &column_,
              "The column of the table; default 0.");
    AddNumber(app, "--function-version", 0, kMaxInt, &version_,
              "The version; default: the newest.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    call_.column = column_;
    call_.version = version_;
    for (const std::string& text : arguments_) {
      absl::StatusOr<FunctionValue> value = ParseFunctionValue(text);
      if (!value.ok()) return InputError(value.status());
      call_.arguments.push_back(*std::move(value));
    }
    SERAPH_ASSIGN_OR_RETURN(const auto client, Connect(options, env));
    const absl::StatusOr<std::string> id = FindJobId(client.get(), id_);
    if (!id.ok()) return CallError(id.status());
    const absl::StatusOr<FunctionResult> result =
        client->CallFunction(*id, table_, call_);
    if (!result.ok()) return CallError(result.status());
    return PrintResult(options, env, FunctionDocument(call_, *result),
                       FunctionText(*result));
  }

 private:
  std::string id_;
  std::string table_;
  std::vector<std::string> arguments_;
  int column_ = 0;
  int version_ = 0;
  FunctionCall call_;
};

}  // namespace

std::unique_ptr<Verb> MakeCallVerb() { return std::make_unique<CallVerb>(); }

}  // namespace seraph
