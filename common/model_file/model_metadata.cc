#include "common/model_file/model_metadata.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "nlohmann/json.hpp"

namespace seraph {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(absl::string_view text) { return std::string(text); }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

// Reads the values of one JSON object. The first thing that is wrong is kept as
// the error and leaves the rest as it is.
class Fields {
 public:
  Fields(const Json& object, std::string path, absl::Status* status)
      : object_(object), path_(std::move(path)), status_(*status) {
    if (!object_.is_object()) Fail("", "is no object");
  }

  Fields Object(const std::string& key) const {
    static const Json* const kNothing = new Json(Json::object());
    const Json* value = Find(key);
    return Fields(value == nullptr ? *kNothing : *value, Path(key), &status_);
  }

  void Get(const std::string& key, std::string* to) const {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return Fail(key, "is no text");
    *to = value->get<std::string>();
  }

  void Get(const std::string& key, double* to) const {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_number()) return Fail(key, "is no number");
    *to = value->get<double>();
  }

  void Get(const std::string& key, int64_t* to) const {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_number_integer()) return Fail(key, "is no whole number");
    *to = value->get<int64_t>();
  }

  void Get(const std::string& key, uint64_t* to) const {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return Fail(key, "is no whole number");
    *to = value->get<uint64_t>();
  }

  void Get(const std::string& key, uint32_t* to) const {
    uint64_t wide = *to;
    Get(key, &wide);
    if (wide > UINT32_MAX) return Fail(key, "is too large");
    *to = static_cast<uint32_t>(wide);
  }

  void Get(const std::string& key, std::vector<std::string>* to) const {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return Fail(key, "is no list");
    to->clear();
    for (const Json& element : *value) {
      if (!element.is_string()) return Fail(key, "is no list of texts");
      to->push_back(element.get<std::string>());
    }
  }

  // null: unset.
  template <typename T>
  void Get(const std::string& key, std::optional<T>* to) const {
    const Json* value = Find(key);
    if (value == nullptr) return;
    to->reset();
    if (value->is_null()) return;
    T inner{};
    Get(key, &inner);
    *to = inner;
  }

  // A name of an enumeration; `parse` gives nullopt for one it does not know.
  template <typename E, typename Parse>
  void GetName(const std::string& key, Parse parse, E* to) const {
    std::string name;
    Get(key, &name);
    if (!status_.ok()) return;
    const std::optional<E> value = parse(name);
    if (!value.has_value()) {
      return Fail(key, absl::StrCat("is '", name, "', which is not known"));
    }
    *to = *value;
  }

 private:
  std::string Path(const std::string& key) const {
    return path_.empty() ? key
           : key.empty() ? path_
                         : absl::StrCat(path_, ".", key);
  }

  const Json* Find(const std::string& key) const {
    if (!status_.ok()) return nullptr;
    const auto it = object_.find(key);
    if (it != object_.end()) return &*it;
    Fail(key, "is missing");
    return nullptr;
  }

  void Fail(const std::string& key, absl::string_view what) const {
    if (!status_.ok()) return;
    const std::string path = Path(key);
    status_ = absl::InvalidArgumentError(
        absl::StrCat("the model's metadata", path.empty() ? "" : ": '", path,
                     path.empty() ? " " : "' ", what));
  }

  const Json& object_;
  const std::string path_;
  absl::Status& status_;
};

Json ModelToJson(const ModelSpec& model) {
  return {{"kind", Text(ModelKindName(model.kind))},
          {"keys", OrNull(model.keys)},
          {"bias", Text(BiasKindName(model.bias))},
          {"classes", OrNull(model.classes)},
          {"loss", Text(LossKindName(LossOf(model)))},
          {"huber_delta", model.huber_delta}};
}

void ReadModel(const Fields& from, ModelSpec* to) {
  from.GetName("kind", ParseModelKind, &to->kind);
  from.Get("keys", &to->keys);
  from.GetName("bias", ParseBiasKind, &to->bias);
  from.Get("classes", &to->classes);
  LossKind loss{};
  from.GetName("loss", ParseLossKind, &loss);
  to->loss = loss;
  from.Get("huber_delta", &to->huber_delta);
}

constexpr std::pair<TaskKind, absl::string_view> kTasks[] = {
    {TaskKind::kRegression, "regression"},
    {TaskKind::kBinary, "binary"},
    {TaskKind::kMulticlass, "multiclass"}};

std::optional<TaskKind> ParseTask(absl::string_view name) {
  for (const auto& [task, candidate] : kTasks) {
    if (candidate == name) return task;
  }
  return std::nullopt;
}

Json LabelsToJson(const LabelMap& labels) {
  return {{"task", Text(kTasks[static_cast<int>(labels.task)].second)},
          {"negative", labels.negative},
          {"positive", labels.positive},
          {"first_class", labels.first_class},
          {"classes", labels.classes},
          {"texts", labels.texts}};
}

void ReadLabels(const Fields& from, LabelMap* to) {
  from.GetName("task", ParseTask, &to->task);
  from.Get("negative", &to->negative);
  from.Get("positive", &to->positive);
  from.Get("first_class", &to->first_class);
  from.Get("classes", &to->classes);
  from.Get("texts", &to->texts);
}

Json OptionsToJson(const DataOptions& options) {
  return {{"index_base", OrNull(options.index_base)},
          {"label_column", options.label_column},
          {"delimiter", std::string(1, options.delimiter)},
          {"header", Text(CsvHeaderName(options.header))},
          {"skip_lines", options.skip_lines},
          {"columns", options.columns},
          {"categorical", options.categorical},
          {"hash_bits", options.hash_bits},
          {"missing", options.missing},
          {"scale", options.scale}};
}

void ReadOptions(const Fields& from, DataOptions* to) {
  from.Get("index_base", &to->index_base);
  from.Get("label_column", &to->label_column);
  from.GetName("delimiter", DelimiterFromName, &to->delimiter);
  from.GetName("header", CsvHeaderFromName, &to->header);
  from.Get("skip_lines", &to->skip_lines);
  from.Get("columns", &to->columns);
  from.Get("categorical", &to->categorical);
  from.Get("hash_bits", &to->hash_bits);
  from.Get("missing", &to->missing);
  from.Get("scale", &to->scale);
}

absl::Status Validate(const ModelMetadata& metadata) {
  SERAPH_RETURN_IF_ERROR(ValidateModelSpec(metadata.model));
  SERAPH_RETURN_IF_ERROR(metadata.data_options.Validate());
  if (metadata.model.kind == ModelKind::kSoftmax &&
      !metadata.model.classes.has_value()) {
    return absl::InvalidArgumentError(
        "the model's metadata: 'model.classes' is missing");
  }
  if (metadata.labels.task != TaskOf(metadata.model.kind)) {
    return absl::InvalidArgumentError(
        "the model's metadata: 'labels.task' is not that of 'model.kind'");
  }
  return absl::OkStatus();
}

}  // namespace

std::string ModelMetadataToJson(const ModelMetadata& metadata) {
  const Json json = {
      {"seraph", metadata.seraph_version},
      {"job", {{"id", metadata.job_id}, {"name", metadata.job_name}}},
      {"model", ModelToJson(metadata.model)},
      {"labels", LabelsToJson(metadata.labels)},
      {"data",
       {{"format", Text(DataFormatName(metadata.data_format))},
        {"options", OptionsToJson(metadata.data_options)}}}};
  // Bytes that are no UTF-8 must not end the job that has them in an option.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<ModelMetadata> ModelMetadataFromJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError("the model's metadata is no JSON");
  }
  absl::Status status;
  ModelMetadata metadata;
  const Fields fields(json, "", &status);
  fields.Get("seraph", &metadata.seraph_version);
  const Fields job = fields.Object("job");
  job.Get("id", &metadata.job_id);
  job.Get("name", &metadata.job_name);
  ReadModel(fields.Object("model"), &metadata.model);
  ReadLabels(fields.Object("labels"), &metadata.labels);
  const Fields data = fields.Object("data");
  data.GetName("format", DataFormatFromName, &metadata.data_format);
  ReadOptions(data.Object("options"), &metadata.data_options);
  SERAPH_RETURN_IF_ERROR(status);
  SERAPH_RETURN_IF_ERROR(Validate(metadata));
  return metadata;
}

}  // namespace seraph
