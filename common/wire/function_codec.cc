#include "common/wire/function_codec.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

struct ValueEncoder {
  v1::FunctionValue* message;

  void operator()(int64_t value) const { message->set_integer(value); }
  void operator()(double value) const { message->set_real(value); }
  void operator()(const std::string& value) const { message->set_text(value); }
  void operator()(const std::vector<Key>& keys) const {
    message->mutable_keys()->mutable_keys()->Add(keys.begin(), keys.end());
  }
  void operator()(const std::vector<float>& values) const {
    message->mutable_floats()->mutable_values()->Add(values.begin(),
                                                     values.end());
  }
};

absl::StatusOr<FunctionValue> ValueFromProto(const v1::FunctionValue& message) {
  switch (message.value_case()) {
    case v1::FunctionValue::kInteger:
      return int64_t{message.integer()};
    case v1::FunctionValue::kReal:
      return message.real();
    case v1::FunctionValue::kText:
      return message.text();
    case v1::FunctionValue::kKeys:
      return std::vector<Key>(message.keys().keys().begin(),
                              message.keys().keys().end());
    case v1::FunctionValue::kFloats:
      return std::vector<float>(message.floats().values().begin(),
                                message.floats().values().end());
    case v1::FunctionValue::VALUE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a function's value of no kind");
}

}  // namespace

void ToProto(const FunctionCall& call, v1::FunctionCall* message) {
  message->set_function(call.function);
  message->set_version(call.version);
  message->set_column(call.column);
  for (const FunctionValue& one : call.arguments) {
    std::visit(ValueEncoder{message->add_arguments()}, one);
  }
}

absl::StatusOr<FunctionCall> FromProto(const v1::FunctionCall& message) {
  FunctionCall call{.function = message.function(),
                    .version = message.version(),
                    .column = message.column()};
  for (const v1::FunctionValue& one : message.arguments()) {
    SERAPH_ASSIGN_OR_RETURN(FunctionValue value, ValueFromProto(one));
    call.arguments.push_back(std::move(value));
  }
  return call;
}

void ToProto(const PartialResult& result, v1::PartialResult* message) {
  for (const BlockSum& block : result.sums) {
    message->add_blocks(block.block);
    message->add_sums(block.sum);
  }
  message->set_count(result.count);
  for (const KeyedValue& row : result.rows) {
    message->add_keys(row.key);
    message->add_row_values(row.value);
  }
  for (const FunctionValue& one : result.values) {
    std::visit(ValueEncoder{message->add_values()}, one);
  }
}

absl::StatusOr<PartialResult> FromProto(const v1::PartialResult& message) {
  if (message.blocks_size() != message.sums_size() ||
      message.keys_size() != message.row_values_size()) {
    return absl::InvalidArgumentError(
        "a function's result has lists of different lengths");
  }
  PartialResult result{.count = message.count()};
  for (int i = 0; i < message.blocks_size(); ++i) {
    result.sums.push_back({message.blocks(i), message.sums(i)});
  }
  for (int i = 0; i < message.keys_size(); ++i) {
    result.rows.push_back({message.keys(i), message.row_values(i)});
  }
  for (const v1::FunctionValue& one : message.values()) {
    SERAPH_ASSIGN_OR_RETURN(FunctionValue value, ValueFromProto(one));
    result.values.push_back(std::move(value));
  }
  return result;
}

v1::CombineRule ToProto(CombineRule rule) {
  switch (rule) {
    case CombineRule::kNothing:
      return v1::COMBINE_NOTHING;
    case CombineRule::kSum:
      return v1::COMBINE_SUM;
    case CombineRule::kRoot:
      return v1::COMBINE_ROOT;
    case CombineRule::kCount:
      return v1::COMBINE_COUNT;
    case CombineRule::kLeast:
      return v1::COMBINE_LEAST;
    case CombineRule::kLargest:
      return v1::COMBINE_LARGEST;
    case CombineRule::kList:
      return v1::COMBINE_LIST;
  }
  return v1::COMBINE_NOTHING;
}

absl::StatusOr<CombineRule> FromProto(v1::CombineRule rule) {
  switch (rule) {
    case v1::COMBINE_NOTHING:
      return CombineRule::kNothing;
    case v1::COMBINE_SUM:
      return CombineRule::kSum;
    case v1::COMBINE_ROOT:
      return CombineRule::kRoot;
    case v1::COMBINE_COUNT:
      return CombineRule::kCount;
    case v1::COMBINE_LEAST:
      return CombineRule::kLeast;
    case v1::COMBINE_LARGEST:
      return CombineRule::kLargest;
    case v1::COMBINE_LIST:
      return CombineRule::kList;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a rule to combine results that is not known: ",
                       static_cast<int>(rule)));
  }
}

}  // namespace seraph
