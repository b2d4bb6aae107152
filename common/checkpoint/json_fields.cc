#include "common/checkpoint/json_fields.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {

JsonFields::JsonFields(const Json& object, std::string path,
                       absl::Status* status)
    : object_(object), path_(std::move(path)), status_(*status) {
  if (!object_.is_object()) Fail("", "is no object");
}

void JsonFields::Get(const std::string& key, std::string* to) {
  const Json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_string()) return Fail(key, "is no text");
  *to = value->get<std::string>();
}

void JsonFields::Get(const std::string& key, double* to) {
  const Json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_number()) return Fail(key, "is no number");
  *to = value->get<double>();
}

void JsonFields::Get(const std::string& key, bool* to) {
  const Json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) return Fail(key, "is neither true nor false");
  *to = value->get<bool>();
}

void JsonFields::Get(const std::string& key, uint64_t* to) {
  const Json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_number_unsigned()) return Fail(key, "is no whole number");
  *to = value->get<uint64_t>();
}

void JsonFields::Get(const std::string& key, uint32_t* to) {
  uint64_t wide = *to;
  Get(key, &wide);
  if (wide > std::numeric_limits<uint32_t>::max()) {
    return Fail(key, "is too large");
  }
  *to = static_cast<uint32_t>(wide);
}

void JsonFields::Object(const std::string& key,
                        const std::function<void(JsonFields& fields)>& read) {
  const Json* value = Find(key);
  if (value == nullptr) return;
  JsonFields fields(*value, PathOf(key), &status_);
  if (!ok()) return;
  read(fields);
  fields.Done();
}

void JsonFields::Objects(const std::string& key,
                         const std::function<void(JsonFields& fields)>& read) {
  const Json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_array()) return Fail(key, "is no list");
  size_t index = 0;
  for (const Json& element : *value) {
    JsonFields fields(element, absl::StrCat(PathOf(key), "[", index++, "]"),
                      &status_);
    if (!ok()) return;
    read(fields);
    fields.Done();
  }
}

void JsonFields::Done() {
  if (!ok()) return;
  for (const auto& [key, value] : object_.items()) {
    if (!asked_.contains(key)) return Fail(key, "is not known");
  }
}

void JsonFields::Fail(const std::string& key, absl::string_view what) {
  if (!ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat(PathOf(key), ": ", what));
}

const Json* JsonFields::Find(const std::string& key) {
  if (!ok()) return nullptr;
  asked_.insert(key);
  const auto it = object_.find(key);
  if (it != object_.end()) return &*it;
  Fail(key, "is missing");
  return nullptr;
}

bool JsonFields::Has(const std::string& key) const {
  return object_.contains(key);
}

std::string JsonFields::PathOf(const std::string& key) const {
  if (path_.empty()) return key.empty() ? "the document" : key;
  return key.empty() ? path_ : absl::StrCat(path_, ".", key);
}

}  // namespace seraph
