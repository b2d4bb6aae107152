"""Jobs on clusters of real daemons, for the tests of this folder."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SERAPHCTL = os.path.abspath("client/seraphctl")
DAEMONS = {role: os.path.abspath(f"{role}/seraph-{role}")
           for role in ("scheduler", "server", "worker")}


def data_folder():
    """The published data sets; the test is skipped where they are not."""
    folder = os.environ.get("SERAPH_TEST_DATA", "")
    if not os.path.isdir(folder):
        raise unittest.SkipTest(
            "SERAPH_TEST_DATA names no folder: published data sets are absent")
    return folder


class Result:
    """What a run of seraphctl left."""

    def __init__(self, process):
        self.code = process.returncode
        self.stdout = process.stdout
        self.stderr = process.stderr
        try:
            self.json = json.loads(process.stdout)
        except ValueError:
            self.json = None

    @property
    def digest(self):
        return self.json["model"]["digest"]

    def last(self, part):
        return self.json["epochs"][-1][part]


def call(*arguments, timeout=300, wrap=lambda command: command, **keywords):
    """Runs seraphctl to its end."""
    return Result(subprocess.run(
        wrap([SERAPHCTL, *map(str, arguments)]), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=timeout, check=False,
        **keywords))


class ClusterTest(unittest.TestCase):
    """A test with a folder of its own for job files and models."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="seraph-cluster-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def job_file(self, job):
        """JSON is YAML."""
        job = dict(job)
        job.setdefault("name", "test")
        job.setdefault("output", {"directory": "out"})
        return self.write("job.yaml", json.dumps(job, indent=1))

    def run_job(self, job, servers=1, workers=1, timeout=300, **keywords):
        return call("run", self.job_file(job), "-o", "json", "--servers",
                    servers, "--workers", workers, timeout=timeout, **keywords)

    def train(self, job, **keywords):
        """Runs a job that must succeed."""
        result = self.run_job(job, **keywords)
        self.assertEqual(result.code, 0, result.stderr[-4000:])
        self.assertEqual(result.json["job"]["state"], "SUCCEEDED")
        return result


def sparse_rows(count, keys, seed, labels=(0, 1), per_row=6):
    """libsvm rows whose label follows from their keys, with some noise."""
    draw = random.Random(seed)
    weights = [draw.gauss(0, 1.5) for _ in range(keys + 1)]
    rows = []
    for _ in range(count):
        row = sorted(draw.sample(range(1, keys + 1), per_row))
        values = [round(draw.uniform(0.2, 1.5), 3) for _ in row]
        score = sum(weights[k] * v for k, v in zip(row, values))
        label = labels[int(score + draw.gauss(0, 0.5) > 0)]
        rows.append(f"{label} " + " ".join(
            f"{k}:{v}" for k, v in zip(row, values)))
    return "\n".join(rows) + "\n"


class Cluster:
    """Daemons that outlive a job; to be used in a `with`."""

    def __init__(self, folder, servers=1, workers=1, sets=()):
        self.folder = folder
        self.sets = list(sets)
        self.daemons = {}  # Name -> process.
        self.addresses = {}
        try:
            self.start_all(servers, workers)
        except BaseException:
            for process in self.daemons.values():
                process.kill()
                process.wait()
            raise

    def start_all(self, servers, workers):
        folder = self.folder
        self.start("scheduler", "scheduler", "scheduler.listen",
                   ("scheduler.state_directory=" +
                    os.path.join(folder, "state"),))
        self.scheduler = self.addresses["scheduler"]
        for i in range(servers):
            self.start(f"server-{i}", "server", "server.listen")
        for i in range(workers):
            self.start(f"worker-{i}", "worker", "worker.listen",
                       ("worker.spool_directory=" +
                        os.path.join(folder, f"spool-{i}"),))
        self.wait_for(servers + workers)

    def start(self, name, role, listen, more=()):
        ready = os.path.join(self.folder, f"{name}.ready")
        if os.path.exists(ready):
            os.remove(ready)
        log = open(os.path.join(self.folder, f"{name}.log"), "w",
                   encoding="utf-8")
        sets = [f"{listen}=127.0.0.1:0", *self.sets, *more]
        if role != "scheduler":
            sets.append(f"cluster.scheduler={self.scheduler}")
        command = [DAEMONS[role], "--ready-file", ready]
        for one in sets:
            command += ["--set", one]
        self.daemons[name] = subprocess.Popen(self.command_of(name, command),
                                              stderr=log, stdout=log)
        log.close()
        deadline = time.monotonic() + 30
        while not os.path.exists(ready):
            if self.daemons[name].poll() is not None:
                raise AssertionError(f"{name} did not start:\n" +
                                     self.log(name))
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} is not ready after 30 s")
            time.sleep(0.02)
        with open(ready, encoding="utf-8") as file:
            self.addresses[name] = file.read().strip()

    def command_of(self, name, command):
        """Where and how a program runs; `name`: a daemon, or seraphctl."""
        del name
        return command

    def log(self, name):
        with open(os.path.join(self.folder, f"{name}.log"),
                  encoding="utf-8") as file:
            return file.read()

    def wait_for(self, alive):
        deadline = time.monotonic() + 30
        while True:
            answer = self.call("cluster", "-o", "json")
            nodes = answer.json["nodes"] if answer.code == 0 else []
            if sum(node["state"] == "ALIVE" for node in nodes) == alive:
                return
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{nodes} are not {alive} nodes; {answer.stderr}")
            time.sleep(0.05)

    def call(self, *arguments, **keywords):
        return call(*arguments, "--scheduler", self.scheduler,
                    wrap=lambda command: self.command_of("seraphctl", command),
                    **keywords)

    def kill(self, name):
        self.daemons[name].send_signal(signal.SIGKILL)
        self.daemons[name].wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Stops all in good order; each must end with 0."""
        codes = {}
        for name, process in reversed(self.daemons.items()):
            if process.poll() is None:
                process.terminate()
                try:
                    codes[name] = process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    codes[name] = "hangs"
        wrong = {name: code for name, code in codes.items() if code != 0}
        if wrong:
            for name in wrong:
                sys.stderr.write(f"--- {name}\n{self.log(name)[-2000:]}\n")
            raise AssertionError(f"daemons did not end with 0: {wrong}")
