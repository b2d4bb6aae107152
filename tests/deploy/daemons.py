"""Starts daemons as a service manager would, for the tests of this folder."""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Where the build puts what runs, from the root of the runfiles.
BINARIES = {
    "seraph-scheduler": "scheduler/seraph-scheduler",
    "seraph-server": "server/seraph-server",
    "seraph-worker": "worker/seraph-worker",
    "seraphctl": "client/seraphctl",
}
HEALTH_PROBE = "tests/deploy/health_probe"

# For whatever should happen within a second or two; machines can be busy.
PATIENCE_SECONDS = 60

# The user of the container image; any other than root.
UNPRIVILEGED = 65532


class Root:
    """A folder in place of the root of a machine's file system.

    Holds what an installation would: programs in usr/local/bin, configuration
    in etc/seraph. Readable for every user, as the real places are.
    """

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="seraph-root-", dir="/tmp")
        os.chmod(self.path, 0o755)
        self.bin = self.make_folder("/usr/local/bin")
        for name, source in BINARIES.items():
            # A copy: an unprivileged user may not look into Bazel's folders.
            shutil.copy(os.path.realpath(source), os.path.join(self.bin, name))

    def remove(self):
        shutil.rmtree(self.path)

    def map(self, path):
        return self.path + path

    def make_folder(self, path, writable=False):
        folder = self.map(path)
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o777 if writable else 0o755)
        return folder

    def install(self, source, path):
        """Copies the file `source`, byte for byte, to `path`."""
        self.make_folder(os.path.dirname(path))
        shutil.copyfile(source, self.map(path))
        os.chmod(self.map(path), 0o644)


def free_ports(count):
    """Ports that nobody uses, below those that the kernel hands out itself."""
    ports = []
    while len(ports) < count:
        port = random.randrange(15000, 30000)
        with socket.socket() as candidate:
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports


def wait_until(condition, what):
    """Calls `condition` until it is true; for what other processes do."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited %d s for: %s" %
                                 (PATIENCE_SECONDS, what))
        time.sleep(0.02)


class Daemon:
    """A process, and what a service manager knows of it."""

    def __init__(self, name, arguments, environment, root, user=None):
        """Starts `arguments`; the first is looked up on the PATH of `root`."""
        self.name = name
        self.log_path = root.map("/%s.log" % name)
        # A service manager's READY=1 comes through a socket (sd_notify).
        self.notify_path = root.map("/%s.notify" % name)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.notify_path)
        self.notify.setblocking(False)
        os.chmod(self.notify_path, 0o666)
        self.notified = ""

        def become_user():
            if user is not None and os.geteuid() == 0:
                os.setgid(user)
                os.setuid(user)

        path = root.bin + ":/usr/bin:/bin"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd="/", preexec_fn=become_user,
                env={"PATH": path, "NOTIFY_SOCKET": self.notify_path,
                     **environment})

    def read_log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def assert_running(self):
        if self.process.poll() is not None:
            raise AssertionError("%s ended by itself with %s:\n%s" % (
                self.name, self.process.returncode, self.read_log()))

    def wait_until(self, condition, what):
        def running_and_true():
            self.assert_running()
            return condition()
        try:
            wait_until(running_and_true, "%s: %s" % (self.name, what))
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.read_log())) from None

    def wait_ready(self):
        """Waits for READY=1."""
        def is_ready():
            try:
                self.notified += self.notify.recv(4096).decode() + "\n"
            except BlockingIOError:
                pass
            return "READY=1" in self.notified.split("\n")
        self.wait_until(is_ready, "READY=1")

    def wait_serving(self, port, service):
        """Waits until the health `service` answers SERVING."""
        self.wait_until(lambda: probe(port, service) == 0,
                        "health of '%s'" % service)

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s did not end after SIGTERM:\n%s" % (
                self.name, self.read_log())) from None

    def kill(self):
        """For the end of a test that has failed; ends it whatever happens."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.notify.close()


def probe(port, service):
    """0: serving; 1: not."""
    return subprocess.run([HEALTH_PROBE, "127.0.0.1:%d" % port, service],
                          check=False, stdout=subprocess.DEVNULL).returncode


def start_as_shipped(test, commands, root, environments, user=None):
    """Starts the three daemons, checks them, and stops them.

    `commands` maps scheduler, server and worker to their arguments;
    `environments` to what the unit or manifest sets. Ports are replaced by
    free ones through the documented environment variables, and nothing else.
    """
    ports = dict(zip(commands, free_ports(len(commands))))
    scheduler = "127.0.0.1:%d" % ports["scheduler"]
    daemons = {}
    try:
        for role, arguments in commands.items():
            address = "127.0.0.1:%d" % ports[role]
            environment = dict(environments[role])
            environment["SERAPH_CLUSTER__SCHEDULER"] = scheduler
            environment["SERAPH_%s__LISTEN" % role.upper()] = address
            if role != "scheduler":
                environment["SERAPH_%s__ADVERTISE" % role.upper()] = address
            daemons[role] = Daemon("seraph-" + role, arguments, environment,
                                   root, user)
        for role, daemon in daemons.items():
            daemon.wait_ready()
            for service in ("", "liveness", "readiness"):
                daemon.wait_serving(ports[role], service)
        check_membership(test, root, scheduler)
        # Workers first: nobody is left without its scheduler.
        for role in reversed(list(daemons)):
            test.assertEqual(daemons[role].stop(), 0,
                             daemons[role].read_log())
    finally:
        for daemon in daemons.values():
            daemon.kill()


def check_membership(test, root, scheduler):
    """The scheduler knows the server and the worker."""
    def knows_both():
        result = subprocess.run(
            [os.path.join(root.bin, "seraphctl"), "cluster", "--scheduler",
             scheduler, "-o", "json"],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.returncode == 0 and result.stdout.count(b"ALIVE") >= 2
    wait_until(knows_both, "two nodes in `seraphctl cluster`")
