#!/usr/bin/env python3
"""Tests make_package_data.py on a small index."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "deploy/quickstart")
import make_package_data as maker  # noqa: E402  (after the path is set)

INDEX = """\
Package: libfoo1
Source: foo (1.2)
Section: libs
Installed-Size: 64
Size: 16384
Depends: libc6 (>= 2.34), libbar | libbaz
Homepage: https://example.com
Description: Foo library
 The long text is not read:
 Section: games

Package: libfoo-dev
Source: foo
Section: contrib/libdevel
Installed-Size: 0
Description: Foo library, C++ development files

Package: foo
Section: games
Description: game of foo
Installed-Size: 8

Package: untold
Section: misc

Package: libfoo1
Section: oldlibs
Description: the same name again, in another version
"""


def read_libsvm(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            label, *pairs = line.split()
            yield int(label), [int(pair.split(":")[0]) for pair in pairs]


def make_many(count):
    """An index of `count` packages, three of each source."""
    return "\n".join(
        "Package: p%d\nSource: s%d\nSection: %s\nInstalled-Size: %d\n"
        "Description: number n%d of source s%d\n" %
        (i, i // 3, "libs" if i % 2 else "utils", i + 1, i, i // 3)
        for i in range(count))


class ParagraphTest(unittest.TestCase):

    def setUp(self):
        self.packages = maker.usable_packages(INDEX.split("\n"))

    def test_takes_the_first_of_a_name_and_none_without_description(self):
        self.assertEqual(set(self.packages), {"libfoo1", "libfoo-dev", "foo"})
        self.assertEqual(self.packages["libfoo1"]["Section"], "libs")

    def test_reads_sources_and_sections(self):
        self.assertEqual(maker.source_of(self.packages["libfoo1"]), "foo")
        self.assertEqual(maker.source_of(self.packages["foo"]), "foo")
        self.assertEqual(maker.section_of(self.packages["libfoo-dev"]),
                         "libdevel")

    def test_features_are_words_and_pairs(self):
        self.assertEqual(
            maker.features_of("Foo library, C++ 3D"),
            {"foo", "library", "c++", "d", "foo library", "library c++",
             "c++ d"})

    def test_csv_counts_dependencies_and_leaves_unknown_sizes_empty(self):
        self.assertEqual(
            maker.csv_record(self.packages["libfoo1"]),
            ["6.0000", "4.0000", "2", "0", "2", "1", "libs", "optional",
             "all"])
        self.assertEqual(maker.csv_record(self.packages["foo"])[:2],
                         ["3.0000", ""])
        self.assertIsNone(maker.csv_record(self.packages["libfoo-dev"]))


class FilesTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def make(self, text, name="data"):
        index = os.path.join(self.folder.name, "index")
        with open(index, "w", encoding="utf-8") as file:
            file.write(text)
        data = os.path.join(self.folder.name, name)
        result = subprocess.run(
            ["deploy/quickstart/make_package_data.py", data, "--index", index],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        return result, data

    def read(self, data, name):
        with open(os.path.join(data, name), "rb") as file:
            return file.read()

    def test_parts_share_no_source_and_lose_nothing(self):
        result, data = self.make(make_many(600))
        self.assertEqual(result.returncode, 0, result.stderr)
        sources = {}
        for part in ("train", "validation"):
            rows = list(read_libsvm(os.path.join(data, part + ".libsvm")))
            keys = {key for _, row in rows for key in row}
            sources[part] = {i for i in range(200)
                             if maker.hash64("s%d" % i) in keys}
            self.assertEqual(len(rows), 3 * len(sources[part]))
            self.assertEqual({label for label, _ in rows}, {0, 1})
        self.assertFalse(sources["train"] & sources["validation"])
        self.assertEqual(len(sources["train"] | sources["validation"]), 200)
        self.assertGreater(len(sources["validation"]), 5)
        self.assertLess(len(sources["validation"]), 50)

    def test_labels_are_those_of_the_sections(self):
        _, data = self.make(make_many(600))
        for label, keys in read_libsvm(os.path.join(data, "train.libsvm")):
            number = next(i for i in range(600)
                          if maker.hash64("n%d" % i) in keys)
            self.assertEqual(label, number % 2)

    def test_the_word_list_names_the_keys_of_frequent_words(self):
        _, data = self.make(make_many(600))
        words = dict(line.split("\t") for line in
                     self.read(data, "words.tsv").decode().splitlines())
        self.assertEqual(words[str(maker.hash64("number"))], "number")
        self.assertNotIn(str(maker.hash64("n0")), words)  # Once, not thrice.

    def test_the_same_index_gives_the_same_files(self):
        _, first = self.make(make_many(300), "first")
        _, second = self.make(make_many(300), "second")
        for name in sorted(os.listdir(first)):
            self.assertEqual(self.read(first, name), self.read(second, name))

    def test_too_small_an_index_leaves_no_folder(self):
        result, data = self.make(INDEX)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("only 3 usable packages", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["index"])


if __name__ == "__main__":
    unittest.main()
