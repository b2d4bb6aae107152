#include "server/service/export_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace seraph {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

template <typename T>
void AppendBytes(const std::vector<T>& from, std::string* to) {
  to->append(reinterpret_cast<const char*>(from.data()),
             from.size() * sizeof(T));
}

}  // namespace

ExportStream::ExportStream(std::shared_ptr<const ServedJob> job,
                           PartitionActor* actor)
    : state_(std::make_shared<State>()) {
  state_->job = std::move(job);
  state_->actor = actor;
  {
    MutexLock lock(&state_->mu);
    state_->stream = this;
  }
  ReadChunk(state_);
}

void ExportStream::ReadChunk(const std::shared_ptr<State>& state) {
  state->actor->Run([state](Partition* partition) {
    // Another store would be that of a replica that went and came again.
    if (partition == nullptr || !partition->leads() ||
        (state->cursor != nullptr &&
         partition->state().store().layout() != state->layout)) {
      state->cursor = nullptr;
      End(state, grpc::Status(grpc::StatusCode::NOT_FOUND,
                              "the partition is not led here"));
      return;
    }
    const RowStore& store = partition->state().store();
    if (state->cursor == nullptr) {
      state->cursor = store.Cursor();
      state->layout = store.layout();
    }
    const size_t row_bytes = sizeof(Key) + store.width() * sizeof(float);
    std::vector<Key> keys;
    std::vector<float> values;
    state->cursor->Next(std::max<size_t>(1, kChunkBytes / row_bytes),
                        partition->state().sums(), &keys, &values);

    MutexLock lock(&state->mu);
    if (state->stream == nullptr || state->finished) return;
    if (keys.empty()) {
      state->finished = true;
      state->stream->Finish(grpc::Status::OK);
      return;
    }
    state->chunk.Clear();
    AppendBytes(keys, state->chunk.mutable_keys());
    AppendBytes(values, state->chunk.mutable_values());
    state->stream->StartWrite(&state->chunk);
  });
}

void ExportStream::End(const std::shared_ptr<State>& state,
                       const grpc::Status& status) {
  MutexLock lock(&state->mu);
  if (state->stream == nullptr || state->finished) return;
  state->finished = true;
  state->stream->Finish(status);
}

void ExportStream::OnWriteDone(bool ok) {
  if (ok) {
    ReadChunk(state_);
  } else {
    End(state_, grpc::Status::CANCELLED);
  }
}

void ExportStream::OnCancel() { End(state_, grpc::Status::CANCELLED); }

void ExportStream::OnDone() {
  {
    MutexLock lock(&state_->mu);
    state_->stream = nullptr;
  }
  delete this;
}

}  // namespace seraph
