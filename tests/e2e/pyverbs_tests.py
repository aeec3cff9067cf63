#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""pyverbs_tests.py TESTS LIST: runs the tests of rdma-core in the folder TESTS, those of every vendor, and
compares. LIST names each that does not pass: name, "skipped" or "failed", and why. A test that ends worse than
that, one that is not there, and a name without a reason are told, and the status is 1."""
import importlib
import importlib.machinery
import sys
import unittest

ORDER = ("ok", "skipped", "failed")


class Result(unittest.TestResult):
    """How each test has ended: name -> (word, why)."""

    def __init__(self):
        super().__init__()
        self.ends = {}

    def end(self, test, word, why=""):
        """A test may fail, and its tearDown after it: the worse counts."""
        name = test.id().removeprefix("tests.")
        if ORDER.index(word) >= ORDER.index(self.ends.get(name, ("ok", ""))[0]):
            self.ends[name] = (word, why)

    def addSuccess(self, test):
        self.end(test, "ok")

    def addSkip(self, test, reason):
        self.end(test, "skipped", reason)

    def addError(self, test, err):
        self.end(test, "failed", str(err[1]).strip().split("\n", maxsplit=1)[0])

    addFailure = addError


def each(suite):
    """The tests, but not those of one vendor."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        elif not test.id().startswith(("tests.test_mlx5", "tests.test_efa")):
            yield test


def read(name):
    """The list: name -> word."""
    known = {}
    with open(name, encoding="utf-8") as file:
        for line in file:
            words = line.split(maxsplit=2)
            if not words or words[0].startswith("#"):
                continue
            if len(words) < 3 or words[1] not in ORDER[1:]:
                sys.exit(f"{name}: {line.strip()}: expected NAME skipped|failed REASON")
            known[words[0]] = words[1]
    return known


def main():
    """Status 1: something is worse."""
    folder, known = sys.argv[1], read(sys.argv[2])
    del sys.argv[1:]
    sys.path[:0] = [folder, folder + "/tests"]
    tests = importlib.machinery.SourceFileLoader("tests", folder + "/tests/__init__.py").load_module()
    importlib.import_module("args_parser").parser.parse_args()
    result, worse = Result(), 0
    unittest.TestSuite(each(unittest.defaultTestLoader.loadTestsFromModule(tests))).run(result)
    for name, (word, why) in sorted(result.ends.items()):
        if ORDER.index(word) > ORDER.index(known.get(name, "ok")):
            print(f"worse: {name} {word}: {why}")
            worse += 1
        elif word != known.get(name, "ok"):
            print(f"better: {name} {word}")
    for name in sorted(known.keys() - result.ends.keys()):
        print(f"no such test: {name}")
        worse += 1
    words = [word for word, _ in result.ends.values()]
    print(f"{words.count('ok')} of {len(words)} pass")
    sys.exit(1 if worse or not words else 0)


main()
