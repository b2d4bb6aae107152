// Prints the documents of a YAML file as one JSON list, for the tests of this
// folder: Python's standard library reads JSON alone. Scalars stay as written,
// as texts.
#include <exception>
#include <iostream>

#include "nlohmann/json.hpp"
#include "yaml-cpp/yaml.h"

namespace {

nlohmann::json ToJson(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map: {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& member : node) {
        object[member.first.Scalar()] = ToJson(member.second);
      }
      return object;
    }
    case YAML::NodeType::Sequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const auto& element : node) list.push_back(ToJson(element));
      return list;
    }
    case YAML::NodeType::Scalar:
      return node.Scalar();
    default:
      return nullptr;
  }
}

}  // namespace

int main() {
  try {
    nlohmann::json documents = nlohmann::json::array();
    for (const YAML::Node& document : YAML::LoadAll(std::cin)) {
      documents.push_back(ToJson(document));
    }
    std::cout << documents.dump() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "yaml_to_json: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
