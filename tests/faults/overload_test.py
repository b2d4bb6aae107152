#!/usr/bin/env python3
"""Far more load than servers take: it gets slower, and nothing is lost."""

import re
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import FaultCluster, FaultTest  # noqa: E402
from watched import Watched  # noqa: E402

MEMORY_LIMIT = 256 << 20
# Two of the pushes below: the clients offer sixteen times as much.
BALLAST = 6000
TIGHT = (f"server.memory_limit={MEMORY_LIMIT}B",
         "server.inflight_limit=160KiB")
CLIENTS = 32


class OverloadTest(Watched, FaultTest):

    def refused(self, cluster):
        """Requests that servers refused because they were busy."""
        return sum(int(number) for name in cluster.daemons
                   if name.startswith("server")
                   for number in re.findall(r"server.busy refused=(\d+)",
                                            cluster.log(name)))

    def peak_bytes(self, cluster, name):
        """The most memory that a daemon ever had, as the kernel counts it."""
        with open(f"/proc/{cluster.daemons[name].pid}/status",
                  encoding="utf-8") as file:
            return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB",
                                        file.read()).group(1))

    def test_more_than_a_server_can_apply(self):
        for replicas in (1, 2):
            with self.subTest(replicas=replicas), FaultCluster(
                    self.folder, servers=2, workers=1,
                    sets=TIGHT) as cluster:
                name = self.submit(cluster, self.quiet_job("asp", replicas))
                self.wait(cluster, name, lambda status: status["job"][
                    "phase"] == "training", what="training")
                verdict = self.watched(
                    cluster, name, lambda: None, 8,
                    f"--ballast={BALLAST}", clients=CLIENTS)
                print(f"{self.id()}: {self.refused(cluster)} refused",
                      flush=True)
                self.assertGreater(verdict.repeats, 100,
                                   "the servers were not too busy")
                for server in ("server-0", "server-1"):
                    self.assertLess(self.peak_bytes(cluster, server),
                                    MEMORY_LIMIT)
                self.assertEqual(cluster.call("cancel", name).code, 0)

    def test_memory_stays_below_the_limit_whatever_clients_send(self):
        """Clients offer three times the limit at once, over sockets and through
        memory that they share."""
        limit = 192 << 20
        for transport in ("auto", "tcp"):
            with self.subTest(transport=transport), FaultCluster(
                    self.folder, servers=1, workers=1,
                    sets=(f"server.memory_limit={limit}B",
                          "server.inflight_limit=4MiB")) as cluster:
                bench = cluster.call(
                    "bench", "push", "--transport", transport, "--clients", "64",
                    "--in-flight", "16", "--keys-per-request", "50000",
                    "--table-keys", "200000", "--seconds", "4", timeout=120)
                self.assertEqual(bench.code, 0, bench.stderr)
                self.assertGreater(self.refused(cluster), 100,
                                   "the server was not too busy")
                self.assertLess(self.peak_bytes(cluster, "server-0"), limit)

    def test_jobs_on_servers_with_hardly_any_room_end(self):
        """What ends the oldest clock is never refused, so none waits for ever."""
        for mode in ("bsp", "ssp", "asp"):
            with self.subTest(mode=mode), FaultCluster(
                    self.folder, servers=2, workers=2,
                    sets=("server.inflight_limit=4KiB",)) as cluster:
                job = self.job(ranks=8, epochs=6, replicas=2, mode=mode,
                               train={"batch_size": 64})
                name = self.submit(cluster, job)
                status = self.succeed(cluster, name)
                if mode == "bsp":  # One clock at a time: all of it passes.
                    self.check_same_model(cluster, job, status)
                    continue
                deadline = time.monotonic() + 20  # They tell it now and then.
                while self.refused(cluster) == 0:
                    self.assertLess(time.monotonic(), deadline,
                                    "the servers were not too busy")
                    time.sleep(0.1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
