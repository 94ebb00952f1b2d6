#!/usr/bin/env python3
"""The table of annotations (pkg/protocol/annotations.cc) is complete: every name with our prefix that the code reads or writes is a row of it, a mark of
the manager, or one of the other names below; each row has a reader; and each row's page says the name."""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = "pkg/protocol/annotations.cc"
LITERAL = re.compile(r'"(dra-controller-manager/[a-z-]+)"')
# Names that are no annotations of objects that users write.
OTHERS = {
    "dra-controller-manager/allocation": "the scheduling gate",
    "dra-controller-manager/recreate-pinned-pods": "a label of namespaces",
    "dra-controller-manager/recover": "a label of namespaces",
    "dra-controller-manager/do-not-move": "read by the searches of dra-conformance alone: no manager moves pods",
    "dra-controller-manager/tainted-with": "a label of the rules that kubectl dra taint makes",
    "dra-controller-manager/version": "on the manager's own Lease",
    "dra-controller-manager/mode": "on the manager's own Lease",
    "dra-controller-manager/opt-in": "on the manager's own Lease",
    "dra-controller-manager/scheduler-names": "on the manager's own Lease",
    "dra-controller-manager/exclusive-drivers": "on the manager's own Lease",
    "dra-controller-manager/shared-drivers": "on the manager's own Lease",
    "dra-controller-manager/preempts": "on the manager's own Lease",
    "dra-controller-manager/quarantine": "on the manager's own Lease",
    "dra-controller-manager/moves": "on the manager's own Lease",
    "dra-controller-manager/usage": "on the manager's own Lease",
}


def sources():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "pkg", "client", "controllers", "cmd"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split("\n")
    for name in listed:
        if name.endswith((".h", ".cc")) and not re.search(r"_test\.cc$|_fixture\.h$|/testing/", name) and os.path.isfile(os.path.join(ROOT, name)):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                yield name, file.read()


def table():
    """(rows of users: {name: page}, marks of the manager)."""
    with open(os.path.join(ROOT, TABLE), encoding="utf-8") as file:
        text = file.read()
    users, _, marks = text.partition("kManagerMarks{{")
    rows = {}
    for row in re.finditer(r'\{"(dra-controller-manager/[a-z-]+)", k.*?"([\w/.-]+\.md)"\}', users, re.DOTALL):
        rows[row.group(1)] = row.group(2)
    return rows, set(LITERAL.findall(marks.partition("}};")[0]))


class Annotations(unittest.TestCase):
    def test_every_name_is_in_the_table(self):
        rows, marks = table()
        self.assertGreater(len(rows), 5, "the test no longer reads the table")
        self.assertGreater(len(marks), 3, "the test no longer reads the table")
        read = {}
        for name, text in sources():
            if name != TABLE:
                for literal in LITERAL.findall(text):
                    read.setdefault(literal, name)
        for literal, name in sorted(read.items()):
            self.assertIn(literal, {*rows, *marks, *OTHERS}, f"{name} has {literal}: add a row to {TABLE}")
        for row in sorted({*rows, *marks}):
            self.assertIn(row, read, f"{TABLE} has {row}, which nothing reads")

    def test_each_page_says_its_names(self):
        for row, page in table()[0].items():
            with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
                self.assertIn(row, file.read(), f"{TABLE} says that docs/{page} is about {row}")


if __name__ == "__main__":
    sys.exit(unittest.main())
