#!/usr/bin/env python3
"""Checkpoints: pause and resume, whole-cluster stops, damaged files."""

import glob
import os
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import FaultCluster, FaultTest  # noqa: E402


class CheckpointsTest(FaultTest):

    CHECKPOINT = {"directory": "ckpt", "every_epochs": 1, "keep": 3}

    def test_pause_and_resume(self):
        for mode in ("bsp", "ssp", "asp"):
            with self.subTest(mode=mode), FaultCluster(
                    self.folder, servers=2, workers=2) as cluster:
                job = self.job(mode=mode, epochs=30)
                name = self.submit(cluster, job)
                self.under_way(cluster, name)
                paused = cluster.call("pause", name)
                self.assertEqual(paused.code, 0, paused.stderr)
                self.assertEqual(
                    self.status(cluster, name)["job"]["state"], "PAUSED")
                cluster.kill("server-1")
                cluster.kill("worker-1")
                resumed = cluster.call("resume", name)
                self.assertEqual(resumed.code, 0, resumed.stderr)
                status = self.succeed(cluster, name)
                if mode == "bsp":
                    self.check_same_model(cluster, job, status)
                examples = [epoch["examples"] for epoch in status["epochs"]]
                self.assertEqual(examples, examples[:1] * 30)

    def test_a_checkpoint_by_hand(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            made = cluster.call("checkpoint", name)
            self.assertEqual(made.code, 0, made.stderr)
            cluster.kill("server-0")
            status = self.succeed(cluster, name)
            logs = cluster.call("logs", name).stdout
        self.check_same_model(cluster, job, status, recoveries=1)
        self.assertIn("checkpoint", logs)

    def test_the_whole_cluster_is_killed_and_started(self):
        job = self.job(epochs=40, checkpoint=self.CHECKPOINT)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.wait_for_epochs(cluster, name, 3)
            self.under_way(cluster, name)
            everybody = list(cluster.daemons)
            for daemon in everybody:
                cluster.kill(daemon)
            cluster.restart("scheduler")
            for daemon in everybody:
                if daemon != "scheduler":
                    cluster.restart(daemon)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_every_so_many_clocks(self):
        job = self.job(epochs=12, checkpoint={
            "directory": "ckpt", "every_epochs": 0, "every_clocks": 50})
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.wait(cluster, name, lambda _: glob.glob(
                os.path.join(self.folder, "ckpt", name, "*")),
                what="checkpoint")
            self.under_way(cluster, name)
            cluster.kill("server-0")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_damaged_files_are_refused_by_name(self):
        """The one before is used; with none left the job starts anew."""
        for damage in ("flip", "cut", "remove", "folder"):
            with self.subTest(damage=damage), FaultCluster(
                    self.folder, servers=2, workers=2) as cluster:
                job = self.job(epochs=30, checkpoint=self.CHECKPOINT,
                               output={"directory": f"out-{damage}"})
                name = self.submit(cluster, job)
                self.wait_for_epochs(cluster, name, 4)
                paused = cluster.call("pause", name)
                self.assertEqual(paused.code, 0, paused.stderr)
                folder = os.path.join(self.folder, "ckpt", name)
                newest = max((file for file in glob.glob(folder + "/**",
                                                         recursive=True)
                              if os.path.isfile(file) and
                              os.path.getsize(file) > 100),
                             key=os.path.getmtime)
                self.harm(newest, damage)
                resumed = cluster.call("resume", name)
                self.assertEqual(resumed.code, 0, resumed.stderr)
                status = self.succeed(cluster, name)
                logs = cluster.call("logs", name).stdout
                self.assertIn(os.path.basename(newest), logs)
                self.check_same_model(cluster, job, status)

    def harm(self, path, damage):
        if damage == "remove":
            os.remove(path)
            return
        if damage == "folder":  # Something that cannot be read at all.
            os.remove(path)
            os.mkdir(path)
            return
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            place = self.random.randrange(size)
            if damage == "cut":
                file.truncate(place)
                return
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ (1 << self.random.randrange(8))]))

    def test_a_full_disk_is_a_warning_and_the_job_goes_on(self):
        import subprocess
        small = os.path.join(self.folder, "small")
        os.mkdir(small)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small],
            stderr=subprocess.PIPE, check=False)
        if mounted.returncode != 0:
            self.skipTest("mounting a small file system is not permitted")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        job = self.job(epochs=30, checkpoint={"directory": "small/ckpt",
                                              "every_epochs": 1})
        with FaultCluster(self.folder, servers=1, workers=1) as cluster:
            name = self.submit(cluster, job)
            # A disk that is full from the beginning is refused at once.
            self.wait_for_epochs(cluster, name, 2)
            with self.assertRaises(OSError), open(
                    os.path.join(small, "full"), "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1024))
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertIn("small/ckpt", str(status))

    def test_another_job_starts_from_a_checkpoint(self):
        """From the last one it starts as from the model."""
        self.train(self.job(epochs=2, checkpoint=self.CHECKPOINT,
                            output={"directory": "first"}))
        manifests = glob.glob(os.path.join(self.folder, "ckpt", "*",
                                           "*.checkpoint"))
        newest = max(manifests, key=os.path.getmtime)
        digests = {self.train(self.job(
            epochs=1, init={"model": model})).digest for model in (
                "first/model", newest, os.path.dirname(newest))}
        self.assertEqual(len(digests), 1, digests)

    def test_only_the_kept_ones_stay(self):
        job = self.job(epochs=10, checkpoint=dict(self.CHECKPOINT, keep=2))
        with FaultCluster(self.folder, servers=1, workers=1) as cluster:
            name = self.submit(cluster, job)
            self.wait_for_epochs(cluster, name, 8)
            time.sleep(0.3)
            manifests = glob.glob(os.path.join(self.folder, "ckpt", name,
                                               "*.checkpoint"))
            self.assertLessEqual(len(manifests), 3, manifests)
            self.assertGreaterEqual(len(manifests), 1)
            self.succeed(cluster, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
