#!/usr/bin/env python3
"""Several schedulers on a real etcd of three members: one leads."""

import os
import shutil
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Etcd:
    """Three members on loopback."""

    def __init__(self, folder):
        self.folder = folder
        self.clients = [free_port() for _ in range(3)]
        self.peers = [free_port() for _ in range(3)]
        self.members = [None] * 3
        for member in range(3):
            self.start(member)
        deadline = time.monotonic() + 30
        while not all(self.healthy(m) for m in range(3)):
            if time.monotonic() > deadline:
                raise AssertionError("etcd does not start")
            time.sleep(0.1)

    @property
    def endpoints(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.clients)

    def start(self, member):
        log = open(os.path.join(self.folder, f"etcd-{member}.log"), "a",
                   encoding="utf-8")
        client = f"http://127.0.0.1:{self.clients[member]}"
        peer = f"http://127.0.0.1:{self.peers[member]}"
        everybody = ",".join(f"m{i}=http://127.0.0.1:{port}"
                             for i, port in enumerate(self.peers))
        self.members[member] = subprocess.Popen(
            ["etcd", "--name", f"m{member}", "--data-dir",
             os.path.join(self.folder, f"etcd-{member}"),
             "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", everybody], stdout=log, stderr=log)
        log.close()

    def healthy(self, member):
        try:
            socket.create_connection(("127.0.0.1", self.clients[member]),
                                     1).close()
        except OSError:
            return False
        return True

    def kill(self, member):
        self.members[member].kill()
        self.members[member].wait()

    def stop(self):
        for process in self.members:
            if process.poll() is None:
                process.kill()
                process.wait()


class EtcdCluster(FaultCluster):
    """Two schedulers; everybody knows both."""

    def __init__(self, folder, etcd, servers=2, workers=2):
        self.etcd = etcd
        super().__init__(folder, servers, workers)

    def start_all(self, servers, workers):
        store = ("scheduler.store=etcd",
                 f"scheduler.etcd=[{self.etcd.endpoints}]",
                 "scheduler.etcd_lease=1s")
        for name in ("scheduler", "second"):
            self.start(name, "scheduler", "scheduler.listen", (
                *store, "scheduler.state_directory=" + os.path.join(
                    self.folder, f"state-{name}")))
        self.scheduler = ",".join((self.addresses["scheduler"],
                                   self.addresses["second"]))
        for i in range(servers):
            self.start(f"server-{i}", "server", "server.listen")
        for i in range(workers):
            self.add_worker(f"worker-{i}")
        self.wait_for(servers + workers)

    def leader(self):
        """The scheduler that answers."""
        from cluster import call
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for name in ("scheduler", "second"):
                if self.daemons[name].poll() is not None:
                    continue
                answer = call("cluster", "--scheduler", self.addresses[name],
                              "-o", "json", timeout=30)
                if answer.code == 0:
                    return name
        raise AssertionError("nobody leads")


@unittest.skipUnless(shutil.which("etcd"), "etcd is not installed")
class EtcdTest(FaultTest):

    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self.folder)
        self.addCleanup(self.etcd.stop)

    def test_another_scheduler_takes_over(self):
        job = self.job(epochs=40)
        with EtcdCluster(self.folder, self.etcd) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            leader = cluster.leader()
            cluster.kill(leader)
            self.assertNotEqual(cluster.leader(), leader)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0, "somebody was called dead")

    def test_a_paused_leader_wakes_and_orders_nothing(self):
        job = self.job(epochs=50)
        with EtcdCluster(self.folder, self.etcd) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            leader = cluster.leader()
            cluster.stop(leader)
            other = "second" if leader == "scheduler" else "scheduler"
            deadline = time.monotonic() + 30
            while f"{other}" != self.answering(cluster, other):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            cluster.kill("worker-0")
            cluster.go_on(leader)
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status, recoveries=1)

    def answering(self, cluster, name):
        from cluster import call
        answer = call("cluster", "--scheduler", cluster.addresses[name], "-o",
                      "json", timeout=30)
        return name if answer.code == 0 else None

    def test_one_member_of_etcd_dies(self):
        job = self.job(epochs=40)
        with EtcdCluster(self.folder, self.etcd) as cluster:
            name = self.submit(cluster, job)
            for member in range(3):
                self.etcd.kill(member)
                time.sleep(self.random.uniform(0.5, 1.5))
                self.etcd.start(member)
                time.sleep(self.random.uniform(0.5, 1.5))
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_without_a_majority_training_goes_on(self):
        job = self.job(epochs=40)
        with EtcdCluster(self.folder, self.etcd) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.etcd.kill(0)
            self.etcd.kill(1)
            time.sleep(3 * LEASE)
            self.etcd.start(0)
            self.etcd.start(1)
            cluster.leader()
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def test_leader_and_a_server_at_once(self):
        job = self.job(epochs=40, replicas=2)
        with EtcdCluster(self.folder, self.etcd, servers=3) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            cluster.kill(cluster.leader())
            cluster.kill("server-2")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)


if __name__ == "__main__":
    unittest.main(verbosity=2)
