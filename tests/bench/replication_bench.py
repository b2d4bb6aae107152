#!/usr/bin/env python3
"""What copies, checkpoints and failovers cost, as ratios in one run.

  bazel build //scheduler:seraph-scheduler //server:seraph-server \\
    //worker:seraph-worker //client:seraphctl //tests/bench:push_load
  python3 tests/bench/replication_bench.py [--rounds 15]

Three servers on this machine, an asp job for each number of copies, and four
ranks that push as fast as they are answered into rows that exist. The numbers
of copies take turns in short rounds, and medians count, because machines are
noisy. Beside the throughput by the clock on the wall it prints the one by
processor time, of all servers and the load together, which depends little on
who else uses the machine: what the throughput would be if the load kept
all processors busy. Prints a table, or one JSON object with --json.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
for folder in ("tests/faults", "tests/cluster"):
    sys.path.insert(0, os.path.join(ROOT, folder))
os.chdir(os.path.join(ROOT, "bazel-bin"))  # Where they look for the programs.
from faults import FaultCluster  # noqa: E402

PUSH_LOAD = os.path.abspath("tests/bench/push_load")
PARTITIONS = 6
SERVERS = 3
CLIENTS = 4
LEASE_MS = 2000
SETS = ("scheduler.heartbeat_interval=200ms",
        f"scheduler.heartbeat_timeout={LEASE_MS}ms",
        "log.level=info")
attempts = iter(range(1000, 1000000))  # Above those that the scheduler gives.


def submit(cluster, folder, name, replicas):
    """A job that only holds the tables: the load takes its ranks over."""
    data = os.path.join(folder, "train.txt")
    if not os.path.exists(data):
        with open(data, "w", encoding="utf-8") as file:
            file.write("".join(f"0 {1 + i % 50}:1\n" for i in range(64)))
    path = os.path.join(folder, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({
            "name": name, "ranks": CLIENTS,
            "model": {"kind": "linear_regression", "bias": "none"},
            "data": {"format": "libsvm", "train": ["train.txt"]},
            "train": {"epochs": 1000000, "batch_size": 64,
                      "optimizer": {"kind": "sum"}},
            "sync": {"mode": "asp"},
            "tables": {"partitions": PARTITIONS, "replicas": replicas},
            "output": {"directory": f"out-{name}"}}, file)
    result = cluster.call("submit", path, "-o", "json")
    assert result.code == 0, result.stderr
    job = result.json.get("id") or result.json["job"]["id"]
    while cluster.call("job", job, "-o", "json").json["job"][
            "phase"] != "training":
        time.sleep(0.05)
    return job


def load(cluster, job, *flags, **options):
    """The report of one run of the load."""
    values = {"scheduler": cluster.scheduler, "job": job,
              "partitions": PARTITIONS, "clients": CLIENTS,
              "attempt": next(attempts), **options}
    command = [PUSH_LOAD, *flags,
               *(f"--{name}={value}" for name, value in values.items())]
    before = server_seconds(cluster)
    process = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    report = json.loads(process.stdout)
    report["server_seconds"] = server_seconds(cluster) - before
    return report


def server_seconds(cluster):
    """Processor time of all servers that run."""
    seconds = 0
    for name, process in cluster.daemons.items():
        if not name.startswith("server") or process.poll() is not None:
            continue
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf(
            "SC_CLK_TCK")
    return seconds


def measure_copies(cluster, jobs, options):
    """By copies: throughput, and processor time of servers and of the load."""
    rounds = {replicas: [] for replicas in jobs}
    for number in range(options.rounds):
        turn = list(jobs)
        for replicas in turn[number % 3:] + turn[:number % 3]:
            report = load(cluster, jobs[replicas], seconds=options.seconds,
                          keys=options.keys, span=options.span,
                          replicas=replicas)
            if report["replicas"] < replicas:
                print("a copy was lost: a round does not count",
                      file=sys.stderr)
                continue
            rounds[replicas].append(report)
    result = {}
    for replicas, reports in rounds.items():
        result[replicas] = {
            "rounds": len(reports),
            "keys_per_second": statistics.median(
                report["keys_per_second"] for report in reports),
            "server_ns_per_key": statistics.median(
                1e9 * report["server_seconds"] / report["keys"]
                for report in reports),
            "client_ns_per_key": statistics.median(
                1e9 * report["cpu_seconds"] / report["keys"]
                for report in reports)}
    base = result[1]
    for one in result.values():
        one["throughput_ratio"] = one["keys_per_second"] / base[
            "keys_per_second"]
        one["processor_ratio"] = (
            (base["server_ns_per_key"] + base["client_ns_per_key"]) /
            (one["server_ns_per_key"] + one["client_ns_per_key"]))
    return result


def measure_checkpoints(cluster, job, replicas, options):
    servers = ",".join(str(process.pid)
                       for name, process in cluster.daemons.items()
                       if name.startswith("server"))
    report = load(cluster, job, "--checkpoints", replicas=replicas,
                  servers=servers,
                  seconds=options.checkpoint_seconds, keys=options.keys,
                  span=options.large_span)
    made = report["checkpoints"]
    assert made, "no checkpoint was made between two times without one"
    median = {name: statistics.median(one[name] for one in made)
              for name in made[0]}
    return {"checkpoints": len(made), "throughput_ratio": median["ratio"],
            "processor_ratio": median["processor_ratio"],
            "seconds": median["seconds"],
            "standstill_leases": median["gap_ms"] / LEASE_MS,
            "longest_standstill_leases": max(
                one["gap_ms"] for one in made) / LEASE_MS,
            "without_leases": median["gap_without_ms"] / LEASE_MS}


def measure_failovers(cluster, job, options):
    """Kills one server after the other under load."""
    gaps = []
    for number in range(options.failovers):
        name = f"server-{number % SERVERS}"
        report = load(cluster, job, replicas=2, keys=options.keys,
                      span=options.span, seconds=4 * LEASE_MS / 1000,
                      kill=cluster.daemons[name].pid)
        cluster.daemons[name].wait()
        gaps.append(report["partition_gap_ms"] / LEASE_MS)
        cluster.restart(name)
    return {"failovers": len(gaps), "standstill_leases":
            statistics.median(gaps), "longest_standstill_leases": max(gaps)}


def measure(cluster, folder, options):
    jobs = {r: submit(cluster, folder, f"copies-{r}", r) for r in (1, 2, 3)}
    large = {r: submit(cluster, folder, f"large-{r}", r)
             for r in (1, 2)} if options.checkpoint_seconds else {}
    for job in jobs.values():
        load(cluster, job, "--fill", span=options.span)
    for job in large.values():
        load(cluster, job, "--fill", span=options.large_span)
    result = {"lease_ms": LEASE_MS, "options": vars(options)}
    if options.rounds:
        result["copies"] = measure_copies(cluster, jobs, options)
    if large:
        result["checkpoint"] = {
            r: measure_checkpoints(cluster, job, r, options)
            for r, job in large.items()}
        for job in large.values():
            cluster.call("cancel", job)
    if options.failovers:
        cluster.call("cancel", jobs[1])  # It would go back.
        result["failover"] = measure_failovers(cluster, jobs[2], options)
    return result


def print_table(result):
    if "copies" in result:
        print("copies   M keys/s   of one copy   by processor time   "
              "ns of servers and load a key")
    for replicas, one in result.get("copies", {}).items():
        print(f"{replicas:6}   {one['keys_per_second'] / 1e6:8.2f}   "
              f"{one['throughput_ratio']:11.2f}   "
              f"{one['processor_ratio']:17.2f}   "
              f"{one['server_ns_per_key']:.0f} + "
              f"{one['client_ns_per_key']:.0f}")
    for replicas, one in result.get("checkpoint", {}).items():
        print(f"while a checkpoint is made of {replicas} copies "
              f"({one['checkpoints']}, {one['seconds']:.2f} s each): "
              f"{one['throughput_ratio']:.2f} of the throughput, "
              f"{one['processor_ratio']:.2f} by processor time; a partition "
              f"stands still for {one['standstill_leases']:.3f} leases, at "
              f"most {one['longest_standstill_leases']:.3f} "
              f"({one['without_leases']:.3f} without)")
    if "failover" in result:
        one = result["failover"]
        print(f"failover ({one['failovers']}): a partition stands still for "
              f"{one['standstill_leases']:.2f} leases, at most "
              f"{one['longest_standstill_leases']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--keys", type=int, default=20000,
                        help="of an entry")
    parser.add_argument("--span", type=int, default=1 << 18,
                        help="keys of a partition, 1.5 M in all")
    parser.add_argument("--large-span", type=int, default=1 << 20,
                        help="the same where checkpoints are made")
    parser.add_argument("--checkpoint-seconds", type=float, default=20,
                        help="0: no checkpoints")
    parser.add_argument("--checkpoint-rate", default="",
                        help="server.checkpoint_rate, if not its default")
    parser.add_argument("--failovers", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    sets = SETS
    if options.checkpoint_rate:
        sets += (f"server.checkpoint_rate={options.checkpoint_rate}",)
    with tempfile.TemporaryDirectory(prefix="seraph-bench-") as folder:
        with FaultCluster(folder, servers=SERVERS, workers=1,
                          sets=sets) as cluster:
            try:
                result = measure(cluster, folder, options)
            finally:  # Not in good order: that would move all copies first.
                for name in list(cluster.daemons):
                    cluster.kill(name)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
