#!/usr/bin/env python3
"""scripts/check-unity over a small tree: names that would clash in one batch are found, and no others."""
import re
import unittest

from small_tree import ROOT, run, small_tree



def unnamed(text, space="dra"):
    return f"namespace {space} {{\nnamespace {{\n\n{text}\n\n}}  // namespace\n}}  // namespace {space}\n"


class CheckUnity(unittest.TestCase):
    def clashes(self, **files):
        """The number that check-unity prints for these files; "__" in a name means "/"."""
        with small_tree({name.replace("__", "/") + ".cc": text for name, text in files.items()}) as root:
            status, text = run(ROOT / "scripts/check-unity", cwd=root)
        count = int(re.search(r"^check-unity: (\d+) clashes", text, re.MULTILINE).group(1))
        self.assertEqual(status, 1 if count else 0)
        return count

    def test_equal_functions_constants_and_types_clash(self):
        for text in ("int size_of(int x) {\n  return x;\n}", "constexpr int kMost = 3;", "struct Entry {\n  int x;\n};"):
            self.assertEqual(self.clashes(pkg__one__a=unnamed(text), pkg__one__b=unnamed(text)), 1, text)

    def test_overloads_other_packages_and_other_namespaces_do_not(self):
        a, b = "int size_of(int x) {\n  return x;\n}", "int size_of(char x) {\n  return x;\n}"
        self.assertEqual(self.clashes(pkg__one__a=unnamed(a), pkg__one__b=unnamed(b)), 0)
        self.assertEqual(self.clashes(pkg__one__a=unnamed(a), pkg__two__b=unnamed(a)), 0)
        self.assertEqual(self.clashes(pkg__one__a=unnamed(a), pkg__one__b=unnamed(a, "other")), 0)

    def test_a_name_that_the_package_declares_clashes(self):
        named = "namespace dra {\n\nint size_of(int x) {\n  return x;\n}\n\n}  // namespace dra\n"
        self.assertEqual(self.clashes(pkg__one__a=unnamed("int size_of(int x) {\n  return x;\n}"), pkg__one__b=named), 1)

    def test_tests_are_left_out(self):
        text = unnamed("constexpr int kMost = 3;")
        self.assertEqual(self.clashes(pkg__one__a=text, pkg__one__b_test=text), 0)


if __name__ == "__main__":
    unittest.main()
