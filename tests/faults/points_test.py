#!/usr/bin/env python3
"""Each daemon dies between two given lines of code: docs/decisions/fail-points.md.

A point is passed many times; which pass is the last one is drawn. The daemon is
started anew afterwards, and the model is that of the undisturbed run.
"""

import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from faults import FaultCluster, FaultTest  # noqa: E402


class DoomedCluster(FaultCluster):
    """One of its daemons is born with a point at which it dies."""

    def __init__(self, folder, doomed, point, **keywords):
        self.doomed = doomed
        self.point = point
        super().__init__(folder, **keywords)

    def command_of(self, name, command):
        if name != self.doomed or self.point is None:
            return command
        point, self.point = self.point, None  # The next one lives.
        return ["env", f"SERAPH_FAIL_POINT={point}", *command]


class PointsTest(FaultTest):

    FIRST = 6  # Of the scheduler's: four nodes have registered.
    CHECKPOINT = {"directory": "ckpt", "every_epochs": 1}

    def check(self, doomed, point, passes, first=1, replicas=1, servers=2,
              **sections):
        point = f"{point}:{self.random.randint(first, passes)}"
        print(f"{self.id()}: {doomed} dies at {point}", flush=True)
        job = self.job(epochs=12, replicas=replicas, **sections)
        with DoomedCluster(self.folder, doomed, point, servers=servers,
                           workers=2) as cluster:
            name = self.submit_once(cluster, job)
            # The fault is there, and not another one.
            deadline = time.monotonic() + 60
            while cluster.daemons[doomed].poll() is None:
                self.assertLess(time.monotonic(), deadline,
                                f"{doomed} does not come to {point}")
                time.sleep(0.02)
            self.assertEqual(cluster.daemons[doomed].returncode,
                             -signal.SIGKILL, cluster.log(doomed))
            cluster.restart(doomed)
            if name is None:
                name = self.submit_once(cluster, job)
            self.assertEqual(len(cluster.call("jobs", "-o", "json").json[
                "jobs"]), 1, "the job was taken twice")
            status = self.succeed(cluster, name)
        self.check_same_model(cluster, job, status)

    def submit_once(self, cluster, job):
        """The job's id; None if the scheduler died over it."""
        result = cluster.call("submit", self.job_file(job), "--submission-id",
                              "once", "-o", "json")
        if result.code == 3:
            return None
        self.assertEqual(result.code, 0, result.stderr)
        return result.json.get("id") or result.json["job"]["id"]

    # Between the parts of one push of one rank: to one server, not the other.
    def test_a_worker_that_has_sent_a_part(self):
        self.check("worker-0", "worker.sent", 2000)

    # In its log, and nobody else's.
    def test_a_primary_before_it_forwards(self):
        self.check("server-0", "server.forwarding", 2000, replicas=2)

    # In the log of others, and not acknowledged.
    def test_a_primary_that_has_forwarded(self):
        self.check("server-1", "server.forwarded", 2000, replicas=2)

    # With every replica, and nobody was told.
    def test_a_server_before_it_answers(self):
        self.check("server-0", "server.answering", 2000, replicas=2,
                   servers=3)

    def test_the_only_copy_before_it_answers(self):
        self.check("server-0", "server.answering", 2000,
                   checkpoint=self.CHECKPOINT)

    def test_a_scheduler_that_has_decided(self):
        self.check("scheduler", "scheduler.decided", 16, self.FIRST, replicas=2)

    def test_a_scheduler_that_has_stored(self):
        self.check("scheduler", "scheduler.stored", 16, self.FIRST, replicas=2)

    def test_a_scheduler_that_has_ordered(self):
        self.check("scheduler", "scheduler.ordered", 16, self.FIRST, replicas=2)

    # The part of a checkpoint is written, and has no name.
    def test_a_server_before_a_part_has_its_name(self):
        self.check("server-0", "checkpoint.naming", 12,
                   checkpoint=self.CHECKPOINT)

    # The manifest is, and has no name.
    def test_a_scheduler_before_a_manifest_has_its_name(self):
        self.check("scheduler", "checkpoint.naming", 4,
                   checkpoint=self.CHECKPOINT)


if __name__ == "__main__":
    unittest.main(verbosity=2)
