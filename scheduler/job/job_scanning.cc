// The scanning phase of JobMachine: from the files to the plan.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/dataset/rank_plan.h"
#include "scheduler/job/fact_decision.h"
#include "scheduler/job/job_machine.h"

namespace seraph {
namespace {

std::vector<InputFile> Plain(const std::vector<ResolvedFile>& files) {
  std::vector<InputFile> plain;
  for (const ResolvedFile& file : files) plain.push_back(file.file);
  return plain;
}

uint64_t StoredBytes(const std::vector<ResolvedFile>& files) {
  uint64_t bytes = 0;
  for (const ResolvedFile& file : files) bytes += file.file.data.size_bytes;
  return bytes;
}

}  // namespace

void JobMachine::BeginScanning(Moment now, Orders* out) {
  Enter(JobPhase::kScanning);
  ResolveFiles order{request_, std::nullopt};
  if (request_->spec.checkpoint.has_value()) {
    order.checkpoints = FolderProof{
        CheckpointPath(request_->spec, request_->base_directory, "", ref_.id),
        kFolderToken};
  }
  book_->Send(std::nullopt, std::move(order), now, out);
}

void JobMachine::OnResolved(const ResolvedFiles& files, Moment now,
                            Orders* out) {
  output_proven_ = true;
  files_ = files;
  const JobSpec& spec = request_->spec;
  const auto job_yaml = std::make_shared<const std::string>(ToYaml(spec));
  std::vector<ScanPiece> pieces;
  for (const bool validation : {false, true}) {
    const std::vector<ResolvedFile>& part =
        validation ? files_.validation : files_.train;
    const uint64_t block_bytes = BlockBytes(StoredBytes(part), spec.ranks,
                                            spec.data.options.block_bytes);
    for (ScanPiece& piece : CutIntoPieces(part, validation, block_bytes,
                                          options_.scan_piece_bytes)) {
      piece.job_yaml = job_yaml;
      pieces.push_back(std::move(piece));
    }
  }
  Log(absl::StrCat("reading ", files_.train.size(), " training and ",
                   files_.validation.size(), " validation files, ",
                   StoredBytes(files_.train) + StoredBytes(files_.validation),
                   " bytes"),
      now, out);
  scan_.emplace(std::move(pieces), roster_.Workers(), options_.scans_in_flight);
  Changed();
  SendScans(now, out);
}

void JobMachine::SendScans(Moment now, Orders* out) {
  while (std::optional<ScanSchedule::Next> next = scan_->TakeNext()) {
    Send(next->worker, std::move(next->piece), now, out);
  }
}

void JobMachine::OnScanned(const Order& order, DatasetFacts facts, Moment now,
                           Orders* out) {
  scan_->Finish(std::get<ScanPiece>(order.body), *order.to, std::move(facts));
  view_.phase_fraction = scan_->fraction();
  Changed();
  SendScans(now, out);
  if (scan_->done()) DecidePlan(now, out);
}

void JobMachine::DecidePlan(Moment now, Orders* out) {
  absl::StatusOr<JobPlan> decided = DecideFacts(
      ref_, *request_, options_.default_partitions,
      {Plain(files_.train), scan_->TakeParts(false), Plain(files_.validation),
       scan_->TakeParts(true), files_.init});
  scan_.reset();
  const std::vector<std::string> file_warnings = std::move(files_.warnings);
  files_ = ResolvedFiles();
  if (!decided.ok()) return Fail(decided.status().message(), now, out);
  decided->lease = options_.lease;
  decided_plan_ = std::make_shared<const JobPlan>(*std::move(decided));

  view_.records_read = TrainRecords(decided_plan_->train);
  view_.records_bad = BadRecords(decided_plan_->train);
  view_.epoch_examples_total = view_.records_read;
  view_.warnings = file_warnings;
  for (std::string& warning : DataWarnings(*decided_plan_)) {
    view_.warnings.push_back(std::move(warning));
  }
  Log(absl::StrCat("read ", view_.records_read, " records, ", view_.records_bad,
                   " bad; an epoch has ", decided_plan_->steps_per_epoch,
                   " steps"),
      now, out);
  for (const std::string& warning : view_.warnings) {
    Log(absl::StrCat("warning: ", warning), now, out);
  }
  Place(now, out);
}

}  // namespace seraph
