#include "common/model_file/loaded_model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/status/status_macros.h"

namespace seraph {

size_t LoadedTable::Gather(absl::Span<const Key> wanted,
                           absl::Span<float> to) const {
  const size_t width = header.width;
  size_t found = 0;
  auto from = keys.begin();
  for (size_t i = 0; i < wanted.size(); ++i) {
    from = std::lower_bound(from, keys.end(), wanted[i]);
    float* row = to.data() + i * width;
    if (from == keys.end() || *from != wanted[i]) {
      std::fill_n(row, width, 0.0f);
      continue;
    }
    std::copy_n(values.data() + (from - keys.begin()) * width, width, row);
    ++found;
  }
  return found;
}

const LoadedTable* LoadedModel::FindTable(absl::string_view name) const {
  for (const LoadedTable& table : tables) {
    if (table.header.name == name) return &table;
  }
  return nullptr;
}

absl::StatusOr<LoadedTable> LoadTable(const ModelTableHeader& header,
                                      ModelFileReader* reader) {
  LoadedTable table;
  table.header = header;
  std::vector<Key> keys;
  std::vector<float> values;
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const bool more, reader->NextRows(&keys, &values));
    if (!more) return table;
    table.keys.insert(table.keys.end(), keys.begin(), keys.end());
    table.values.insert(table.values.end(), values.begin(), values.end());
  }
}

absl::StatusOr<LoadedModel> LoadModel(const std::string& path) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<ModelFileReader> reader,
                          ModelFileReader::Open(path));
  LoadedModel model;
  model.metadata = reader->metadata();
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const std::optional<ModelTableHeader> header,
                            reader->NextTable());
    if (!header.has_value()) break;
    SERAPH_ASSIGN_OR_RETURN(LoadedTable table,
                            LoadTable(*header, reader.get()));
    model.tables.push_back(std::move(table));
  }
  model.digest = reader->footer().digest;
  return model;
}

}  // namespace seraph
