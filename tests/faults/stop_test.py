#!/usr/bin/env python3
"""Clusters that are stopped in good order and started again."""

import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import FaultCluster, FaultTest  # noqa: E402

PATIENCE = 20  # Seconds: far less than server.drain_timeout.


class StopTest(FaultTest):

    def stop(self, cluster, names):
        """SIGTERM to all of them; nobody waits for what nobody can give."""
        begin = time.monotonic()
        for name in names:
            cluster.daemons[name].send_signal(signal.SIGTERM)
        for name in names:
            self.assertEqual(cluster.daemons[name].wait(timeout=60), 0, name)
        self.assertLess(time.monotonic() - begin, PATIENCE)

    def start_again(self, cluster):
        for name in list(cluster.commands):
            if cluster.daemons[name].poll() is not None:
                cluster.restart(name)

    def saved(self, cluster, name):
        logs = cluster.call("logs", name).stdout
        self.assertIn("goes on from checkpoint", logs)
        return logs

    def test_all_daemons_at_once(self):
        job = self.job(epochs=40)
        for _ in range(2):
            with FaultCluster(self.folder, servers=2, workers=2) as cluster:
                name = self.submit(cluster, job)
                self.under_way(cluster, name)
                names = list(cluster.commands)
                self.random.shuffle(names)
                print("order:", *names, flush=True)
                self.stop(cluster, names)
                self.start_again(cluster)
                status = self.succeed(cluster, name)
                self.saved(cluster, name)
            self.check_same_model(cluster, job, status)

    def test_the_workers_are_stopped_first(self):
        """They finish what they have begun to push, so that all partitions
        are at one clock, which can be saved without them."""
        for mode in ("bsp", "ssp", "asp"):
            job = self.job(epochs=40, mode=mode)
            with FaultCluster(self.folder, servers=2, workers=2) as cluster:
                name = self.submit(cluster, job)
                self.under_way(cluster, name)
                self.stop(cluster, ["worker-0", "worker-1"])
                self.stop(cluster, ["scheduler", "server-0", "server-1"])
                for worker in ("worker-0", "worker-1"):
                    self.assertNotIn("worker.cut_off", cluster.log(worker))
                self.start_again(cluster)
                status = self.succeed(cluster, name)
                self.assertNotIn("no checkpoint", self.saved(cluster, name))
            if mode == "bsp":
                self.check_same_model(cluster, job, status)

    def test_the_workers_are_gone_already(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=2, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            for worker in ("worker-0", "worker-1"):
                cluster.kill(worker)
            self.stop(cluster, ["scheduler", "server-0", "server-1"])
            self.start_again(cluster)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_the_only_server_is_started_anew(self):
        job = self.job(epochs=40)
        with FaultCluster(self.folder, servers=1, workers=2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.stop(cluster, ["server-0"])
            self.start_again(cluster)
            status = self.succeed(cluster, name)
            self.saved(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_a_job_is_paused_while_a_rank_waits(self):
        job = self.job(epochs=40, ranks=3,
                       checkpoint={"directory": "ckpt", "every_epochs": 5})
        with FaultCluster(self.folder, servers=2, workers=3,
                          sets=("worker.slots=1",)) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill("worker-1")
            deadline = time.monotonic() + 30
            while "a worker" not in cluster.call("job", name).stdout:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            paused = cluster.call("pause", name)
            self.assertEqual(paused.code, 0, paused.stderr)
            self.assertEqual(self.status(cluster, name)["job"]["state"],
                             "PAUSED")
            print(cluster.call("logs", name).stdout[-800:], flush=True)
            cluster.restart("worker-1")
            time.sleep(1)
            self.assertEqual(cluster.call("resume", name).code, 0)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)


if __name__ == "__main__":
    unittest.main(verbosity=2)
