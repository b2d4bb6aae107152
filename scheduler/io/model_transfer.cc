#include "scheduler/io/model_transfer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_model.h"
#include "common/model_file/model_file_reader.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/version/version.h"

namespace seraph {
namespace {

// Of keys and values, in a message or a piece of a merge.
constexpr size_t kPieceBytes = size_t{1} << 20;

size_t RowsPerPiece(uint32_t width) {
  return std::max<size_t>(1,
                          kPieceBytes / (sizeof(Key) + width * sizeof(float)));
}

std::vector<PartitionPlacement> PartitionsOf(const JobPlan& plan,
                                             uint32_t table) {
  std::vector<PartitionPlacement> placements;
  for (const PartitionPlacement& placement : plan.partitions) {
    if (placement.table == table) placements.push_back(placement);
  }
  return placements;
}

absl::Status CopyRows(RowSource* source, ModelFileWriter* writer) {
  Rows rows;
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const bool more, source->Next(&rows));
    if (!more) return absl::OkStatus();
    SERAPH_RETURN_IF_ERROR(writer->AddRows(rows.keys, rows.values));
  }
}

// Rows on their way to the partitions of one table.
class Distributor {
 public:
  Distributor(const TableSpec& table,
              std::vector<PartitionPlacement> placements,
              PartitionRows* partitions)
      : table_(table),
        partitioning_(table),
        placements_(std::move(placements)),
        partitions_(*partitions),
        pending_(placements_.size()) {}

  absl::Status Add(const std::vector<Key>& keys,
                   const std::vector<float>& values) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const Key mixed = ToMixedKey(table_, keys[i]);
      const uint32_t partition = partitioning_.PartitionOf(mixed);
      Rows& rows = pending_[partition];
      rows.keys.push_back(keys[i]);
      const auto value = values.begin() + i * table_.width;
      rows.values.insert(rows.values.end(), value, value + table_.width);
      if (rows.keys.size() >= RowsPerPiece(table_.width)) {
        SERAPH_RETURN_IF_ERROR(Flush(partition));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FlushAll() {
    for (uint32_t partition = 0; partition < pending_.size(); ++partition) {
      SERAPH_RETURN_IF_ERROR(Flush(partition));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Flush(uint32_t partition) {
    Rows& rows = pending_[partition];
    if (rows.keys.empty()) return absl::OkStatus();
    SERAPH_RETURN_IF_ERROR(partitions_.Write(placements_[partition], rows));
    rows.keys.clear();
    rows.values.clear();
    return absl::OkStatus();
  }

  const TableSpec& table_;
  const Partitioning partitioning_;
  const std::vector<PartitionPlacement> placements_;  // By partition.
  PartitionRows& partitions_;
  std::vector<Rows> pending_;  // By partition.
};

absl::Status CheckTable(const ModelTableHeader& header, const TableSpec& table,
                        const std::string& path) {
  const auto describe = [](TableKind kind, uint64_t keys, uint32_t width) {
    return kind == TableKind::kDense
               ? absl::StrCat("dense with ", keys, " keys of width ", width)
               : absl::StrCat("sparse of width ", width);
  };
  if (header.kind == table.kind && header.width == table.width &&
      (header.kind == TableKind::kSparse || header.keys == table.keys)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": table '", header.name, "' is ",
      describe(header.kind, header.keys, header.width), ", that of the job ",
      describe(table.kind, table.keys, table.width),
      "; a job starts from a model of the same shape"));
}

// `model`: a ModelFileReader or CheckpointModel; `fraction` of it was read.
template <typename Model, typename Fraction>
absl::Status LoadRowsFrom(const JobPlan& plan, const std::string& path,
                          Model* model, const Fraction& fraction,
                          PartitionRows* partitions,
                          const TransferProgress& progress) {
  std::map<std::string, uint32_t> missing;
  for (uint32_t t = 0; t < plan.tables.size(); ++t) {
    missing[plan.tables[t].name] = t;
  }
  Rows rows;
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const std::optional<ModelTableHeader> header,
                            model->NextTable());
    if (!header.has_value()) break;
    const auto named = missing.extract(header->name);
    if (named.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": the job has no table '", header->name,
          "'; a job starts from a model of the same kind, bias included"));
    }
    const TableSpec& table = plan.tables[named.mapped()];
    SERAPH_RETURN_IF_ERROR(CheckTable(*header, table, path));
    Distributor distributor(table, PartitionsOf(plan, named.mapped()),
                            partitions);
    while (true) {
      SERAPH_ASSIGN_OR_RETURN(const bool more,
                              model->NextRows(&rows.keys, &rows.values));
      if (!more) break;
      SERAPH_RETURN_IF_ERROR(distributor.Add(rows.keys, rows.values));
      SERAPH_RETURN_IF_ERROR(progress(fraction()));
    }
    SERAPH_RETURN_IF_ERROR(distributor.FlushAll());
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": the model has no table '", missing.begin()->first,
        "'; a job starts from a model of the same kind, bias included"));
  }
  return absl::OkStatus();
}

}  // namespace

ModelMetadata MetadataOf(const JobPlan& plan) {
  ModelMetadata metadata;
  metadata.model = plan.spec.model;
  metadata.labels = plan.labels;
  metadata.data_format = plan.spec.data.format;
  metadata.data_options = plan.spec.data.options;
  metadata.job_id = plan.job.id;
  metadata.job_name = plan.spec.name;
  metadata.seraph_version = kVersion;
  return metadata;
}

absl::StatusOr<std::unique_ptr<ModelFileWriter>> ExportRows(
    const JobPlan& plan, const std::string& path, PartitionRows* partitions,
    const TransferProgress& progress) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<ModelFileWriter> writer,
                          ModelFileWriter::Create(path, MetadataOf(plan)));
  size_t done = 0;
  const auto advance = [&](size_t n) {
    done += n;
    return progress(static_cast<double>(done) / plan.partitions.size());
  };
  for (uint32_t t = 0; t < plan.tables.size(); ++t) {
    const TableSpec& table = plan.tables[t];
    SERAPH_RETURN_IF_ERROR(
        writer->BeginTable({table.name, table.kind, table.keys, table.width}));
    const std::vector<PartitionPlacement> placements = PartitionsOf(plan, t);
    // Ranges of mixed keys: unless they are mixed, the partitions follow each
    // other as their keys do.
    std::vector<std::unique_ptr<RowSource>> sources;
    for (const PartitionPlacement& placement : placements) {
      sources.push_back(partitions->Read(placement));
      if (table.scramble) continue;
      MergedRows rows(std::move(sources), table.width,
                      RowsPerPiece(table.width));
      sources.clear();
      SERAPH_RETURN_IF_ERROR(CopyRows(&rows, writer.get()));
      SERAPH_RETURN_IF_ERROR(advance(1));
    }
    if (table.scramble) {
      MergedRows rows(std::move(sources), table.width,
                      RowsPerPiece(table.width));
      SERAPH_RETURN_IF_ERROR(CopyRows(&rows, writer.get()));
      SERAPH_RETURN_IF_ERROR(advance(placements.size()));
    }
    SERAPH_RETURN_IF_ERROR(writer->EndTable());
  }
  return writer;
}

absl::Status LoadRows(const JobPlan& plan, const std::string& path,
                      PartitionRows* partitions,
                      const TransferProgress& progress) {
  if (CheckpointModel::IsCheckpoint(path)) {
    SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointModel> model,
                            CheckpointModel::Open(path));
    return LoadRowsFrom(
        plan, model->path(), model.get(), [&] { return model->fraction(); },
        partitions, progress);
  }
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<ModelFileReader> reader,
                          ModelFileReader::Open(path));
  const auto fraction = [&] {
    return static_cast<double>(reader->offset()) / reader->size();
  };
  return LoadRowsFrom(plan, path, reader.get(), fraction, partitions, progress);
}

}  // namespace seraph
