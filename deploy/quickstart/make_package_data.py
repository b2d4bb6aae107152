#!/usr/bin/env python3
"""Makes the quick start's data sets from the system's package index.

Each package of the distribution has a name, a section and a line that
describes it. From them come

  train.libsvm, validation.libsvm
      Is this package a library (section libs, libdevel or oldlibs)? The
      features are the words of the description and the pairs of neighbouring
      words, each a 64-bit key: sparse, and with no list of known words. The
      name is left out: it would give the answer away.
  words.tsv
      key, word: what the keys of the training part stand for.
  train.csv, validation.csv
      How large is the installed package (log2 of KiB)? From the size of the
      download, the number of dependencies, the section and the like.

About one package in ten is kept for validation. Packages that are built from
one source describe themselves in the same words, so all of them go to the same
part. The files depend on the index alone: no clock, no randomness.
"""

import argparse
import hashlib
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIBRARY_SECTIONS = {"libs", "libdevel", "oldlibs"}
DPKG_STATUS = "/var/lib/dpkg/status"

# Fewer paragraphs than this in the index of the repositories: there is none
# (a container image often has none), only what is installed.
FEWEST_IN_INDEX = 5000

WORD = re.compile(r"[a-z][a-z0-9+#]*")
# A dependency without its alternatives, version and architecture.
DEPENDENCY_SEPARATOR = re.compile(r"\s*,\s*")

# A word of the list of words stands in at least so many training records.
FEWEST_FOR_WORD_LIST = 3

CSV_COLUMNS = ["log2_installed_kib", "log2_download_kib", "dependencies",
               "recommends", "words", "has_homepage", "section", "priority",
               "architecture"]


def read_paragraphs(lines):
    """Yields a dict for each paragraph of a Debian control file."""
    paragraph = {}
    for line in lines:
        line = line.rstrip("\n")
        if not line:
            if paragraph:
                yield paragraph
            paragraph = {}
        elif line[0] not in " \t":  # Continuation lines are not needed.
            name, colon, value = line.partition(":")
            if colon:
                paragraph[name] = value.strip()
    if paragraph:
        yield paragraph


def read_index(path):
    """The packages by name, and where they come from in words for people."""
    if path:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return usable_packages(lines), path
    if shutil.which("apt-cache"):
        # The C locale: no translated field names, whatever the user's is.
        dump = subprocess.run(["apt-cache", "dumpavail"], check=False,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL,
                              env={**os.environ, "LC_ALL": "C"})
        text = dump.stdout.decode("utf-8", errors="replace")
        packages = usable_packages(text.split("\n"))
        if len(packages) >= FEWEST_IN_INDEX:
            return packages, "the package index"
    with open(DPKG_STATUS, encoding="utf-8", errors="replace") as lines:
        return usable_packages(lines), "the installed packages"


def usable_packages(lines):
    packages = {}
    for paragraph in read_paragraphs(lines):
        name = paragraph.get("Package")
        description = paragraph.get("Description") or paragraph.get(
            "Description-en")
        if name and description and paragraph.get("Section"):
            paragraph["Description"] = description
            packages.setdefault(name, paragraph)
    return packages


def hash64(text):
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def source_of(paragraph):
    # "Source: name (version)"; absent when it is the package's own name.
    return paragraph.get("Source", paragraph["Package"]).split(" ")[0]


def section_of(paragraph):
    return paragraph["Section"].rsplit("/", 1)[-1]  # "contrib/libs": "libs"


def features_of(description):
    """The distinct words and word pairs of a description."""
    words = WORD.findall(description.lower())
    pairs = [a + " " + b for a, b in zip(words, words[1:])]
    return set(words) | set(pairs)


def log2_of(text, unit):
    """log2 of a size in `unit` bytes; "" (a missing cell) where there is none."""
    if not text or not text.isdigit() or int(text) == 0:
        return ""
    return "%.4f" % math.log2(int(text) / unit)


def count_of(relation):
    return len(DEPENDENCY_SEPARATOR.split(relation)) if relation else 0


def csv_record(paragraph):
    """The cells of CSV_COLUMNS, or None without a size to predict."""
    installed = log2_of(paragraph.get("Installed-Size"), 1)
    if not installed:
        return None
    return [installed,
            log2_of(paragraph.get("Size"), 1024),
            str(count_of(paragraph.get("Depends"))),
            str(count_of(paragraph.get("Recommends"))),
            str(len(WORD.findall(paragraph["Description"].lower()))),
            str(int("Homepage" in paragraph)),
            section_of(paragraph),
            paragraph.get("Priority", "optional"),
            paragraph.get("Architecture", "all")]


def write_data(packages, folder):
    """Writes all files into `folder`; returns the counts for the summary."""
    counts = {"train": 0, "validation": 0, "libraries": 0, "keys": 0}
    word_counts = {}
    files = {}
    for part in ("train", "validation"):
        for kind in ("libsvm", "csv"):
            files[part, kind] = open(os.path.join(folder, part + "." + kind),
                                     "w", encoding="utf-8", newline="\n")
        files[part, "csv"].write(",".join(CSV_COLUMNS) + "\n")
    # In the order of a hash: any piece of a file is a fair sample of it.
    for name in sorted(packages, key=lambda name: (hash64(name), name)):
        paragraph = packages[name]
        part = ("validation" if hash64(source_of(paragraph)) % 10 == 0
                else "train")
        features = features_of(paragraph["Description"])
        if not features:
            continue
        label = int(section_of(paragraph) in LIBRARY_SECTIONS)
        keys = {hash64(feature): feature for feature in features}
        files[part, "libsvm"].write(
            "%d %s\n" % (label, " ".join("%d:1" % key for key in sorted(keys))))
        cells = csv_record(paragraph)
        if cells:
            files[part, "csv"].write(",".join(cells) + "\n")
        counts[part] += 1
        counts["libraries"] += label
        if part == "train":
            for key, feature in keys.items():
                old = word_counts.get(key, (feature, 0))
                word_counts[key] = (feature, old[1] + 1)
    for file in files.values():
        file.close()
    counts["keys"] = len(word_counts)
    with open(os.path.join(folder, "words.tsv"), "w", encoding="utf-8",
              newline="\n") as words:
        for key in sorted(word_counts):
            feature, count = word_counts[key]
            if count >= FEWEST_FOR_WORD_LIST:
                words.write("%d\t%s\n" % (key, feature))
    return counts


def main():
    parser = argparse.ArgumentParser(
        description="Makes the quick start's data from the package index.")
    parser.add_argument("folder", help="is made, or replaced as a whole")
    parser.add_argument("--index", help="a file in the format of "
                        "/var/lib/dpkg/status, in place of the system's index")
    arguments = parser.parse_args()

    packages, origin = read_index(arguments.index)
    folder = os.path.abspath(arguments.folder)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    # Under the final name there is either nothing or all of it.
    unfinished = tempfile.mkdtemp(prefix=os.path.basename(folder) + ".",
                                  dir=os.path.dirname(folder))
    try:
        counts = write_data(packages, unfinished)
        if not counts["train"] or not counts["validation"]:
            sys.exit("make_package_data.py: only %d usable packages in %s"
                     % (len(packages), origin))
        os.chmod(unfinished, 0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(unfinished, folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    total = counts["train"] + counts["validation"]
    print("%d packages from %s: %d to train on, %d to check with; %d words and "
          "word pairs; %.0f %% are libraries" %
          (total, origin, counts["train"], counts["validation"],
           counts["keys"], 100.0 * counts["libraries"] / total))


if __name__ == "__main__":
    main()
