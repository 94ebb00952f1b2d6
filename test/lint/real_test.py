#!/usr/bin/env python3
"""scripts/real refuses what is not a control plane, and its table says what ctest did."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
# Replaces ctest: writes the results that a variable lists.
CTEST = """#!/usr/bin/env python3
import os, pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--output-junit") + 1])
out.parent.mkdir(parents=True, exist_ok=True)
cases = "".join(f'<testcase name="{n}" status="{s}" time="2"/>' for n, s in (pair.split("=") for pair in os.environ["CASES"].split()))
out.write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")
"""


class Real(unittest.TestCase):
    def run_real(self, programs=PROGRAMS, assets=True, cases=""):
        """(exit status, all output) of scripts/real beside a folder with these programs, with ctest's results as in `cases`."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("scripts", "bin", "assets", "build", "test"):
                (root / name).mkdir()
            (root / "test/skipped.txt").touch()
            for name in ("real", "check-skipped"):
                shutil.copy(SCRIPTS / name, root / "scripts")
            for path, text in [(root / "bin/ctest", CTEST), *((root / "assets" / name, f"#!/bin/sh\necho {name} v9.8.7\n") for name in programs)]:
                path.write_text(text, encoding="utf-8")
                path.chmod(0o755)
            environment = {**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}", "CASES": cases, "KUBEBUILDER_ASSETS": str(root / "assets")}
            if not assets:
                del environment["KUBEBUILDER_ASSETS"]
            done = subprocess.run([root / "scripts/real", "build"], capture_output=True, text=True, env=environment, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_the_folder_is_asked_for_by_name(self):
        status, text = self.run_real(assets=False)
        self.assertEqual(status, 1)
        self.assertIn("KUBEBUILDER_ASSETS is not set", text)

    def test_a_missing_program_is_named(self):
        status, text = self.run_real(programs=PROGRAMS[:-1])
        self.assertEqual(status, 1)
        self.assertIn("no program kube-controller-manager", text)

    def test_the_table_has_every_test_and_the_versions(self):
        status, text = self.run_real(cases="real_a=run real_b=run")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"real_a +passed")
        self.assertIn("kube-apiserver: kube-apiserver v9.8.7", text)
        self.assertIn("2 passed, 0 skipped, 0 failed", text)

    def test_a_failed_test_fails_and_so_does_no_test_at_all(self):
        status, text = self.run_real(cases="real_a=run real_b=fail")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"real_b +FAILED")
        self.assertEqual(self.run_real(cases="")[0], 1)


if __name__ == "__main__":
    unittest.main()
