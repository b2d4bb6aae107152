"""Jobs on clusters whose daemons are killed, stopped and started again."""

import os
import random
import signal
import sys
import time

sys.path.insert(0, "tests/cluster")
from cluster import Cluster, ClusterTest, call, sparse_rows  # noqa: E402

LEASE = 1.0  # Seconds: the heartbeat timeout of these clusters.
SETS = ("scheduler.heartbeat_interval=100ms",
        f"scheduler.heartbeat_timeout={int(LEASE * 1000)}ms",
        "log.level=info")


class FaultCluster(Cluster):
    """Daemons that can be started again where they were."""

    def __init__(self, folder, servers=2, workers=2, sets=()):
        self.commands = {}
        super().__init__(folder, servers, workers, (*SETS, *sets))

    def start(self, name, role, listen, more=()):
        self.commands.setdefault(name, (role, listen, tuple(more)))
        super().start(name, role, listen, more)

    def restart(self, name):
        """Starts a daemon that has ended, at its old address."""
        role, listen, more = self.commands[name]
        assert self.daemons[name].poll() is not None, f"{name} runs"
        old = os.path.join(self.folder, f"{name}.log")
        os.replace(old, f"{old}.{time.monotonic_ns()}")
        address = self.addresses[name]
        super().start(name, role, listen, (*more, f"{listen}={address}"))
        return self

    def add_server(self, name):
        self.start(name, "server", "server.listen")

    def add_worker(self, name):
        self.start(name, "worker", "worker.listen",
                   ("worker.spool_directory=" +
                    os.path.join(self.folder, f"spool-{name}"),))

    def stop(self, name):
        """SIGSTOP: it does nothing, its connections stay."""
        self.daemons[name].send_signal(signal.SIGSTOP)

    def go_on(self, name):
        self.daemons[name].send_signal(signal.SIGCONT)

    def terminate(self, name, timeout=60):
        """SIGTERM; returns the exit code."""
        self.daemons[name].terminate()
        return self.daemons[name].wait(timeout=timeout)

    def nodes(self):
        return {node["name"] if "name" in node else node["node"]["name"]: node
                for node in self.call("cluster", "-o", "json").json["nodes"]}

    def __exit__(self, *exception):
        for process in self.daemons.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
        # A daemon that this test has killed ended as it should.
        self.daemons = {name: process for name, process in self.daemons.items()
                        if process.poll() is None}
        super().__exit__(*exception)


class FaultTest(ClusterTest):
    """Each test prints its seed; SERAPH_FAULT_SEED replays it."""

    undisturbed = {}  # Digests, by what decides them.

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("SERAPH_FAULT_SEED",
                                       time.time_ns() % 1_000_000))
        self.random = random.Random(self.seed)
        print(f"{self.id()}: SERAPH_FAULT_SEED={self.seed}", flush=True)

    def job(self, epochs=24, ranks=3, mode="bsp", replicas=1, rows=6000,
            **sections):
        """A job that takes some seconds, on data of this test alone."""
        path = os.path.join(self.folder, "train.txt")
        if not os.path.exists(path):
            self.write("train.txt", sparse_rows(rows, keys=400, seed=7))
        job = {
            "name": "faults", "seed": 11, "ranks": ranks,
            "model": {"kind": "logistic_regression"},
            "data": {"format": "libsvm", "train": ["train.txt"],
                     "validation_fraction": 0.1},
            "train": {"epochs": epochs, "batch_size": 4,
                      "optimizer": {"kind": "adagrad",
                                    "learning_rate": 0.1}},
            "sync": {"mode": mode},
            "tables": {"partitions": 5, "replicas": replicas},
        }
        if mode == "ssp":
            job["sync"]["staleness"] = 3
        for name, section in sections.items():
            job.setdefault(name, {}).update(section)
        return job

    def submit(self, cluster, job):
        result = cluster.call("submit", self.job_file(job), "-o", "json")
        self.assertEqual(result.code, 0, result.stderr)
        return result.json.get("id") or result.json["job"]["id"]

    def status(self, cluster, job):
        """Asks again for a while where the cluster cannot be reached."""
        deadline = time.monotonic() + 30
        while (result := cluster.call("job", job, "-o", "json")).code == 3:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.assertEqual(result.code, 0, result.stderr)
        return result.json

    def wait(self, cluster, job, condition, seconds=60, what="condition"):
        """Until condition(status); returns the status."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.status(cluster, job)
            if condition(status):
                return status
            if status["job"]["state"] in ("FAILED", "CANCELLED"):
                self.fail(f"{status}\n{cluster.call('logs', job).stdout}")
            if time.monotonic() > deadline:
                logs = cluster.call("logs", job).stdout
                self.fail(f"no {what} after {seconds} s: {status}\n{logs}")
            time.sleep(0.02)

    def wait_for_epochs(self, cluster, job, epochs):
        return self.wait(cluster, job, lambda status: len(
            status["epochs"]) >= epochs, what=f"{epochs} epochs")

    def told(self, cluster, job, text, seconds=30):
        """Waits until the job's log has `text`."""
        deadline = time.monotonic() + seconds
        while text not in (logs := cluster.call("logs", job).stdout):
            self.assertLess(time.monotonic(), deadline,
                            f"no '{text}' in:\n{logs}")
            time.sleep(0.02)

    def under_way(self, cluster, job):
        """Waits for a moment in the middle of the training, nobody's choice."""
        self.wait_for_epochs(cluster, job, self.random.randint(1, 5))
        time.sleep(self.random.uniform(0, 0.3))
        status = self.status(cluster, job)
        self.assertEqual(status["job"]["state"], "RUNNING",
                         "the fault came too late; the job must be longer")
        return status

    def succeed(self, cluster, job, seconds=120):
        status = self.wait(cluster, job, lambda status: status["job"][
            "state"] == "SUCCEEDED", seconds, "success")
        return status

    def digest_of(self, job):
        """Of the undisturbed run of the same job."""
        key = repr({name: part for name, part in job.items()
                    if name not in ("tables", "checkpoint")})
        if key not in FaultTest.undisturbed:
            plain = dict(job, name="plain",
                         tables=dict(job["tables"], replicas=1),
                         output={"directory": "plain"})
            plain.pop("checkpoint", None)
            FaultTest.undisturbed[key] = self.train(plain).digest
        return FaultTest.undisturbed[key]

    def check_same_model(self, cluster, job, status, recoveries=None):
        """The model is that of the undisturbed run."""
        self.assertEqual(status["model"]["digest"], self.digest_of(job),
                         status)
        # What the model's file says is what the scheduler says.
        digest = call("digest", status["model"]["path"])
        self.assertIn(status["model"]["digest"], digest.stdout)
        if recoveries is not None:
            self.assertGreaterEqual(status["recoveries"], recoveries,
                                    "the fault changed nothing")
        examples = {epoch["examples"] for epoch in status["epochs"]}
        self.assertEqual(len(examples), 1, status["epochs"])
        self.assertEqual(len(status["epochs"]), job["train"]["epochs"])
