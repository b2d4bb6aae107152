#!/usr/bin/env python3
"""Servers die and hang: with copies the job goes on, without it goes back."""

import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402


class ServersTest(FaultTest):

    def in_sync(self, cluster, name, replicas):
        return self.wait(cluster, name, lambda status: status["job"].get(
            "least_in_sync") == replicas, what=f"{replicas} replicas in sync")

    def test_a_killed_server_of_two_copies_changes_nothing(self):
        job = self.job(replicas=2, epochs=40)
        with FaultCluster(self.folder, servers=3, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill(f"server-{self.random.randrange(3)}")
            # A third server takes the place of the lost copies.
            self.told(cluster, name, "the other copies take over")
            self.in_sync(cluster, name, 2)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_with_two_copies_on_two_servers_the_other_one_carries_on(self):
        job = self.job(replicas=2)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill(f"server-{self.random.randrange(2)}")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_two_of_three_copies_one_after_the_other(self):
        job = self.job(replicas=3, epochs=40)
        with FaultCluster(self.folder, servers=3, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            first, second = self.random.sample(range(3), 2)
            cluster.kill(f"server-{first}")
            time.sleep(self.random.uniform(0, 1.5 * LEASE))
            cluster.kill(f"server-{second}")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_a_paused_primary_is_fenced_when_it_wakes(self):
        job = self.job(replicas=2, epochs=40)
        with FaultCluster(self.folder, servers=3, workers=2) as cluster:
            name = self.submit(cluster, job)
            before = self.under_way(cluster, name)
            cluster.stop("server-0")
            # It goes on without: two leases, and some for a loaded machine.
            self.wait_for_epochs(cluster, name, len(before["epochs"]) + 2)
            cluster.go_on("server-0")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_a_restarted_server_inside_the_lease_is_empty(self):
        job = self.job(replicas=2)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("server-1")
            cluster.restart("server-1")
            self.in_sync(cluster, name, 2)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_with_one_copy_the_job_goes_back_to_its_checkpoint(self):
        job = self.job(checkpoint={"directory": "ckpt", "every_epochs": 1})
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.wait_for_epochs(cluster, name, 3)
            self.under_way(cluster, name)
            cluster.kill(f"server-{self.random.randrange(2)}")
            status = self.succeed(cluster, name)
            logs = cluster.call("logs", name).stdout
        self.check_same_model(cluster, job, status, recoveries=1)
        self.assertIn("checkpoint", logs)

    def test_without_a_checkpoint_it_goes_back_to_its_start(self):
        job = self.job()
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill(f"server-{self.random.randrange(2)}")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_the_only_server_dies_and_starts_again(self):
        job = self.job(checkpoint={"directory": "ckpt", "every_epochs": 2})
        with FaultCluster(self.folder, servers=1, workers=1) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("server-0")
            time.sleep(self.random.uniform(0, 2 * LEASE))
            cluster.restart("server-0")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_a_server_and_a_worker_at_once(self):
        job = self.job(replicas=2, epochs=40)
        with FaultCluster(self.folder, servers=3, workers=3) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill(f"server-{self.random.randrange(3)}")
            cluster.kill(f"worker-{self.random.randrange(3)}")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def test_servers_come_and_are_drained_while_training_goes_on(self):
        job = self.job(epochs=50)
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.add_server("late")
            drained = cluster.call("drain", cluster.addresses["server-0"],
                                   timeout=120)
            self.assertEqual(drained.code, 0, drained.stderr)
            self.assertEqual(cluster.terminate("server-0"), 0)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0, "it went back")

    def test_sigterm_moves_everything_first(self):
        job = self.job(epochs=50)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.assertEqual(cluster.terminate("server-1"), 0)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0, "it went back")

    def test_ssp_and_asp_with_copies(self):
        for mode in ("ssp", "asp"):
            with self.subTest(mode=mode), FaultCluster(
                    self.folder, servers=3, workers=2) as cluster:
                job = self.job(mode=mode, replicas=2)
                name = self.submit(cluster, job)
                self.under_way(cluster, name)
                cluster.kill("server-1")
                status = self.succeed(cluster, name)
                examples = [epoch["examples"] for epoch in status["epochs"]]
                self.assertEqual(examples, examples[:1] * 24)


if __name__ == "__main__":
    unittest.main(verbosity=2)
