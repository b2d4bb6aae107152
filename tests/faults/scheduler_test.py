#!/usr/bin/env python3
"""The scheduler dies: training goes on, and a new start finds its jobs."""

import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402


class SchedulerTest(FaultTest):

    def test_a_killed_scheduler_finds_its_job_running(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("scheduler")
            time.sleep(self.random.uniform(0, 2 * LEASE))
            cluster.restart("scheduler")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0, "somebody was called dead")

    def test_again_and_again(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            for _ in range(4):
                time.sleep(self.random.uniform(0, 0.7))
                cluster.kill("scheduler")
                cluster.restart("scheduler")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_a_worker_dies_while_no_scheduler_is_there(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("scheduler")
            cluster.kill("worker-1")
            cluster.restart("scheduler")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_a_server_dies_while_no_scheduler_is_there(self):
        job = self.job(replicas=2, epochs=40)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("scheduler")
            cluster.kill("server-1")
            cluster.restart("scheduler")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_ended_jobs_are_remembered(self):
        job = self.job(epochs=1)
        with FaultCluster(self.folder, servers=1, workers=1) as cluster:
            name = self.submit(cluster, job)
            before = self.succeed(cluster, name)
            cluster.kill("scheduler")
            cluster.restart("scheduler")
            after = self.status(cluster, name)
            self.assertEqual(after["job"]["state"], "SUCCEEDED")
            self.assertEqual(after["model"], before["model"])
            self.assertEqual(after["epochs"], before["epochs"])

    def test_sigterm_and_a_new_start(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.assertEqual(cluster.terminate("scheduler"), 0)
            cluster.restart("scheduler")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)


if __name__ == "__main__":
    unittest.main(verbosity=2)
