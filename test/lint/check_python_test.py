#!/usr/bin/env python3
"""scripts/check-python over a small tree: what would break a script only when it runs is named, and nothing else."""
import unittest

from small_tree import run, small_tree

HELPER = "import os\n\nLIMIT = 3\n\n\ndef used():\n    return os.sep\n"


class CheckPython(unittest.TestCase):
    def faults(self, text, name="test/a_test.py"):
        """The lines that check-python prints about a script, with HELPER beside it."""
        with small_tree({name: text, "test/helper.py": HELPER}, "scripts/check-python") as root:
            status, said = run(root / "scripts/check-python")
        found = said.splitlines()[:-1]
        self.assertEqual(status, 1 if found else 0, said)
        return found

    def test_names_that_the_other_script_has(self):
        self.assertEqual(self.faults("from helper import LIMIT, used\n\nprint(LIMIT, used())\n"), [])

    def test_a_name_that_the_other_script_lost(self):
        self.assertEqual(self.faults("from helper import gone, used\n\nprint(gone, used())\n"), ["test/a_test.py:1: helper.py has no gone"])

    def test_a_name_that_nothing_defines(self):
        self.assertEqual(len(self.faults("print(nothing)\n")), 1)

    def test_scripts_without_an_ending_are_read(self):
        self.assertEqual(len(self.faults("#!/usr/bin/env python3\nprint(nothing)\n", "scripts/one")), 1)
        self.assertEqual(self.faults("#!/bin/sh\nprint nothing\n", "scripts/one"), [])

    def test_unused_imports_unless_marked(self):
        self.assertEqual(len(self.faults("import helper\n")), 1)
        self.assertEqual(self.faults("import helper  # noqa: F401\n"), [])

    def test_a_script_that_does_not_parse(self):
        self.assertTrue(self.faults("def broken(:\n"))


if __name__ == "__main__":
    unittest.main()
