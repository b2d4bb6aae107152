// Strict reading of a JSON object.
#ifndef SERAPH_COMMON_CHECKPOINT_JSON_FIELDS_H_
#define SERAPH_COMMON_CHECKPOINT_JSON_FIELDS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace seraph {

using Json = nlohmann::ordered_json;

// Every key that is asked for must be there and of its type; Done() refuses
// those that nobody asked for. The first thing that is wrong is kept as the
// error (InvalidArgument, naming the key: "tables[0].width"), and leaves what
// comes after it as it is.
class JsonFields {
 public:
  // `status` and `object` must outlive this. `path`: of the object, "" at the
  // top.
  JsonFields(const Json& object, std::string path, absl::Status* status);

  void Get(const std::string& key, std::string* to);
  void Get(const std::string& key, double* to);
  void Get(const std::string& key, bool* to);
  void Get(const std::string& key, uint64_t* to);
  void Get(const std::string& key, uint32_t* to);

  // Whether the key is there, for one that need not be.
  bool Has(const std::string& key) const;

  // Calls `read` with the object.
  void Object(const std::string& key,
              const std::function<void(JsonFields& fields)>& read);
  // Calls `read` for each element, an object.
  void Objects(const std::string& key,
               const std::function<void(JsonFields& fields)>& read);

  void Done();

  // The value of `key` is wrong: "tables[0].width: <what>".
  void Fail(const std::string& key, absl::string_view what);

  bool ok() const { return status_.ok(); }

 private:
  // Null, and an error, if it is missing; null after an error.
  const Json* Find(const std::string& key);
  std::string PathOf(const std::string& key) const;

  const Json& object_;
  const std::string path_;
  absl::Status& status_;
  std::set<std::string> asked_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_JSON_FIELDS_H_
