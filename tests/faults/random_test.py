#!/usr/bin/env python3
"""Any daemon, at any moment, again and again; the seed is printed."""

import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402


class RandomFaultsTest(FaultTest):

    def shake(self, cluster, name, daemons, faults):
        """One fault after the other; returns those that were made."""
        made = []
        while len(made) < faults:
            time.sleep(self.random.uniform(0.1, 1.0))
            state = self.status(cluster, name)["job"]["state"]
            if state != "RUNNING":
                break
            victim = self.random.choice(daemons)
            kind = self.random.choice(("kill", "kill", "stop"))
            made.append((kind, victim))
            if kind == "kill":
                cluster.kill(victim)
                time.sleep(self.random.choice((0, 0.3, 1.5)) * LEASE)
                cluster.restart(victim)
            else:
                cluster.stop(victim)
                time.sleep(self.random.choice((0.3, 1.5, 3)) * LEASE)
                cluster.go_on(victim)
            # With two copies one server at a time may go; the next fault
            # comes when the lost copies are there again.
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                status = self.status(cluster, name)["job"]
                if status["state"] != "RUNNING":
                    break
                if status.get("least_in_sync", 1) >= status.get("replicas", 1):
                    break
                time.sleep(0.05)
        print(f"{self.id()}: {made}", flush=True)
        self.assertGreaterEqual(len(made), min(faults, 2),
                                "too few faults; the job must be longer")
        return made

    def test_with_two_copies(self):
        job = self.job(replicas=2, epochs=60, checkpoint={
            "directory": "ckpt", "every_epochs": 3})
        with FaultCluster(self.folder, servers=3, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.shake(cluster, name, list(cluster.daemons), 8)
            status = self.succeed(cluster, name, 240)
        self.check_same_model(cluster, job, status)

    def test_with_one_copy_and_checkpoints(self):
        job = self.job(epochs=60, checkpoint={
            "directory": "ckpt", "every_epochs": 1})
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.shake(cluster, name, list(cluster.daemons), 6)
            status = self.succeed(cluster, name, 240)
        self.check_same_model(cluster, job, status)


if __name__ == "__main__":
    unittest.main(verbosity=2)
