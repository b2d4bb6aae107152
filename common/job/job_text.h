// A small job file for tests, good as it stands.
#ifndef SERAPH_COMMON_JOB_JOB_TEXT_H_
#define SERAPH_COMMON_JOB_JOB_TEXT_H_

namespace seraph::testing {

// One section a line, so that a test can add lines and name places.
inline constexpr char kMinimalJob[] =
    "name: small\n"
    "model: {kind: logistic_regression}\n"
    "data: {format: libsvm, train: [train.svm]}\n";

// Every section but checkpoint, with values that are not the defaults.
inline constexpr char kFullJob[] = R"(# Clicks by hashed features.
name: clicks-2.0
seed: 18446744073709551615
ranks: 6
model:
  kind: linear_regression
  keys: 4096
  bias: regularized
  loss: huber
  huber_delta: 0.5
data:
  format: csv
  train: [data/day-*.csv, "data/last day.csv.zst"]
  validation_fraction: 0.05
  options:
    label_column: clicks
    delimiter: "\t"
    header: true
    skip_lines: 2
    columns: [age, 7, -1]
    categorical: [site]
    hash_bits: 11
    missing: ["", n/a]
    block_bytes: 1MiB
    group_bytes: 67108864
    max_record_bytes: 64KiB
  on_bad_record: skip
train:
  epochs: 3
  batch_size: 512
  shuffle: false
  optimizer:
    kind: adamw
    learning_rate: 2e-3
    beta1: 0.8
    beta2: 0.99
    epsilon: 1e-7
    weight_decay: 0.1
    l1: 1e-6
    l2: 1e-5
    clip_value: 3
    clip_norm: 10
  schedule: {kind: cosine, total_steps: 5000, min_factor: 0.1, warmup_steps: 100}
  on_non_finite: skip
  stall_timeout: 90s
  stop: {metric: rmse, patience: 4}
sync:
  mode: ssp
  staleness: 3
  combine: sum
  pipeline: 2
tables:
  partitions: 64
  replicas: 3
  min_in_sync: 2
  scramble: false
  admit_after: 1
  expire_after_epochs: 0
  transport: float32
checkpoint: {directory: ckpt, every_epochs: 2, every_clocks: 500, keep: 4}
init: {model: ../old/model}
output: {directory: /tmp/out dir}
)";

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_JOB_JOB_TEXT_H_
