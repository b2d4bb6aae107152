#!/usr/bin/env python3
"""Under asp and ssp every acknowledged push is there, once, through faults."""

import os
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from check_history import check, read  # noqa: E402
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402

WITNESS = os.path.abspath("tests/faults/witness")
PARTITIONS = 4


class WitnessTest(FaultTest):

    def quiet_job(self, mode, replicas):
        """Its labels are 0, so it has no gradient: it only holds the tables."""
        self.write("train.txt", "".join(
            f"0 {1 + i % 50}:1\n" for i in range(20000)))
        return self.job(epochs=10000, ranks=1, mode=mode, replicas=replicas,
                        model={"kind": "linear_regression", "bias": "none"},
                        data={"validation_fraction": 0},
                        train={"optimizer": {"kind": "sum"}, "batch_size": 64},
                        tables={"partitions": PARTITIONS})

    def witness(self, cluster, name, *flags):
        return subprocess.Popen(
            [WITNESS, f"--scheduler={cluster.scheduler}", f"--job={name}",
             f"--partitions={PARTITIONS}", *flags], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def watched(self, cluster, name, faults, seconds):
        """Clients push and pull while `faults` are made."""
        clients = self.witness(cluster, name, f"--seconds={seconds}",
                               "--clients=4", f"--seed={self.seed}")
        try:
            time.sleep(1)
            faults()
            out, err = clients.communicate(timeout=seconds + 60)
        finally:
            clients.kill()
        self.assertEqual(clients.returncode, 0, err)
        final = self.witness(cluster, name, "--final", f"--seed={self.seed}")
        last, err = final.communicate(timeout=60)
        self.assertEqual(final.returncode, 0, err)
        verdict = check(read(out.splitlines()), read(last.splitlines()))
        print(f"{self.id()}: {verdict.pushes} pushes, {verdict.repeats} sent "
              f"again, {verdict.pulls} pulls, {verdict.epochs} epochs passed",
              flush=True)
        self.assertEqual(verdict.errors, [])
        self.assertGreater(verdict.pushes, 100)
        self.assertGreater(verdict.pulls, 20)
        return verdict

    def run_with(self, mode, replicas, servers, faults, seconds=6):
        job = self.quiet_job(mode, replicas)
        with FaultCluster(self.folder, servers=servers, workers=1) as cluster:
            name = self.submit(cluster, job)
            self.wait(cluster, name, lambda status: status["job"][
                "phase"] == "training", what="training")
            verdict = self.watched(cluster, name, lambda: faults(cluster),
                                   seconds)
            self.assertEqual(cluster.call("cancel", name).code, 0)
        return verdict

    def test_without_faults(self):
        for mode in ("asp", "ssp"):
            with self.subTest(mode=mode):
                self.run_with(mode, 1, 1, lambda cluster: None, seconds=3)

    def test_a_killed_server(self):
        for mode in ("asp", "ssp"):
            with self.subTest(mode=mode):
                verdict = self.run_with(
                    mode, 2, 3, lambda cluster: cluster.kill("server-0"))
                self.assertGreater(verdict.repeats, 0)
                self.assertGreater(verdict.epochs, 0)

    def test_a_server_that_sleeps_and_wakes(self):
        def faults(cluster):
            cluster.stop("server-1")
            time.sleep(3 * LEASE)
            cluster.go_on("server-1")
        verdict = self.run_with("asp", 2, 3, faults, seconds=8)
        self.assertGreater(verdict.epochs, 0)

    def test_two_servers_of_three_copies(self):
        def faults(cluster):
            cluster.kill("server-0")
            time.sleep(self.random.uniform(0, 2) * LEASE)
            cluster.kill("server-1")
        verdict = self.run_with("asp", 3, 3, faults, seconds=8)
        self.assertGreater(verdict.epochs, 0)

    def test_the_scheduler_and_then_a_server(self):
        def faults(cluster):
            cluster.kill("scheduler")
            cluster.kill("server-2")
            time.sleep(LEASE)
            cluster.restart("scheduler")
        self.run_with("asp", 2, 3, faults, seconds=10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
