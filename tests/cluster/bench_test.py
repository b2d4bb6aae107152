#!/usr/bin/env python3
"""seraphctl bench measures what it says, on daemons of its own and on others."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import Cluster, ClusterTest, call  # noqa: E402

PARTITIONS = 8


class BenchTest(ClusterTest):

    def bench(self, *arguments, **keywords):
        result = call("bench", *arguments, "-o", "json", "--seconds", 0.3,
                      "--table-keys", 10000, **keywords)
        self.assertEqual(result.code, 0, result.stderr[-3000:])
        return result.json

    def check(self, report):
        """What holds for every measurement."""
        self.assertGreater(report["requests"], 0)
        parameters = report["parameters"]
        self.assertEqual(report["keys"], report["requests"] *
                         parameters["keys_per_request"])
        self.assertGreaterEqual(report["seconds"], 0.29)
        self.assertGreater(report["keys_per_second"], 0)
        latency = report["latency_us"]
        self.assertGreater(latency["p50"], 0)
        self.assertLessEqual(latency["p50"], latency["p90"])
        self.assertLessEqual(latency["p90"], latency["p99"])
        self.assertLessEqual(latency["p99"], latency["max"])
        self.assertGreater(report["client_cpu_ns_per_key"], 0)
        for name in ("tcp_bytes_per_second", "memcpy_bytes_per_second",
                     "noop_keys_per_second",
                     "echo_stream_messages_per_second"):
            self.assertGreater(report["baselines"][name], 0, name)
        for name in ("to_tcp", "to_memcpy", "to_noop", "to_echo_stream"):
            self.assertGreater(report["ratios"][name], 0, name)
        # All rows exist, and the servers have the entries that were pushed and
        # no others.
        self.assertEqual(report["server"]["rows"], parameters["table_keys"])
        self.assertEqual(report["server"]["log_records"],
                         report["server"]["pushed_entries"])

    def test_push(self):
        report = self.bench("push", "--keys-per-request", 1000)
        self.check(report)
        self.assertEqual(report["operation"], "push")
        self.assertEqual(report["server"]["pushed_entries"],
                         report["requests"] * PARTITIONS)
        self.assertGreater(report["server_cpu_ns_per_key"], 0)
        self.assertGreater(report["server_bytes_per_key"], 0)
        # No request can do without its keys and values.
        self.assertGreater(report["wire"]["request_bytes"], 1000 * 4)

    def test_pull_by_two_clients_of_two_servers(self):
        report = self.bench("pull", "--keys-per-request", 1000, "--width", 4,
                            "--servers", 2, "--clients", 2, "--distribution",
                            "zipf", "--optimizer", "adagrad")
        self.check(report)
        self.assertEqual(report["server"]["pushed_entries"], 0)
        self.assertGreater(report["wire"]["reply_bytes"], 1000 * 4 * 4)

    def test_both_on_a_dense_table(self):
        report = self.bench("pushpull", "--keys-per-request", 10000, "--table",
                            "dense", "--in-flight", 1)
        self.check(report)
        self.assertEqual(report["server"]["pushed_entries"],
                         report["requests"] * PARTITIONS)
        self.assertEqual(
            report["bytes_per_second"] / report["keys_per_second"], 8)

    def test_transports(self):
        for transport in ("tcp", "unix", "shm"):
            report = self.bench("push", "--keys-per-request", 1,
                                "--transport", transport)
            self.check(report)
            self.assertEqual(report["parameters"]["transport"], transport)

    def test_keys_of_a_file(self):
        path = self.write("data", "".join(
            f"{i % 2} {i}:1 {i + 1}:1 {1000 + i % 7}:0.5\n"
            for i in range(1, 400)))
        result = call("bench", "pull", "-o", "json", "--seconds", 0.2,
                      "--distribution", "file", "--keys-file", path,
                      "--keys-per-request", 100)
        self.assertEqual(result.code, 0, result.stderr[-3000:])
        # 1 to 400 and 1000 to 1006.
        self.assertEqual(result.json["server"]["rows"], 407)

    def test_a_cluster_that_is_there(self):
        with Cluster(self.folder, servers=2, workers=1) as cluster:
            report = self.bench("push", "--keys-per-request", 100,
                                "--replicas", 2, "--scheduler",
                                cluster.scheduler)
            jobs = cluster.call("jobs", "-o", "json").json["jobs"]
        self.check(report)
        # Its processes are not ours to look at.
        self.assertIsNone(report["server_cpu_ns_per_key"])
        self.assertEqual([job["state"] for job in jobs], ["CANCELLED"])

    def test_train(self):
        result = call("bench", "train", "-o", "json", "--examples", 4000,
                      "--nonzeros", 10, "--table-keys", 500, "--batch-size",
                      100)
        self.assertEqual(result.code, 0, result.stderr[-3000:])
        report = result.json
        self.assertGreater(report["examples_per_second"], 0)
        self.assertGreater(report["cpu_us_per_example"], 0)
        local = report["baselines"]
        self.assertGreater(local["local_examples_per_second"], 0)
        self.assertAlmostEqual(
            report["ratios"]["to_local"], report["examples_per_second"] /
            local["local_examples_per_second"])
        # Both have learnt, and the same but for the order of entries. A model
        # that knows nothing has 0.69.
        self.assertLess(report["log_loss"], 0.66)
        self.assertAlmostEqual(report["log_loss"], local["local_log_loss"],
                               delta=0.05)
        refused = call("bench", "train", "--optimizer", "ftrl", "--examples",
                       100)
        self.assertEqual(refused.code, 2)
        self.assertIn("sgd and adagrad", refused.stderr)

    def test_wrong_usage(self):
        for arguments, text in (
                (("push", "--transport", "pigeon"), "tcp|unix|shm|auto"),
                (("swim",), "pull|push|pushpull|train"),
                (("pull", "--keys-per-request", 11, "--table-keys", 10),
                 "--keys-per-request: 11 distinct keys of 10"),
                (("pull", "--distribution", "file"), "--keys-file"),
                (("pull", "--seconds", 0), "--seconds")):
            result = call("bench", *arguments)
            self.assertEqual(result.code, 2, result.stderr)
            self.assertIn(text, result.stderr)
        result = call("bench", "pull", "--scheduler", "127.0.0.1:1",
                      "--timeout", "1s")
        self.assertEqual(result.code, 3, result.stderr)


if __name__ == "__main__":
    os.environ.pop("SERAPH_SCHEDULER", None)
    unittest.main()
