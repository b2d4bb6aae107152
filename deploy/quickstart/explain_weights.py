#!/usr/bin/env python3
"""Shows which words speak for and against a library, by a model's weights."""

import sys

SHOWN = 12


def read_pairs(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            key, value = line.rstrip("\n").split("\t")
            yield key, value


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: explain_weights.py WEIGHTS WORDS\n"
                 "WEIGHTS is `seraphctl export --format text` of a linear "
                 "model; WORDS is words.tsv of make_package_data.py.")
    words = dict(read_pairs(sys.argv[2]))
    weights = [(float(weight), words[key])
               for key, weight in read_pairs(sys.argv[1]) if key in words]
    weights.sort()
    print("What it learned, from the strongest weight on:")
    for title, chosen in (("a library    ", weights[::-1][:SHOWN]),
                          ("not a library", weights[:SHOWN])):
        print("  %s  %s" % (title, ", ".join(
            "%s (%+.1f)" % (word, weight) for weight, word in chosen)))


if __name__ == "__main__":
    main()
