#!/usr/bin/env python3
"""Workers die, hang, come and go in the middle of a job."""

import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402


class WorkersTest(FaultTest):

    def test_a_killed_worker_changes_nothing(self):
        job = self.job()
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill(f"worker-{self.random.randrange(2)}")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_one_after_the_other_and_new_ones_come(self):
        job = self.job(ranks=5, epochs=40)
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.add_worker("late")
            cluster.kill("worker-0")
            done = self.wait(cluster, name, lambda status: status[
                "recoveries"] >= 1, what="recovery")
            self.wait_for_epochs(cluster, name, len(done["epochs"]) + 1)
            cluster.kill("worker-1")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=2)

    def test_the_last_worker_dies_and_another_comes_much_later(self):
        job = self.job()
        with FaultCluster(self.folder, servers=1, workers=1) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("worker-0")
            status = self.wait(
                cluster, name, lambda status: status["job"].get(
                    "waiting_for"), what="word of what it waits for")
            self.assertIn("worker", status["job"]["waiting_for"])
            self.assertEqual(status["job"]["state"], "RUNNING")
            cluster.add_worker("late")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_a_restarted_worker_is_another_one(self):
        job = self.job()
        with FaultCluster(self.folder, servers=1, workers=1) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("worker-0")
            cluster.restart("worker-0")  # Inside of the lease.
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_a_worker_that_was_thought_dead_wakes(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.stop("worker-0")
            done = self.wait(cluster, name, lambda status: status[
                "recoveries"] >= 1, what="recovery")
            self.wait_for_epochs(cluster, name, len(done["epochs"]) + 1)
            cluster.go_on("worker-0")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_a_short_pause_is_no_death(self):
        job = self.job()
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.stop("worker-1")
            time.sleep(LEASE / 3)
            cluster.go_on("worker-1")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0)

    def test_a_worker_that_is_stopped_in_good_order(self):
        job = self.job()
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.assertEqual(cluster.terminate("worker-0"), 0)
            self.told(cluster, name,
                      f"worker {cluster.addresses['worker-0']} drains")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0, "nothing was lost")

    def test_ssp_and_asp_lose_no_example(self):
        for mode in ("ssp", "asp"):
            with self.subTest(mode=mode), FaultCluster(
                    self.folder, servers=2, workers=2) as cluster:
                job = self.job(mode=mode)
                name = self.submit(cluster, job)
                self.under_way(cluster, name)
                cluster.kill("worker-1")
                status = self.succeed(cluster, name)
                self.assertGreaterEqual(status["recoveries"], 1)
                examples = [epoch["examples"] for epoch in status["epochs"]]
                self.assertEqual(examples, examples[:1] * 24)


if __name__ == "__main__":
    unittest.main(verbosity=2)
