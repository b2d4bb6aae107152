#!/usr/bin/env python3
"""The container image would hold every library that the programs need."""

import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/deploy")
import daemons  # noqa: E402

# In every Debian image: apt itself needs them.
BASE_PACKAGES = {"libc6", "libgcc-s1", "libstdc++6"}


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def libraries_of(program):
    """Name and path of each shared library that the program itself names."""
    program = os.path.realpath(program)
    named = re.findall(r"\(NEEDED\).*\[(.+)\]",
                       output_of("readelf", "-dW", program))
    found = dict(re.findall(r"^\s*(\S+) => (\S+)", output_of("ldd", program),
                            re.MULTILINE))
    return {name: found[name] for name in named if name in found}


def packages_of(paths):
    """The package of each file."""
    # /lib may be a link to /usr/lib, and packages know either name. One call
    # for all: each reads the lists of all packages.
    names = {name: path for path in paths
             for name in (path, os.path.realpath(path), "/usr" + path)}
    result = subprocess.run(["dpkg", "-S"] + sorted(names), check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    return {names[line.split(": ")[1]]: line.split(":")[0]
            for line in result.stdout.splitlines()}


class ContainerImageTest(unittest.TestCase):

    def test_runtime_packages_hold_every_library(self):
        listed = set(output_of("deploy/install-dependencies", "--list",
                               "runtime").split())
        paths = {}
        for program in daemons.BINARIES.values():
            libraries = libraries_of(program)
            self.assertTrue(libraries, program)
            if any(re.match("lib(a|ub|t)san", name) for name in libraries):
                self.skipTest("a sanitizer's build is not what is shipped")
            paths.update(libraries)
        packages = packages_of(set(paths.values()))
        self.assertEqual(set(paths.values()) - packages.keys(), set())
        needed = set(packages.values())
        self.assertEqual(needed - listed - BASE_PACKAGES, set())
        # And nothing that is not needed any more.
        self.assertEqual(listed - needed, set())

    def test_the_image_holds_every_program(self):
        with open("deploy/Dockerfile", encoding="utf-8") as file:
            text = file.read()
        for name, path in daemons.BINARIES.items():
            self.assertIn("//" + path.replace("/", ":"), text)
            self.assertIn("bazel-bin/" + path, text)


if __name__ == "__main__":
    unittest.main()
