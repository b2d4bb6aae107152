#!/usr/bin/env python3
"""Bad input and lost daemons: a clear error, the right exit code, no hang."""

import glob
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import (SERAPHCTL, Cluster, ClusterTest, call,  # noqa: E402
                     sparse_rows)


class FailuresTest(ClusterTest):

    def job(self, rows=300, epochs=2, **more):
        self.write("train.txt", sparse_rows(rows, keys=60, seed=3))
        job = {"model": {"kind": "logistic_regression", "keys": 60},
               "data": {"format": "libsvm", "train": ["train.txt"]},
               "train": {"epochs": epochs, "batch_size": 8,
                         "optimizer": {"kind": "sgd"}}}
        for path, value in more.items():
            part = job
            *parents, last = path.split("__")
            for name in parents:
                part = part.setdefault(name, {})
            part[last] = value
        return job

    def refused(self, job, code, *texts):
        result = self.run_job(job)
        self.assertEqual(result.code, code, result.stderr[-3000:])
        said = result.stdout + result.stderr
        for text in texts:
            self.assertIn(text, said)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out",
                                                     "model")))
        return result

    def test_a_bad_specification_names_line_and_column(self):
        job = self.job()
        job["train"]["optimiser"] = job["train"].pop("optimizer")
        result = self.refused(job, 2, "optimiser", "did you mean")
        self.assertRegex(result.stderr, r"job\.yaml:\d+:\d+: ")

    def test_a_missing_file(self):
        self.refused(self.job(data__train=["nowhere.txt"]), 2, "nowhere.txt")

    def test_a_bad_record_names_file_and_line(self):
        job = self.job()
        with open(os.path.join(self.folder, "train.txt"), "a",
                  encoding="utf-8") as file:
            file.write("1 3:abc\n")
        result = self.refused(job, 1, "train.txt:301")
        self.assertEqual(result.json["job"]["state"], "FAILED")
        self.assertIn("train.txt:301", result.json["job"]["error"])

    def test_bad_records_are_skipped_and_counted_on_request(self):
        job = self.job(data__on_bad_record="skip")
        with open(os.path.join(self.folder, "train.txt"), "a",
                  encoding="utf-8") as file:
            file.write("1 3:abc\n1 3:nan\n")
        result = self.train(job)
        self.assertEqual(result.json["records"], {"read": 300, "bad": 2})

    def test_a_key_out_of_range(self):
        self.refused(self.job(model__keys=20), 1, "train.txt:", "model.keys")

    def test_labels_that_are_no_two_classes(self):
        job = self.job()
        with open(os.path.join(self.folder, "train.txt"), "a",
                  encoding="utf-8") as file:
            file.write("7 3:1\n")
        self.refused(job, 1, "train.txt:301")

    def test_a_learning_rate_that_explodes(self):
        job = self.job(model__kind="linear_regression",
                       train__optimizer={"kind": "sgd",
                                         "learning_rate": 1e30})
        result = self.refused(job, 1, "not finite")
        self.assertIn("rank", result.json["job"]["error"])

    def test_a_start_from_a_model_of_another_kind_or_other_labels(self):
        model = self.train(self.job()).json["model"]["path"]
        job = self.job(init={"model": model}, output__directory="out2",
                       model__kind="svm")
        result = self.run_job(job)
        self.assertEqual(result.code, 1)
        self.assertIn("logistic_regression", result.json["job"]["error"])
        job = self.job(init={"model": model}, output__directory="out2")
        self.write("train.txt", sparse_rows(300, keys=60, seed=3,
                                            labels=(1, 2)))
        result = self.run_job(job)
        self.assertEqual(result.code, 1)
        self.assertIn("init.model", result.json["job"]["error"])

    def test_predict_does_not_overwrite_what_it_reads(self):
        model = self.train(self.job()).json["model"]["path"]
        data = os.path.join(self.folder, "train.txt")
        for out in (data, model):
            result = call("predict", "--model", model, "--data", data, "--out",
                          out)
            self.assertEqual(result.code, 2, result.stderr)
            self.assertIn("overwrite", result.stderr)

    def test_a_fifo_is_no_job_file(self):
        path = os.path.join(self.folder, "fifo")
        os.mkfifo(path)
        for verb in ("run", "validate", "digest"):
            result = call(verb, path, timeout=30)
            self.assertEqual(result.code, 2 if verb != "digest" else
                             result.code, result.stderr)
            self.assertNotEqual(result.code, 0)
            self.assertIn("regular file", result.stderr)

    def test_an_unreachable_scheduler(self):
        begin = time.monotonic()
        result = call("jobs", "--scheduler", "127.0.0.1:1")
        self.assertEqual(result.code, 3)
        self.assertIn("127.0.0.1:1", result.stderr)
        self.assertLess(time.monotonic() - begin, 30)

    def test_an_output_folder_that_cannot_be_written(self):
        # A file where the folder should be: also root cannot write there.
        self.write("out", "")
        result = self.run_job(self.job())
        self.assertNotEqual(result.code, 0)
        self.assertIn("out", result.stdout + result.stderr)

    def test_a_full_disk_leaves_no_model(self):
        small = os.path.join(self.folder, "small")
        os.mkdir(small)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small],
            stderr=subprocess.PIPE, check=False)
        if mounted.returncode != 0:
            self.skipTest("mounting a small file system is not permitted")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        job = self.job(model__keys=60000, output__directory="small/out")
        result = self.run_job(job)
        self.assertEqual(result.code, 1, result.stderr[-3000:])
        self.assertIn("small/out", result.json["job"]["error"])
        left = [name for name in glob.glob(small + "/out/**", recursive=True)
                if os.path.isfile(name) and "model" in name]
        self.assertEqual(left, [])

    def test_an_interrupt_ends_everything(self):
        path = self.job_file(self.job(rows=3000, epochs=10000))
        process = subprocess.Popen([SERAPHCTL, "run", path],
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        lines = []
        training = threading.Event()

        def read():
            for line in process.stderr:
                lines.append(line)
                if "epoch" in line.lower():
                    training.set()
        reader = threading.Thread(target=read)
        reader.start()
        self.assertTrue(training.wait(60), "".join(lines))
        children = self.children_of(process.pid)
        self.assertGreaterEqual(len(children), 3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        reader.join()
        process.stdout.close()
        process.stderr.close()
        for child in children:
            self.assertFalse(os.path.exists(f"/proc/{child}"), child)

    @staticmethod
    def children_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children",
                  encoding="utf-8") as file:
            return file.read().split()


class LostNodesTest(ClusterTest):

    def submit(self, cluster, epochs):
        # A job stops when its files change: they are written once.
        if not os.path.exists(os.path.join(self.folder, "train.txt")):
            self.write("train.txt", sparse_rows(2000, keys=60, seed=3))
        path = self.job_file({
            "ranks": 2,
            "model": {"kind": "logistic_regression"},
            "data": {"format": "libsvm", "train": ["train.txt"]},
            "train": {"epochs": epochs, "batch_size": 4,
                      "optimizer": {"kind": "sgd"}},
        })
        result = cluster.call("submit", path, "-o", "json")
        self.assertEqual(result.code, 0, result.stderr)
        document = result.json
        return document.get("id") or document["job"]["id"]

    def job(self, cluster, job):
        document = cluster.call("job", job, "-o", "json").json
        return document.get("job", document)

    def wait_until(self, cluster, job, states, seconds):
        deadline = time.monotonic() + seconds
        while True:
            status = self.job(cluster, job)
            if status["state"] in states:
                return status
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.05)

    def test_a_job_goes_on_without_a_lost_node(self):
        for role in ("worker", "server"):
            with self.subTest(role=role), Cluster(
                    self.folder, servers=2, workers=2,
                    sets=("scheduler.heartbeat_interval=200ms",
                          "scheduler.heartbeat_timeout=1s")) as cluster:
                job = self.submit(cluster, epochs=100000)
                self.wait_until(cluster, job, {"RUNNING"}, 30)
                cluster.kill(f"{role}-0")
                end = time.monotonic() + 60
                while True:
                    document = cluster.call("job", job, "-o", "json").json
                    status = document["job"]
                    self.assertEqual(status["state"], "RUNNING", status)
                    if (document["recoveries"] > 0 and
                            status["phase"] == "training"):
                        break
                    self.assertLess(time.monotonic(), end, status)
                    time.sleep(0.2)
                result = cluster.call("cancel", job)
                self.assertEqual(result.code, 0, result.stderr)
                self.wait_until(cluster, job, {"CANCELLED"}, 30)
                # Everything is free: the next job runs on what is left.
                job = self.submit(cluster, epochs=1)
                self.wait_until(cluster, job, {"SUCCEEDED"}, 60)
                nodes = cluster.call("cluster", "-o", "json").json["nodes"]
                self.assertEqual(
                    sum(node["state"] == "ALIVE" for node in nodes), 3)

    def test_two_jobs_side_by_side_and_a_cancelled_one(self):
        with Cluster(self.folder, servers=2, workers=2) as cluster:
            endless = self.submit(cluster, epochs=100000)
            self.wait_until(cluster, endless, {"RUNNING"}, 30)
            short = self.submit(cluster, epochs=2)
            self.wait_until(cluster, short, {"SUCCEEDED"}, 60)
            self.assertEqual(self.job(cluster, endless)["state"], "RUNNING")
            result = cluster.call("cancel", endless)
            self.assertEqual(result.code, 0, result.stderr)
            self.wait_until(cluster, endless, {"CANCELLED"}, 30)
            listed = cluster.call("jobs", "-o", "json").json
            jobs = listed["jobs"] if isinstance(listed, dict) else listed
            self.assertEqual({job["id"]: job["state"] for job in jobs},
                             {endless: "CANCELLED", short: "SUCCEEDED"})

    def test_a_file_that_changes_stops_the_job(self):
        with Cluster(self.folder) as cluster:
            job = self.submit(cluster, epochs=100000)
            self.wait_until(cluster, job, {"RUNNING"}, 30)
            self.write("train.txt", sparse_rows(2001, keys=60, seed=3))
            status = self.wait_until(cluster, job, {"FAILED"}, 30)
            self.assertIn("train.txt", status["error"])

    def test_a_job_waits_for_workers(self):
        with Cluster(self.folder, servers=1, workers=0) as cluster:
            job = self.submit(cluster, epochs=1)
            self.wait_until(cluster, job, {"PENDING"}, 10)
            cluster.start("worker-9", "worker", "worker.listen")
            self.wait_until(cluster, job, {"SUCCEEDED"}, 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
