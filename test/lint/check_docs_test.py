#!/usr/bin/env python3
"""scripts/check-docs over a small tree: no output if every name exists, and one complaint for each that does not."""
import unittest

from small_tree import ROOT, run, small_tree

SOUND = {
    "README.md": "See [the design](docs/design/way.md), `pkg/a/a.h` and ../shared/conformance/x.json.\n",
    "pkg/a/a.h": "// A thing; b.h has the other one. https://example.com/pkg/none.md\nvoid go() { answer(); }\n",
    "pkg/a/b.h": "int answer();  // pkg/a/a_test.cc\n",
    "pkg/a/a_test.cc": "TEST(Suite, Name) {}\n",
    "docs/design/way.md": "Hops: 2, files: 2, left out: 0.\n\n| 1 | `pkg/a/a.h` | `go` | x |\n| 2 | `pkg/a/b.h` | `answer` | y |\n\n`Suite.Name`\n",
}
DOCSTRING = "%sReads\n  docs/none.md\n%s\n" % (3 * '"', 3 * '"')


class CheckDocs(unittest.TestCase):
    def run_over(self, changes):
        with small_tree({**SOUND, **changes}) as root:
            status, text = run(ROOT / "scripts/check-docs", root)
        self.assertEqual(status, 1 if text else 0)
        return text

    def test_a_sound_tree_is_quiet(self):
        self.assertEqual(self.run_over({}), "")

    def test_each_fault_is_named(self):
        way = SOUND["docs/design/way.md"]
        for changes, said in (
            ({"README.md": "`pkg/a/gone.h`\n"}, "README.md:1: pkg/a/gone.h is not in this tree"),
            ({"README.md": "DESIGN.md says so.\n"}, "README.md:1: DESIGN.md is not in this tree"),
            ({"README.md": "It calls `go()` and `gone()`.\n"}, "README.md:1: no C++ source has gone()"),
            ({"README.md": "[here](docs/none)\n"}, "README.md:1: the link to docs/none leads nowhere"),
            ({"pkg/a/a.h": "void go();\n// As ../shared/reference/x.md has it.\n"}, "pkg/a/a.h:2: ../shared/reference/x.md is not in this tree"),
            ({"pkg/b/c.h": "// See a.h.\n"}, "pkg/b/c.h:1: a.h is not in this tree"),
            ({"pkg/a/tool.py": DOCSTRING}, "pkg/a/tool.py:2: docs/none.md is not in this tree"),
            ({"docs/design/way.md": way.replace("`go`", "`gone`")}, "docs/design/way.md:3: pkg/a/a.h has no gone"),
            ({"docs/design/way.md": way.replace("Hops: 2", "Hops: 3")}, "says 'Hops: 3, files: 2, left out: 0.', but there are 2 hops over 2 files, left out: 0"),
            ({"docs/design/way.md": way.replace(", left out: 0", "")}, "says 'Hops: 2, files: 2.', but there are 2 hops over 2 files, left out: 0"),
            # Nothing leads from the first row to the second: a function between them has no row. A comment is no call.
            ({"pkg/a/a.h": "// Calls answer().\nvoid go();\n"}, "but there are 2 hops over 2 files, left out: 1"),
            ({"docs/design/way.md": way.replace("| 2 |", "| 3 |")}, "hop 2 is numbered 3"),
            ({"docs/design/way.md": way.replace("Suite.Name", "Suite.Other")}, "there is no test Suite.Other"),
            ({"docs/features.md": "| gate | `Suite.Other` |\n"}, "docs/features.md:1: there is no test Suite.Other"),
        ):
            with self.subTest(said):
                self.assertIn(said, self.run_over(changes))


if __name__ == "__main__":
    unittest.main()
