#!/usr/bin/env python3
"""scripts/check-format over a small tree: a file that clang-format would change is named."""
import unittest

from small_tree import run, small_tree


class CheckFormat(unittest.TestCase):
    def run_over(self, text):
        with small_tree({"some.cc": text}, "scripts/check-format", ".clang-format") as root:
            return run(root / "scripts/check-format")

    def test_a_formatted_file_passes(self):
        self.assertEqual(self.run_over("int main() {\n  return 0;\n}\n"), (0, "check-format: 1 files are formatted\n"))

    def test_another_fails_and_is_named(self):
        status, text = self.run_over("int main( ) {\n      return 0;\n}\n")
        self.assertNotEqual(status, 0)
        self.assertIn("some.cc:1", text)


if __name__ == "__main__":
    unittest.main()
