#!/usr/bin/env python3
"""The targets of the hot path, measured: docs/performance.md.

  bazel build //scheduler:seraph-scheduler //server:seraph-server \\
    //worker:seraph-worker //client:seraphctl
  python3 tests/bench/hotpath.py [--rounds 3] [--seconds 2] [--only REGEX]
    [--pslite SCRIPT]

Each row is one target. Measurements of a row take turns in short rounds, and
medians count, because machines are noisy; ratios are taken in each round.
Where two systems do the same, the ratio of their processor times a key (server
and client together) stands beside it: it says what a busy machine cannot.
Prints a table, or one JSON object with --json.

SCRIPT measures ps-lite, which this repository has no part in. It is called as

  SCRIPT push|pull sparse|dense KEYS WIDTH TABLE_KEYS IN_FLIGHT SECONDS
    [SERVERS [WORKERS]]

and prints one line of JSON with keys_per_second, bytes_per_second,
latency_us.p50, client_cpu_ns_per_key and server_cpu_ns_per_key: one scheduler, so many servers that apply what is pushed (an
unordered_map, or a vector) and workers as processes on loopback. Without it
the rows that need it have no verdict.
"""

import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SERAPHCTL = os.path.join(ROOT, "bazel-bin", "client", "seraphctl")
MILLION = 1_000_000


class Bench:
    """Runs of both, each remembered for the round."""

    def __init__(self, options):
        self.options = options
        self.known = {}

    def new_round(self):
        self.known = {}

    def run(self, command):
        if command not in self.known:
            process = subprocess.run(list(command), stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True,
                                     check=False, timeout=1800)
            if process.returncode != 0:
                print(" ".join(command), "failed:", process.stderr[-2000:],
                      file=sys.stderr)
                self.known[command] = None
            else:
                self.known[command] = json.loads(process.stdout)
        return self.known[command]

    def command(self, *arguments):
        command = [self.options.seraphctl, "bench", *map(str, arguments), "-o", "json"]
        if arguments[0] != "train":
            command += ["--seconds", str(self.options.seconds)]
        for one in self.options.cluster_set:
            command += ["--cluster-set", one]
        return tuple(command)

    def seraph(self, *arguments):
        """The report, or None."""
        return self.run(self.command(*arguments))

    def seraph_on_cores(self, servers, *arguments):
        """As seraph, each of so many servers on one core of its own."""
        command = self.command(*arguments, "--servers", servers)
        key = ("on cores", *command)
        if key not in self.known:
            self.known[key] = run_on_cores(command, servers)
        return self.known[key]

    def pslite(self, operation, table="sparse", keys=100_000, width=1,
               table_keys=MILLION, in_flight=4, servers=1, workers=1):
        if self.options.pslite is None:
            return None
        return self.run((self.options.pslite, operation, table, str(keys),
                         str(width), str(table_keys), str(in_flight),
                         str(self.options.seconds), str(servers),
                         str(workers)))


def run_on_cores(command, servers):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL) as process:
        pinned = []  # The measured servers are started first.
        while process.poll() is None:
            for pid in children(process.pid):
                if pid not in pinned and is_server(pid):
                    pin(pid, len(pinned) % servers)
                    pinned.append(pid)
            time.sleep(0.05)
        if process.returncode != 0:
            print(" ".join(command), "failed", file=sys.stderr)
            return None
        return json.loads(process.stdout.read())


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += file.read().split()
        except OSError:
            pass  # The thread has ended.
    return found


def is_server(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
            return comm.read() == "seraph-server\n"
    except OSError:
        return False


def pin(pid, core):
    for task in glob.glob(f"/proc/{pid}/task/*"):
        try:
            os.sched_setaffinity(int(os.path.basename(task)), {core})
        except ProcessLookupError:
            pass  # It has ended.


def rate(report):
    return report and report["keys_per_second"] / 1e6


def cpu(report):
    """Nanoseconds a key, of server and client."""
    if not report or report["server_cpu_ns_per_key"] is None:
        return None
    return report["server_cpu_ns_per_key"] + report["client_cpu_ns_per_key"]


def times(one, other):
    return one / other if one and other else None


class Row:
    """A target: what is measured, and the ratio that decides."""

    def __init__(self, name, unit, measure, want, at_most=False):
        self.name = name
        self.unit = unit
        # Bench -> (value, other, what other is, ratio[, of processor times]).
        self.measure = measure
        self.want = want
        self.at_most = at_most
        self.rounds = []

    def take(self, bench):
        self.rounds.append((*self.measure(bench), None)[:5])

    def median(self, index):
        values = [one[index] for one in self.rounds if one[index] is not None]
        return statistics.median(values) if values else None

    def result(self):
        ratio = self.median(3)
        if ratio is None:
            met = None
        else:
            met = ratio <= self.want if self.at_most else ratio >= self.want
        return {"name": self.name, "unit": self.unit, "value": self.median(0),
                "other": self.median(1), "other_is": self.rounds[0][2],
                "ratio": ratio, "processor_ratio": self.median(4),
                "want": self.want, "at_most": self.at_most,
                "met": met, "rounds": [one[3] for one in self.rounds]}


def against_pslite(name, want, operation, arguments=(), **other):
    def measure(bench):
        own = bench.seraph(operation, *arguments)
        theirs = bench.pslite(operation, **other)
        return (rate(own), rate(theirs), "ps-lite",
                times(rate(own), rate(theirs)), times(cpu(theirs), cpu(own)))
    return Row(f"{name} {operation}", "M keys/s", measure, want)


def large_table(operation, keys):
    name = f"sparse, {keys // MILLION} M keys, {operation}"

    def measure(bench):
        large = bench.seraph(operation, "--table-keys", keys)
        small = bench.seraph(operation)
        return (rate(large), rate(small), "its rate at 1 M",
                times(rate(large), rate(small)), times(cpu(small), cpu(large)))
    return Row(name, "M keys/s", measure, 0.7)


def server_time(operation, keys):
    def measure(bench):
        report = bench.seraph(operation, "--table-keys", keys)
        spent = report and report["server_cpu_ns_per_key"]
        return spent, None, "", times(spent, 1)
    # All of the server: its lookups and gathers are a part of it.
    return Row(f"sparse, {keys // MILLION} M keys, {operation}: server",
               "ns/key", measure, 45, at_most=True)


def one_key_latency(operation):
    def measure(bench):
        own = bench.seraph(operation, "--keys-per-request", 1, "--in-flight",
                           1)
        theirs = bench.pslite(operation, keys=1, in_flight=1)
        own = own and own["latency_us"]["p50"]
        theirs = theirs and theirs["latency_us"]["p50"]
        return own, theirs, "ps-lite", times(own, theirs)
    return Row(f"one key, alone, {operation}: p50", "us", measure, 0.7,
               at_most=True)


ONE_KEY_MANY = ("--keys-per-request", 1, "--in-flight", 64)


def one_key_rate(operation):
    def measure(bench):
        own = bench.seraph(operation, *ONE_KEY_MANY)
        theirs = bench.pslite(operation, keys=1, in_flight=64)
        processor = times(cpu(theirs), cpu(own))
        own = own and own["keys_per_second"] / 1e3
        theirs = theirs and theirs["keys_per_second"] / 1e3
        return own, theirs, "ps-lite", times(own, theirs), processor
    return Row(f"one key, 64 in flight, {operation}", "k/s", measure, 0.4)


def one_key_echo(operation):
    def measure(bench):
        own = bench.seraph(operation, *ONE_KEY_MANY)
        echo = own and own["baselines"]["echo_stream_messages_per_second"] / 1e3
        own_rate = own and own["keys_per_second"] / 1e3
        return own_rate, echo, "gRPC stream echo", times(own_rate, echo)
    return Row(f"one key, 64 in flight, {operation}", "k/s", measure, 0.8)


DENSE = ("--table", "dense", "--keys-per-request", MILLION)


def dense_tcp(operation):
    def measure(bench):
        own = bench.seraph(operation, *DENSE, "--transport", "tcp")
        bare = own and own["baselines"]["tcp_bytes_per_second"] / 1e9
        own_rate = own and own["bytes_per_second"] / 1e9
        return own_rate, bare, "bare TCP", times(own_rate, bare)
    return Row(f"dense 1 M, {operation}, TCP", "GB/s", measure, 0.5)


def dense_near(operation):
    def measure(bench):
        own = bench.seraph(operation, *DENSE)
        theirs = bench.pslite(operation, table="dense", keys=MILLION)
        processor = times(cpu(theirs), cpu(own))
        own = own and own["bytes_per_second"] / 1e9
        theirs = theirs and theirs["bytes_per_second"] / 1e9
        return own, theirs, "ps-lite", times(own, theirs), processor
    return Row(f"dense 1 M, {operation}, one host", "GB/s", measure, 1.3)


def two_servers(operation):
    def measure(bench):
        two = bench.seraph(operation, "--clients", 2, "--servers", 2)
        one = bench.seraph(operation, "--clients", 2)
        return (rate(two), rate(one), "one server", times(rate(two), rate(one)),
                times(cpu(one), cpu(two)))
    return Row(f"sparse, 2 servers, 2 clients, {operation}", "M keys/s",
               measure, 1.5)


def two_servers_on_cores(operation):
    def measure(bench):
        two = bench.seraph_on_cores(2, operation, "--clients", 2)
        one = bench.seraph_on_cores(1, operation, "--clients", 2)
        return (rate(two), rate(one), "one such", times(rate(two), rate(one)),
                None)
    return Row(f"the same, each server on one core, {operation}", "M keys/s",
               measure, 1.5)


def training():
    def measure(bench):
        report = bench.seraph("train")
        if not report:
            return None, None, "local tables", None
        own = report["examples_per_second"] / 1e3
        local = report["baselines"]["local_examples_per_second"] / 1e3
        return (own, local, "local tables", times(own, local),
                times(report["baselines"]["local_cpu_us_per_example"],
                      report["cpu_us_per_example"]))
    return Row("logistic regression, 2 ranks", "k examples/s", measure, 0.5)


def memory():
    def measure(bench):
        report = bench.seraph("push", "--table-keys", 20 * MILLION,
                              "--optimizer", "adagrad", "--settle", 5)
        own = report and report["server_bytes_per_key"]
        least = 8 + 4 + 4
        return own, least, "key, weight, slot", times(own, least)
    return Row("memory of 20 M keys, adagrad", "bytes/key", measure, 1.35,
               at_most=True)


def rows():
    both = ("push", "pull")
    for operation in both:
        yield against_pslite("sparse", 1.5, operation)
    for operation in both:
        yield against_pslite("sparse, the same keys again,", 3, operation,
                             ("--repeat-keys",))
    for keys in (10 * MILLION, 50 * MILLION):
        for operation in both:
            yield large_table(operation, keys)
            yield server_time(operation, keys)
    for operation in both:
        yield against_pslite("sparse, width 16,", 2, operation,
                             ("--width", 16), width=16)
    for optimizer in ("adagrad", "ftrl"):
        for width in (1, 16):
            yield against_pslite(
                f"{optimizer}, width {width},", 1, "push",
                ("--optimizer", optimizer, "--width", width), width=width)
    for operation in both:
        yield against_pslite("1 k keys,", 1.2, operation,
                             ("--keys-per-request", 1000), keys=1000)
    for operation in both:
        yield one_key_latency(operation)
        yield one_key_rate(operation)
        yield one_key_echo(operation)
    for operation in both:
        yield dense_tcp(operation)
        yield dense_near(operation)
    for operation in both:
        yield two_servers(operation)
        yield two_servers_on_cores(operation)
    yield training()
    yield memory()


def number(value):
    return "-" if value is None else f"{value:.3g}" if value < 100 else (
        f"{value:.0f}")


def print_table(results):
    print("| what | measured | against | ratio | by processor time | wanted | |")
    print("|---|---|---|---|---|---|---|")
    for one in results:
        against = f"{number(one['other'])} {one['other_is']}" if one[
            "other_is"] else ""
        print(f"| {one['name']} | {number(one['value'])} {one['unit']} | "
              f"{against} | {number(one['ratio'])} | "
              f"{number(one['processor_ratio'])} | "
              f"{'<=' if one['at_most'] else '>='} {one['want']} | "
              f"{ {None: '', True: 'yes', False: 'no'}[one['met']] } |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="", help="of the rows' names")
    parser.add_argument("--pslite", metavar="SCRIPT")
    parser.add_argument("--seraphctl", default=SERAPHCTL)
    parser.add_argument("--cluster-set", action="append", default=[],
                        metavar="PATH=VALUE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    wanted = [row for row in rows() if re.search(options.only, row.name)]
    bench = Bench(options)
    for turn in range(options.rounds):
        bench.new_round()
        for row in wanted:
            print(f"round {turn + 1} of {options.rounds}: {row.name}",
                  file=sys.stderr)
            row.take(bench)
    results = [row.result() for row in wanted]
    if options.json:
        print(json.dumps({"options": vars(options), "rows": results}, indent=1))
    else:
        print_table(results)


if __name__ == "__main__":
    main()
