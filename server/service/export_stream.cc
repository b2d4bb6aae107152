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
  state->actor->Run([state](Partition& partition) {
    const RowStore& store = partition.state().store();
    if (state->cursor == nullptr) state->cursor = store.Cursor();
    const size_t row_bytes = sizeof(Key) + store.width() * sizeof(float);
    std::vector<Key> keys;
    std::vector<float> values;
    state->cursor->Next(std::max<size_t>(1, kChunkBytes / row_bytes),
                        partition.state().sums(), &keys, &values);

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

void ExportStream::OnWriteDone(bool ok) {
  if (ok) {
    ReadChunk(state_);
  } else {
    FinishOnce(grpc::Status::CANCELLED);
  }
}

void ExportStream::OnCancel() { FinishOnce(grpc::Status::CANCELLED); }

void ExportStream::FinishOnce(grpc::Status status) {
  MutexLock lock(&state_->mu);
  if (std::exchange(state_->finished, true)) return;
  Finish(std::move(status));
}

void ExportStream::OnDone() {
  {
    MutexLock lock(&state_->mu);
    state_->stream = nullptr;
  }
  delete this;
}

}  // namespace seraph
