#!/usr/bin/env python3
"""Every cluster and job file that deploy/ ships is valid."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/deploy")
sys.path.insert(0, "deploy/quickstart")
import daemons  # noqa: E402
import make_package_data  # noqa: E402

SERAPHCTL = daemons.BINARIES["seraphctl"]
CLUSTER_FILES = ["deploy/cluster.yaml", "deploy/kubernetes/cluster.yaml"]
JOB_FILES = sorted(glob.glob("deploy/jobs/*.yaml"))


def run(*command):
    return subprocess.run(command, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          env={"PATH": "/usr/bin:/bin"})


class ShippedFilesTest(unittest.TestCase):

    def test_cluster_files(self):
        for path in CLUSTER_FILES:
            with self.subTest(path=path):
                result = run(SERAPHCTL, "validate", path)
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_daemons_accept_the_cluster_files(self):
        for path in CLUSTER_FILES:
            for name in ("seraph-scheduler", "seraph-server", "seraph-worker"):
                with self.subTest(path=path, daemon=name):
                    result = run(daemons.BINARIES[name], "--config", path,
                                 "--check")
                    self.assertEqual(result.returncode, 0, result.stdout)
                    self.assertIn("listen: ", result.stdout)

    def test_job_files(self):
        self.assertGreaterEqual(len(JOB_FILES), 6)
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        # Their data is made by ./quickstart, two folders up.
        data = os.path.join(folder, ".quickstart/packages")
        os.makedirs(data)
        packages = {
            "p%d" % i: {"Package": "p%d" % i, "Section": "libs",
                        "Installed-Size": "8", "Description": "number %d" % i}
            for i in range(100)}
        make_package_data.write_data(packages, data)
        jobs = os.path.join(folder, "deploy/jobs")
        os.makedirs(jobs)
        for path in JOB_FILES:
            with self.subTest(path=path):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                outside = re.findall(r"/usr/share/[^\],\s]+", text)
                if not all(map(os.path.exists, outside)):
                    self.skipTest("not installed: %s" % outside)
                copy = os.path.join(jobs, os.path.basename(path))
                with open(copy, "w", encoding="utf-8") as file:
                    file.write(text)
                result = run(SERAPHCTL, "validate", copy)
                self.assertEqual(result.returncode, 0, result.stdout)
                self.assertEqual(re.search("^name: (.+)$", text, re.M)[1],
                                 os.path.basename(path)[:-len(".yaml")])


if __name__ == "__main__":
    unittest.main()
