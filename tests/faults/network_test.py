#!/usr/bin/env python3
"""Lossy, slow and cut networks between real daemons.

Each daemon has a network namespace of its own on one bridge; a fault is a rule
of iptables, or a queue of tc, in that namespace. Where namespaces are not
permitted the tests are skipped and say so.
"""

import os
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import LEASE, FaultCluster, FaultTest  # noqa: E402


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)


class Network:
    """A bridge in a namespace of its own, and a namespace for each daemon."""

    def __init__(self, tag):
        self.tag = tag
        self.hub = f"sr{tag}h"
        self.spaces = {}

    def open(self):
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "br0", "type", "bridge")
        ip("-n", self.hub, "link", "set", "br0", "up")
        return self

    def add(self, name):
        number = len(self.spaces) + 1
        space, link = f"sr{self.tag}n{number}", f"v{number}"
        address = f"10.99.0.{number}"
        ip("netns", "add", space)
        ip("-n", space, "link", "set", "lo", "up")
        ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name",
           link, "netns", self.hub)
        ip("-n", self.hub, "link", "set", link, "master", "br0", "up")
        ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        self.spaces[name] = (space, address)
        return address

    def inside(self, name, *command, check=True):
        return subprocess.run(["ip", "netns", "exec", self.spaces[name][0],
                               *command], check=check, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)

    def drop(self, name, *rule):
        """What comes in at `name` and fits the rule is lost."""
        self.inside(name, "iptables", "-A", "INPUT", "-i", "eth0", *rule,
                    "-j", "DROP")

    def cut(self, one, other):
        """Nothing of `other` reaches `one`; the other way stays."""
        self.drop(one, "-s", self.spaces[other][1])

    def lose(self, name, share):
        self.drop(name, "-m", "statistic", "--mode", "random",
                  "--probability", str(share))

    def dropped(self, name):
        """Packets that the rules have taken."""
        lines = self.inside(name, "iptables", "-L", "INPUT", "-v", "-n",
                            "-x").stdout.splitlines()
        return sum(int(line.split()[0]) for line in lines if "DROP" in line)

    def heal(self, name):
        self.inside(name, "iptables", "-F", "INPUT")
        self.inside(name, "tc", "qdisc", "del", "dev", "eth0", "root",
                    check=False)

    def slow(self, name):
        """What leaves `name` queues up, by up to 50 ms."""
        self.inside(name, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf",
                    "rate", "20mbit", "burst", "16kb", "latency", "50ms")

    def close(self):
        for space, _ in self.spaces.values():
            ip("netns", "delete", space, check=False)
        ip("netns", "delete", self.hub, check=False)


class NetworkCluster(FaultCluster):
    """Daemons and seraphctl, each in its namespace."""

    def __init__(self, folder, network, servers, workers):
        self.network = network
        network.add("seraphctl")
        super().__init__(folder, servers, workers)

    def start(self, name, role, listen, more=()):
        if name not in self.network.spaces:
            self.network.add(name)
        address = self.network.spaces[name][1]
        # The last of equal keys counts.
        super().start(name, role, listen, (*more, f"{listen}={address}:7400"))

    def command_of(self, name, command):
        return ["ip", "netns", "exec", self.network.spaces[name][0], *command]


class NetworkTest(FaultTest):

    def setUp(self):
        super().setUp()
        self.network = Network(str(os.getpid() % 10000))
        try:
            self.network.open()
        except (OSError, subprocess.CalledProcessError) as error:
            self.network.close()
            self.skipTest(f"network namespaces are not permitted: {error}")
        self.addCleanup(self.network.close)
        self.network.add("probe")
        probe = self.network.inside("probe", "iptables", "-L", check=False)
        if probe.returncode != 0:
            self.skipTest(f"iptables does not work: {probe.stderr}")

    def cluster(self, servers, workers):
        return NetworkCluster(self.folder, self.network, servers, workers)

    def test_a_lossy_network_is_slow_and_changes_nothing(self):
        job = self.job(replicas=2, epochs=6)
        with self.cluster(2, 2) as cluster:
            name = self.submit(cluster, job)
            for daemon in cluster.daemons:
                self.network.lose(daemon, 0.02)
            status = self.succeed(cluster, name, 240)
            lost = sum(self.network.dropped(daemon)
                       for daemon in cluster.daemons)
        self.assertGreater(lost, 10, "the network lost nothing")
        self.check_same_model(cluster, job, status)

    def test_a_slow_network_changes_nothing(self):
        job = self.job(replicas=2, epochs=4)
        with self.cluster(2, 2) as cluster:
            for daemon in cluster.daemons:
                self.network.slow(daemon)
            name = self.submit(cluster, job)
            status = self.succeed(cluster, name, 240)
        self.check_same_model(cluster, job, status)

    def test_a_primary_that_is_cut_off_is_replaced_and_fenced(self):
        job = self.job(replicas=2, epochs=40)
        with self.cluster(3, 2) as cluster:
            name = self.submit(cluster, job)
            before = self.under_way(cluster, name)
            self.network.drop("server-0")
            self.wait_for_epochs(cluster, name, len(before["epochs"]) + 2)
            self.assertGreater(self.network.dropped("server-0"), 0)
            self.network.heal("server-0")
            status = self.succeed(cluster, name, 240)
        self.check_same_model(cluster, job, status)

    def test_servers_that_do_not_reach_each_other(self):
        """Both send heartbeats; the forwards of one do not arrive."""
        job = self.job(replicas=2, epochs=40)
        with self.cluster(3, 2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            self.network.cut("server-1", "server-0")
            status = self.succeed(cluster, name, 240)
            self.assertGreater(self.network.dropped("server-1"), 0)
        self.check_same_model(cluster, job, status)

    def test_a_scheduler_that_is_cut_off_calls_nobody_dead(self):
        job = self.job(epochs=40)
        with self.cluster(2, 2) as cluster:
            name = self.submit(cluster, job)
            self.under_way(cluster, name)
            for daemon in list(cluster.daemons):
                if daemon != "scheduler":
                    self.network.cut("scheduler", daemon)
            time.sleep(2 * LEASE)
            self.network.heal("scheduler")
            status = self.succeed(cluster, name, 240)
        self.check_same_model(cluster, job, status)
        self.assertEqual(status["recoveries"], 0, "somebody was called dead")


if __name__ == "__main__":
    unittest.main(verbosity=2)
