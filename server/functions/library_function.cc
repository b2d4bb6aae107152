#include "server/functions/library_function.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"

namespace seraph {
namespace {

seraph_value ToValue(const FunctionValue& value) {
  seraph_value out{};
  out.type = value.index();
  switch (TypeOf(value)) {
    case ValueType::kInt:
      out.integer = std::get<int64_t>(value);
      break;
    case ValueType::kDouble:
      out.real = std::get<double>(value);
      break;
    case ValueType::kText:
      out.text = std::get<std::string>(value).c_str();
      out.size = std::get<std::string>(value).size();
      break;
    case ValueType::kKeys:
      out.keys = std::get<std::vector<Key>>(value).data();
      out.size = std::get<std::vector<Key>>(value).size();
      break;
    case ValueType::kFloats:
      out.floats = std::get<std::vector<float>>(value).data();
      out.size = std::get<std::vector<float>>(value).size();
      break;
  }
  return out;
}

std::optional<FunctionValue> FromValue(const seraph_value& value) {
  switch (value.type) {
    case SERAPH_INT:
      return value.integer;
    case SERAPH_DOUBLE:
      return value.real;
    case SERAPH_TEXT:
      if (value.text == nullptr) return "";
      return std::string(value.text, value.size);
    case SERAPH_KEYS:
      if (value.keys == nullptr) return std::vector<Key>();
      return std::vector<Key>(value.keys, value.keys + value.size);
    case SERAPH_FLOATS:
      if (value.floats == nullptr) return std::vector<float>();
      return std::vector<float>(value.floats, value.floats + value.size);
    default:
      return std::nullopt;
  }
}

// What the library's side of a running call may reach.
class Host {
 public:
  Host(const RowsAt& rows, absl::Span<const Key> keys, bool writes)
      : rows_(rows), walk_(rows.Over(keys)), writes_(writes) {}

  seraph_call CallFor(const FunctionInput& input,
                      const std::vector<seraph_value>& arguments) {
    seraph_call call{};
    call.host = this;
    call.table = rows_.table().name.c_str();
    call.width = rows_.width();
    call.column = input.column;
    call.arguments = arguments.data();
    call.argument_count = arguments.size();
    call.next_rows = [](void* host, seraph_rows* rows) {
      return static_cast<Host*>(host)->Next(rows);
    };
    call.set_row = [](void* host, uint64_t key, const float* values) {
      static_cast<Host*>(host)->Set(key, values);
    };
    call.add_result = [](void* host, const seraph_value* value) {
      static_cast<Host*>(host)->Add(value);
    };
    call.set_error = [](void* host, const char* message) {
      static_cast<Host*>(host)->error_ = message == nullptr ? "" : message;
    };
    return call;
  }

  const std::string& error() const { return error_; }
  // What it did that the contract forbids; "": nothing.
  const std::string& fault() const { return fault_; }
  std::vector<FunctionValue>& results() { return results_; }
  // By mixed key.
  const std::map<Key, std::vector<float>>& rows_set() const { return set_; }

 private:
  int Next(seraph_rows* rows) {
    if (!walk_.Next()) {
      *rows = {};
      return 0;
    }
    originals_.clear();
    for (const Key key : walk_.keys()) {
      originals_.push_back(ToOriginalKey(rows_.table(), key));
    }
    *rows = {originals_.size(), originals_.data(), walk_.values().data()};
    return 1;
  }

  void Set(uint64_t key, const float* values) {
    if (!writes_ || values == nullptr) {
      fault_ = "set a row, although it reads";
      return;
    }
    set_[ToMixedKey(rows_.table(), key)].assign(values, values + rows_.width());
  }

  void Add(const seraph_value* value) {
    std::optional<FunctionValue> result;
    if (value != nullptr) result = FromValue(*value);
    if (writes_ || !result.has_value()) {
      fault_ = writes_ ? "gave a result, although it writes"
                       : "gave a result of no type";
      return;
    }
    results_.push_back(*std::move(result));
  }

  const RowsAt& rows_;
  RowsAt::Walk walk_;
  const bool writes_;
  std::vector<Key> originals_;
  std::string error_;
  std::string fault_;
  std::vector<FunctionValue> results_;
  std::map<Key, std::vector<float>> set_;
};

class LibraryFunction final : public Function {
 public:
  LibraryFunction(FunctionSignature signature, const seraph_function& function)
      : Function(std::move(signature), /*built_in=*/false),
        function_(function) {}

  absl::StatusOr<PartialResult> Read(
      const RowsAt& rows, const FunctionInput& input) const override {
    const std::vector<Key> keys = rows.Keys();
    PartialResult result;
    if (signature().combine != CombineRule::kSum) {
      Host host(rows, keys, /*writes=*/false);
      SERAPH_RETURN_IF_ERROR(Run(input, &host));
      if (signature().combine == CombineRule::kList) {
        result.values = std::move(host.results());
        return result;
      }
      const auto* count = OnlyResult<int64_t>(host);
      if (count == nullptr) return Fault("has to give one int");
      result.count = *count;
      return result;
    }
    const Partitioning cut(rows.table());
    absl::Span<const Key> left = keys;
    while (!left.empty()) {
      const uint32_t block = cut.BlockOf(left.front());
      const Key last = cut.BlockRange(block).last;
      const size_t size =
          std::upper_bound(left.begin(), left.end(), last) - left.begin();
      Host host(rows, left.subspan(0, size), /*writes=*/false);
      SERAPH_RETURN_IF_ERROR(Run(input, &host));
      const auto* sum = OnlyResult<double>(host);
      if (sum == nullptr) return Fault("has to give one double for each block");
      result.sums.push_back({block, *sum});
      left.remove_prefix(size);
    }
    return result;
  }

  absl::Status Write(const RowsAt& rows, const FunctionInput& input,
                     WriteRows write) const override {
    const std::vector<Key> keys = rows.Keys();
    Host host(rows, keys, /*writes=*/true);
    SERAPH_RETURN_IF_ERROR(Run(input, &host));
    for (const auto& [key, values] : host.rows_set()) write({key}, values);
    return absl::OkStatus();
  }

 private:
  absl::Status Fault(absl::string_view what) const {
    return absl::InternalError(absl::StrCat("function '", signature().name,
                                            "', version ", signature().version,
                                            ", ", what));
  }

  // Null unless there is exactly one result of the type.
  template <typename T>
  static const T* OnlyResult(Host& host) {
    if (host.results().size() != 1) return nullptr;
    return std::get_if<T>(&host.results()[0]);
  }

  absl::Status Run(const FunctionInput& input, Host* host) const {
    std::vector<seraph_value> arguments;
    for (const FunctionValue& one : input.arguments) {
      arguments.push_back(ToValue(one));
    }
    const seraph_call call = host->CallFor(input, arguments);
    int returned = 0;
    try {
      returned = function_.run(&call);
    } catch (const std::exception& exception) {
      return Fault(absl::StrCat("threw: ", exception.what()));
    } catch (...) {
      return Fault("threw something that is no std::exception");
    }
    if (returned != 0) {
      return Fault(host->error().empty()
                       ? absl::StrCat("returned ", returned)
                       : absl::StrCat("failed: ", host->error()));
    }
    if (!host->fault().empty()) return Fault(host->fault());
    return absl::OkStatus();
  }

  const seraph_function function_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Function>> WrapLibraryFunction(
    const seraph_function& definition) {
  if (definition.name == nullptr || definition.run == nullptr ||
      (definition.argument_count > 0 && definition.arguments == nullptr)) {
    return absl::InvalidArgumentError(
        "a function without a name, or without its code");
  }
  FunctionSignature signature{.name = definition.name,
                              .version = definition.version,
                              .writes = definition.writes != 0};
  for (size_t i = 0; i < definition.argument_count; ++i) {
    const seraph_argument& argument = definition.arguments[i];
    if (argument.name == nullptr || argument.type > SERAPH_FLOATS) {
      return absl::InvalidArgumentError(
          absl::StrCat("function '", signature.name, "': argument ", i,
                       " has no name, or no type"));
    }
    signature.arguments.push_back({argument.name,
                                   static_cast<ValueType>(argument.type),
                                   argument.optional != 0});
  }
  if (!signature.writes) {
    switch (definition.combine) {
      case SERAPH_LIST:
        signature.combine = CombineRule::kList;
        break;
      case SERAPH_SUM:
        signature.combine = CombineRule::kSum;
        break;
      case SERAPH_COUNT:
        signature.combine = CombineRule::kCount;
        break;
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("function '", signature.name,
                         "': its results are combined in no known way (",
                         definition.combine, ")"));
    }
  }
  return std::make_shared<const LibraryFunction>(std::move(signature),
                                                 definition);
}

}  // namespace seraph
