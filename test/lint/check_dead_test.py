#!/usr/bin/env python3
"""scripts/check-dead over a small tree: what nothing uses is named, and nothing else."""
import unittest

from small_tree import run, small_tree

SOURCE = """int used_far(int x) {
  return x;
}
int Thing::used_near() const {
  return 1;
}
"""
HEADER = """// unused_in_text is only a word here.
int used_far(int x);
enum Bits { kBitOne = 1 };
struct Thing {
  int used_near() const;
  int inlined() const { return used_near(); }
  const char* text = "unused_in_text";
};
#define MADE(name) int make_##name();
"""
USER = """int f() {
  Thing thing;
  return used_far(kBitOne) + thing.inlined() + (thing.text ? 1 : 0);
}
MADE(chair)
"""


class CheckDead(unittest.TestCase):
    def dead(self, header="", source=""):
        files = {"pkg/one/one.h": HEADER + header, "pkg/one/one.cc": SOURCE + source, "pkg/two/two.cc": USER}
        with small_tree(files, "scripts/check-dead") as root:
            status, text = run(root / "scripts/check-dead")
        found = {line.split("nothing uses ")[1].split(":")[0] for line in text.splitlines() if "nothing uses " in line}
        self.assertEqual(status, 1 if found else 0, text)
        return found

    def test_what_is_used_far_near_inline_or_by_a_macro_is_alive(self):
        self.assertEqual(self.dead("int make_chair();\n"), set())

    def test_functions_constants_types_and_aliases_that_nothing_uses(self):
        self.assertEqual(self.dead("int lost(int x);\n", "int lost(int x) {\n  return x;\n}\n"), {"lost"})
        self.assertEqual(self.dead("int unused_in_text();\n"), {"unused_in_text"})
        self.assertEqual(self.dead("inline constexpr int kLost = 3;\nstruct Lost {\n  int x;\n};\nusing Other = int;\n"), {"kLost", "Lost", "Other"})


if __name__ == "__main__":
    unittest.main()
