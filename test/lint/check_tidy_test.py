#!/usr/bin/env python3
"""scripts/check-tidy over a small tree, with a clang-tidy that finds fault with a word: which files it gets, and what fails."""
import os
import unittest

from small_tree import run, small_tree

FILES = {
    "pkg/http/server.cc": "int a;\n",
    "pkg/http/server_test.cc": "int FAULT;\n",
    "pkg/yaml/yaml.cc": "int b;\n",
    "client/rest/rest.cc": "int c;\n",
    "pkg/manager/serve/serving.cc": "int d;\n",
    "pkg/manager/permit/access_review.cc": "int e;\n",
    "pkg/cel/cel.cc": "int FAULT;\n",
    "tools/cmake": "#!/bin/sh\n",
    "tools/clang-tidy": '#!/bin/sh\nfor file; do case "$file" in *.cc) echo "$file"; ! grep -q FAULT "$file" || status=1;; esac; done\nexit ${status:-0}\n',
}


class CheckTidy(unittest.TestCase):
    def run_over(self, changes):
        files = {name: text for name, text in {**FILES, **changes}.items() if text}
        with small_tree(files, "scripts/check-tidy") as root:
            for tool in ("cmake", "clang-tidy"):
                os.chmod(root / "tools" / tool, 0o755)
            return run(root / "scripts/check-tidy", env={**os.environ, "PATH": f"{root}/tools:{os.environ['PATH']}"})

    def test_the_files_are_those_that_the_script_names(self):
        status, text = self.run_over({})
        self.assertEqual(status, 0, text)
        self.assertEqual(set(text.split()), {name for name in FILES if name.endswith(".cc") and "cel" not in name and "_test" not in name})

    def test_a_finding_fails(self):
        self.assertNotEqual(self.run_over({"client/rest/rest.cc": "int FAULT;\n"})[0], 0)

    def test_a_file_that_has_moved_fails(self):
        status, text = self.run_over({"pkg/manager/serve/serving.cc": ""})
        self.assertNotEqual(status, 0)
        self.assertIn("serving.cc", text)


if __name__ == "__main__":
    unittest.main()
