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
    """The names of the shared libraries that the program itself asks for."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]",
                      output_of("readelf", "-dW", os.path.realpath(program)))


def package_of(library):
    """The package with the file that the loader would take."""
    packages = {line.split(":")[0] for line in
                output_of("dpkg", "-S", "*/" + library).splitlines()}
    assert len(packages) == 1, (library, packages)
    return packages.pop()


class ContainerImageTest(unittest.TestCase):

    def test_runtime_packages_hold_every_library(self):
        listed = set(output_of("deploy/install-dependencies", "--list",
                               "runtime").split())
        needed = {}
        for program in daemons.BINARIES.values():
            libraries = libraries_of(program)
            self.assertTrue(libraries, program)
            if any(re.match("lib(a|ub|t)san", name) for name in libraries):
                self.skipTest("a sanitizer's build is not what is shipped")
            for library in libraries:
                if not library.startswith("ld-linux"):
                    needed.setdefault(package_of(library), []).append(library)
        self.assertEqual(needed.keys() - listed - BASE_PACKAGES, set(), needed)
        # And nothing that is not needed any more.
        self.assertEqual(listed - needed.keys(), set())

    def test_the_image_holds_every_program(self):
        with open("deploy/Dockerfile", encoding="utf-8") as file:
            text = file.read()
        for name, path in daemons.BINARIES.items():
            self.assertIn("//" + path.replace("/", ":"), text)
            self.assertIn("bazel-bin/" + path, text)


if __name__ == "__main__":
    unittest.main()
