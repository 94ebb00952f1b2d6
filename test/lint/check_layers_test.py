#!/usr/bin/env python3
"""scripts/check-layers over a small tree: each kind of violation is named, and rooms and cycles are counted."""
import unittest

from small_tree import run, small_tree

SOUND = {
    "pkg/low/CMakeLists.txt": "dra_package(low HOT)\n",
    "pkg/low/low.h": "#pragma once\n",
    "pkg/mid/CMakeLists.txt": "# dra_package(wrong)\ndra_package(mid\n  DEPS low  # what it stands on\n  TEST_DEPS helper)\n",
    "pkg/mid/mid.h": '#pragma once\n#include "pkg/low/low.h"\n',
    "pkg/mid/mid_more.cc": '#include "pkg/mid/mid.h"\n',
    "pkg/mid/deep/deep.h": '#pragma once\n#include "pkg/mid/mid.h"\n',
    "pkg/mid/mid_test.cc": '#include "test/helper/helper.h"\n',
    "test/helper/CMakeLists.txt": "dra_package(helper)\n",
    "test/helper/helper.h": "#pragma once\n",
    "cmd/program/main.cc": '#include "pkg/mid/deep/deep.h"\n',
    "controllers/all.cc": '#include "controllers/one/one.h"\n',
    "controllers/one/CMakeLists.txt": "dra_package(one DEPS low)\n",
    "controllers/one/one.h": '#pragma once\n#include "pkg/low/low.h"\n',
    "pkg/reconcile/CMakeLists.txt": "dra_package(reconcile)\n",
}


class CheckLayers(unittest.TestCase):
    def run_over(self, changes, *arguments):
        with small_tree({**SOUND, **changes}, "scripts/check-layers") as root:
            return run(root / "scripts/check-layers", *arguments)

    def assert_found(self, changes, *words):
        status, text = self.run_over(changes)
        self.assertEqual(status, 1, text)
        for word in words:
            self.assertIn(word, text)
        self.assertIn("1 violations", text)

    def test_a_sound_tree_passes(self):
        status, text = self.run_over({})
        self.assertEqual((status, text), (0, "check-layers: 9 files, 0 violations\n"))

    def test_an_include_that_deps_does_not_list(self):
        self.assert_found({"pkg/low/up.cc": '#include "controllers/one/one.h"\n'}, "pkg/low/up.cc:1", "of one", "DEPS in pkg/low/CMakeLists.txt")

    def test_deps_of_tests_are_for_tests_alone(self):
        self.assert_found({"pkg/mid/mid.cc": '#include "test/helper/helper.h"\n'}, "pkg/mid/mid.cc:1", "of helper")

    def test_a_library_in_a_folder_of_another_is_another(self):
        self.assert_found({"pkg/low/inner/CMakeLists.txt": "dra_package(inner)\n", "pkg/low/inner/inner.h": "#pragma once\n",
                           "pkg/low/low.cc": '#include "pkg/low/inner/inner.h"\n'}, "pkg/low/low.cc:1", "of inner")

    def test_a_dependency_that_nothing_includes(self):
        self.assert_found({"pkg/mid/mid.h": "#pragma once\n"}, "mid names low and includes nothing of it")

    def test_a_dependency_that_does_not_exist(self):
        self.assert_found({"pkg/low/CMakeLists.txt": "dra_package(low DEPS nowhere)\n"}, "low names nowhere")

    def test_libraries_in_a_circle(self):
        self.assert_found({"pkg/low/CMakeLists.txt": "dra_package(low DEPS mid)\n", "pkg/low/low.cc": '#include "pkg/mid/mid.h"\n'},
                          "libraries in a circle: low mid")

    def test_rooms_in_a_circle(self):
        self.assert_found({"pkg/mid/mid_more.cc": '#include "pkg/low/low.h"\n#include "pkg/mid/deep/deep.h"\n'}, "pkg/mid: rooms in a circle: deep/ mid;",
                          "pkg/mid/mid_more.cc:2 includes pkg/mid/deep/deep.h", "pkg/mid/deep/deep.h:2 includes pkg/mid/mid.h")

    def test_a_header_of_one_room_alone_and_includes_of_tests_make_no_circle(self):
        status, text = self.run_over({"pkg/low/low_part.h": '#pragma once\n#include "pkg/low/low.h"\n', "pkg/low/low.cc": '#include "pkg/low/low_part.h"\n',
                                      "pkg/mid/mid_more_test.cc": '#include "pkg/mid/deep/deep.h"\n'})
        self.assertEqual((status, text), (0, "check-layers: 12 files, 0 violations\n"))

    def test_a_file_without_a_library(self):
        self.assert_found({"pkg/lost/lost.cc": "int x;\n"}, "pkg/lost/lost.cc")

    def test_heavy_headers_stay_in_their_folder(self):
        heavy = "#pragma once\n#include <nlohmann/json.hpp>\n"
        self.assertEqual(self.run_over({"pkg/low/own.h": heavy, "pkg/low/own.cc": '#include "pkg/low/own.h"\n'})[0], 0)
        self.assert_found({"pkg/low/own.h": heavy, "pkg/mid/mid.cc": '#include "pkg/low/own.h"\n'}, "pkg/low/own.h:2", "too heavy")

    def test_rooms_and_cycles_are_counted(self):
        status, text = self.run_over({"pkg/mid/mid_more.cc": '#include "pkg/mid/deep/deep.h"\n'}, "--rooms")
        self.assertEqual(status, 0)
        self.assertRegex(text, r"mid +2 rooms +2 includes +1 cycles +deep/ mid\n")
        self.assertRegex(text, r"low +1 rooms +0 includes +0 cycles")
        self.assertRegex(text, r"libraries +\d+ rooms +\d+ includes +0 cycles")


if __name__ == "__main__":
    unittest.main()
