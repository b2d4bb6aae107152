#!/usr/bin/env python3
"""What copies, checkpoints and failovers cost, as ratios in one run.

  cd bazel-bin; python3 ../tests/bench/replication_bench.py [--rounds 3]

Three servers, one idle asp job for each number of copies, and clients that
push as fast as they are answered. The numbers of copies take turns, and the
median of the rounds counts, because machines are noisy. Prints a table, and
one JSON object with --json.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
for folder in ("tests/faults", "tests/cluster"):
    sys.path.insert(0, folder)
    sys.path.insert(0, os.path.join(os.path.dirname(
        os.path.abspath(__file__)), "..", "..", folder))
from cluster import call  # noqa: E402
from faults import FaultCluster  # noqa: E402

PUSH_LOAD = os.path.abspath("tests/bench/push_load")
PARTITIONS = 6


def submit(cluster, folder, replicas):
    """A job without a gradient: it only holds the tables."""
    data = os.path.join(folder, "train.txt")
    if not os.path.exists(data):
        with open(data, "w", encoding="utf-8") as file:
            file.write("".join(f"0 {1 + i % 50}:1\n" for i in range(64)))
    path = os.path.join(folder, f"job-{replicas}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({
            "name": f"copies-{replicas}",
            "model": {"kind": "linear_regression", "bias": "none"},
            "data": {"format": "libsvm", "train": ["train.txt"]},
            "train": {"epochs": 100000000, "batch_size": 64,
                      "optimizer": {"kind": "sum"}},
            "sync": {"mode": "asp"},
            "tables": {"partitions": PARTITIONS, "replicas": replicas},
            "checkpoint": {"directory": "ckpt", "every_epochs": 0},
            "output": {"directory": f"out-{replicas}"}}, file)
    result = cluster.call("submit", path, "-o", "json")
    assert result.code == 0, result.stderr
    job = result.json.get("id") or result.json["job"]["id"]
    while cluster.call("job", job, "-o", "json").json["job"][
            "phase"] != "training":
        time.sleep(0.05)
    return job


def load(cluster, job, options, seconds=None):
    process = subprocess.run(
        [PUSH_LOAD, f"--scheduler={cluster.scheduler}", f"--job={job}",
         f"--partitions={PARTITIONS}", f"--clients={options.clients}",
         f"--keys={options.keys}",
         f"--seconds={seconds or options.seconds}",
         f"--seed={time.monotonic_ns()}"],
        stdout=subprocess.PIPE, check=True)
    return json.loads(process.stdout)


def while_loaded(cluster, job, options, action, seconds):
    """The load's report, and what `action` did in the middle of it."""
    done = []

    def act():
        time.sleep(seconds / 3)
        done.append(action())
    thread = threading.Thread(target=act)
    thread.start()
    report = load(cluster, job, options, seconds)
    thread.join()
    return report, done[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--keys", type=int, default=20000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="seraph-bench-") as folder:
        rates = {1: [], 2: [], 3: []}
        with FaultCluster(folder, servers=3, workers=1) as cluster:
            jobs = {r: submit(cluster, folder, r) for r in rates}
            # Their ranks would compete for the processors. Without a worker
            # they wait, and the tables are there all the same.
            cluster.kill("worker-0")
            for job in jobs.values():  # Rows come into being only once.
                load(cluster, job, options)
            for _ in range(options.rounds):
                for replicas in rates:
                    rates[replicas].append(load(
                        cluster, jobs[replicas], options)["keys_per_second"])

            job = jobs[2]
            plain, checkpointed, pauses = [], [], []
            for _ in range(options.rounds):
                plain.append(load(cluster, job, options))
                report, code = while_loaded(
                    cluster, job, options,
                    lambda: cluster.call("checkpoint", job).code,
                    options.seconds)
                assert code == 0, "the checkpoint failed"
                checkpointed.append(report)
                pauses.append(report["longest_gap_ms"])
            failover, _ = while_loaded(
                cluster, job, options, lambda: cluster.kill("server-0"),
                3 * options.seconds)

    median = {r: statistics.median(values) for r, values in rates.items()}
    base = statistics.median(r["keys_per_second"] for r in plain)
    with_checkpoint = statistics.median(
        r["keys_per_second"] for r in checkpointed)
    result = {
        "keys_per_second": median,
        "ratio": {r: value / median[1] for r, value in median.items()},
        "checkpoint": {
            "throughput_ratio": with_checkpoint / base,
            "longest_gap_ms": statistics.median(pauses),
            "longest_gap_without_ms": statistics.median(
                r["longest_gap_ms"] for r in plain)},
        "failover": {"lease_ms": 1000,
                     "longest_gap_ms": failover["longest_gap_ms"],
                     "repeats": failover["repeats"]},
        "options": vars(options)}
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for replicas, value in median.items():
        print(f"replicas {replicas}: {value / 1e6:6.2f} M keys/s, "
              f"{value / median[1]:.2f} of one copy")
    print(f"while a checkpoint is made: {with_checkpoint / base:.2f} of the "
          f"throughput; longest standstill {result['checkpoint']['longest_gap_ms']:.0f} ms "
          f"({result['checkpoint']['longest_gap_without_ms']:.0f} ms without)")
    print(f"failover: {failover['longest_gap_ms']:.0f} ms with a lease of "
          f"1000 ms")


if __name__ == "__main__":
    main()
