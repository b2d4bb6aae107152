#!/usr/bin/env python3
"""Under asp and ssp every acknowledged push is there, once, through faults."""

import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402
from watched import Watched  # noqa: E402


class WitnessTest(Watched, FaultTest):

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
