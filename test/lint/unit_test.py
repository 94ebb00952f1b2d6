#!/usr/bin/env python3
"""scripts/unit over a small tree: which test programs the changed files need."""
import subprocess
import unittest

from small_tree import run, small_tree

TREE = {
    "pkg/low/CMakeLists.txt": "dra_package(low)\n",
    "pkg/low/low.h": "#pragma once\n",
    "pkg/low/low.cc": '#include "pkg/low/low.h"\n',
    "pkg/low/low_test.cc": '#include "pkg/low/low.h"\n',
    "pkg/top/CMakeLists.txt": "dra_package(top DEPS low)\n",
    "pkg/top/top.h": '#pragma once\n#include "pkg/low/low.h"\n',
    "pkg/top/top_test.cc": '#include "pkg/top/top.h"\n',
    "pkg/bare/CMakeLists.txt": "dra_package(bare DEPS low)\n",
    "pkg/bare/bare.cc": '#include "pkg/low/low.h"\n',
    "test/integration/CMakeLists.txt": "dra_test(integration_all_test)\n",
    "test/integration/gate_test.cc": '#include "pkg/top/top.h"\n',
    "README.md": "text\n",
}


class Unit(unittest.TestCase):
    def needed(self, *changed):
        """The test programs that scripts/unit names once these files have one line more."""
        with small_tree(TREE, "scripts/unit") as root:
            git = ["git", "-C", root, "-c", "user.name=test", "-c", "user.email=test@example.com"]
            subprocess.run([*git, "commit", "-q", "-m", "a tree"], check=True)
            for name in changed:
                with open(root / name, "a", encoding="utf-8") as file:
                    file.write("// more\n")
            status, text = run(root / "scripts/unit")
        self.assertEqual(status, 0, text)
        return {line.split("T=")[1].split()[0] for line in text.splitlines() if "T=" in line and "#" in line}

    def test_a_source_file_needs_its_own_package(self):
        self.assertEqual(self.needed("pkg/low/low.cc"), {"low"})

    def test_a_header_needs_every_package_that_includes_it_also_through_others(self):
        self.assertEqual(self.needed("pkg/low/low.h"), {"low", "top", "integration_gate"})

    def test_files_that_are_not_committed_count(self):
        self.assertEqual(self.needed("pkg/top/new_test.cc"), {"top"})

    def test_nothing_is_named_for_other_files_and_packages_without_tests(self):
        self.assertEqual(self.needed("README.md", "pkg/bare/bare.cc"), set())


if __name__ == "__main__":
    unittest.main()
