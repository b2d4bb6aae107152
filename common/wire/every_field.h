// For round-trip tests: whether a message has a value in every field, so that
// a field that a codec forgets is noticed when it is added.
#ifndef SERAPH_COMMON_WIRE_EVERY_FIELD_H_
#define SERAPH_COMMON_WIRE_EVERY_FIELD_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace seraph::testing {

// The names of the fields of `message`, and of the messages in it, that have
// their default value.
inline std::vector<std::string> UnsetFields(
    const google::protobuf::Message& message) {
  std::vector<std::string> unset;
  const google::protobuf::Descriptor* descriptor = message.GetDescriptor();
  const google::protobuf::Reflection* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = descriptor->field(i);
    const bool is_message =
        field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated()) {
      const int size = reflection->FieldSize(message, field);
      if (size == 0) unset.push_back(field->full_name());
      if (is_message && size > 0) {
        const auto inner =
            UnsetFields(reflection->GetRepeatedMessage(message, field, 0));
        unset.insert(unset.end(), inner.begin(), inner.end());
      }
      continue;
    }
    if (!reflection->HasField(message, field)) {
      unset.push_back(field->full_name());
    } else if (is_message) {
      const auto inner = UnsetFields(reflection->GetMessage(message, field));
      unset.insert(unset.end(), inner.begin(), inner.end());
    }
  }
  return unset;
}

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_WIRE_EVERY_FIELD_H_
