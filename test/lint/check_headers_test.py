#!/usr/bin/env python3
"""scripts/check-headers over a small tree: few translation units, and a header that needs another's includes is found in any position."""
import re
import unittest

from small_tree import run, small_tree

SOUND = {
    "pkg/low.h": "#pragma once\n#include <string>\nstruct Low { std::string name; };\n",
    "pkg/middle.h": '#pragma once\n#include <string>\n#include <vector>\n\n#include "pkg/low.h"\nstruct Middle { std::vector<Low> lows; };\n',
    "pkg/top.h": '#pragma once\n#include "pkg/middle.h"\nstruct Top { Middle middle; };\n',
    "pkg/other.h": '#pragma once\n#include "pkg/low.h"\nstruct Other { Low low; };\n',
}


class CheckHeaders(unittest.TestCase):
    def run_over(self, changes, *arguments):
        with small_tree({**SOUND, **changes}, "scripts/check-headers") as root:
            return run(root / "scripts/check-headers", *arguments)

    def test_a_sound_tree_passes_in_few_units(self):
        self.assertEqual(self.run_over({}), (0, "check-headers: 4 headers in 2 translation units are self-contained\n"))

    def test_a_header_that_leans_on_others_is_named_and_no_other(self):
        for changes, guilty in (
            ({"pkg/low.h": "#pragma once\nstruct Low { std::string name; };\n"}, {"pkg/low.h", "pkg/other.h"}),
            ({"pkg/middle.h": '#pragma once\n#include "pkg/low.h"\nstruct Middle { std::deque<Low> lows; };\n'}, {"pkg/middle.h", "pkg/top.h"}),
            ({"pkg/top.h": '#pragma once\n#include "pkg/middle.h"\nstruct Top { Other other; };\n'}, {"pkg/top.h"}),
            ({"pkg/top.h": '#pragma once\n#ifdef NEVER\n#include "pkg/middle.h"\n#endif\nstruct Top { Middle middle; };\n'}, {"pkg/top.h"}),
        ):
            with self.subTest(changes):
                status, text = self.run_over(changes)
                self.assertEqual(status, 1)
                found = set(re.findall(r"check-headers: (\S+) is not self-contained", text))
                self.assertEqual(found, guilty, text)

    def test_named_headers_are_checked_alone(self):
        self.assertEqual(self.run_over({"pkg/top.h": "struct Top { Middle middle; };\n"}, "pkg/other.h")[0], 0)


if __name__ == "__main__":
    unittest.main()
