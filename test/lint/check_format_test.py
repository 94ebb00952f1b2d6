#!/usr/bin/env python3
"""scripts/check-format over a small tree: a file that clang-format would change is named."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class CheckFormat(unittest.TestCase):
    def run_over(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "scripts").mkdir()
            shutil.copy(ROOT / "scripts/check-format", root / "scripts")
            shutil.copy(ROOT / ".clang-format", root)
            (root / "some.cc").write_text(text, encoding="utf-8")
            subprocess.run(["git", "init", "-q", folder], check=True)
            subprocess.run(["git", "-C", folder, "add", "."], check=True)
            done = subprocess.run([root / "scripts/check-format"], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_a_formatted_file_passes(self):
        self.assertEqual(self.run_over("int main() {\n  return 0;\n}\n"), (0, "check-format: 1 files are formatted\n"))

    def test_another_fails_and_is_named(self):
        status, text = self.run_over("int main( ) {\n      return 0;\n}\n")
        self.assertNotEqual(status, 0)
        self.assertIn("some.cc:1", text)


if __name__ == "__main__":
    unittest.main()
