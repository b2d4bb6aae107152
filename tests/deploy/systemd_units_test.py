#!/usr/bin/env python3
"""The systemd units are right, and start the daemons."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/deploy")
import daemons  # noqa: E402

ROLES = ("scheduler", "server", "worker")


def unit_path(role):
    return "deploy/systemd/seraph-%s.service" % role


def read_unit(role):
    """The unit as a list of (key, value); comments and sections are dropped."""
    with open(unit_path(role), encoding="utf-8") as lines:
        return re.findall(r"^(\w+)=(.*)$", lines.read(), re.MULTILINE)


def values_of(role, key):
    """The values of a key, with specifiers as systemd would replace them."""
    return [value.replace("%S", "/var/lib").replace("%C", "/var/cache")
            for name, value in read_unit(role) if name == key]


def map_into(root, text):
    """Files of the machine are those of the root; nothing else changes."""
    return root.map(text) if text.startswith(("/etc/", "/var/")) else text


class UnitsTest(unittest.TestCase):

    def test_one_unit_for_each_daemon(self):
        self.assertEqual(sorted(glob.glob("deploy/systemd/*")),
                         [unit_path(role) for role in ROLES])

    @unittest.skipUnless(shutil.which("systemd-analyze"),
                         "systemd-analyze is not installed")
    def test_systemd_has_nothing_to_say(self):
        # Real files under their own names: systemd resolves links.
        root = daemons.Root()
        self.addCleanup(root.remove)
        paths = []
        for role in ROLES:
            path = "/etc/systemd/system/seraph-%s.service" % role
            root.install(unit_path(role), path)
            paths.append(root.map(path))
        result = subprocess.run(["systemd-analyze", "verify"] + paths,
                                check=False, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_units_start_the_daemons(self):
        root = daemons.Root()
        self.addCleanup(root.remove)
        root.install("deploy/cluster.yaml", "/etc/seraph/cluster.yaml")
        commands = {}
        environments = {}
        for role in ROLES:
            (command,) = values_of(role, "ExecStart")
            commands[role] = [map_into(root, word)
                              for word in shlex.split(command)]
            environments[role] = {}
            for text in values_of(role, "Environment"):
                name, value = text.split("=", 1)
                environments[role][name] = map_into(root, value)
            for key, parent in (("StateDirectory", "/var/lib/"),
                                ("CacheDirectory", "/var/cache/")):
                for name in values_of(role, key):
                    root.make_folder(parent + name, writable=True)
            self.assertEqual(values_of(role, "Type"), ["notify"])
            self.assertEqual(values_of(role, "DynamicUser"), ["yes"])
        daemons.start_as_shipped(self, commands, root, environments,
                                 user=daemons.UNPRIVILEGED)

    def test_an_invalid_file_is_not_tried_again(self):
        root = daemons.Root()
        self.addCleanup(root.remove)
        for role in ROLES:
            with self.subTest(role=role):
                (command,) = values_of(role, "ExecStart")
                words = [map_into(root, word) for word in shlex.split(command)]
                # The file is missing.
                result = subprocess.run(
                    words, check=False, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env={"PATH": root.bin + ":/usr/bin:/bin"})
                self.assertIn(str(result.returncode),
                              values_of(role, "RestartPreventExitStatus"),
                              result.stdout)


if __name__ == "__main__":
    unittest.main()
