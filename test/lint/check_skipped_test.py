#!/usr/bin/env python3
"""scripts/check-skipped over small reports: no output for listed tests, and one complaint for each test that should have run."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "check-skipped"


class CheckSkipped(unittest.TestCase):
    def run_over(self, skipped, of_googletest=(), assets=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            cases = "".join(f'<testcase name="{name}" status="notrun"><skipped/></testcase>' for name in skipped)
            (root / "junit.xml").write_text(f'<testsuite><testcase name="ran" status="run"/>{cases}</testsuite>', encoding="utf-8")
            (root / "gtest").mkdir()
            suites = [{"name": name.rsplit(".", 1)[0], "testsuite": [{"name": name.rsplit(".", 1)[1], "result": "SKIPPED"}]} for name in of_googletest]
            (root / "gtest" / "one.json").write_text(json.dumps({"testsuites": suites}), encoding="utf-8")
            environment = {**os.environ, "KUBEBUILDER_ASSETS": assets}
            done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False, env=environment)
            return done.returncode, done.stdout

    def test_what_is_listed_may_be_skipped(self):
        self.assertEqual(self.run_over([]), (0, "check-skipped: 1 tests, 0 skipped: none\n"))
        status, said = self.run_over(["apiserver_twin", "e2e_real_chart"], ["Real/Server.X/Server"])
        self.assertEqual(status, 0, said)
        self.assertIn("3 tests, 3 skipped: Real/Server.X/Server (no-real-server), apiserver_twin (no-real-server), e2e_real_chart (no-real-server)", said)

    def test_each_other_is_named(self):
        status, said = self.run_over(["allocator_test"], ["Golden.X"])
        self.assertEqual(status, 1)
        self.assertIn("Golden.X should have run: test/skipped.txt does not list it", said)
        self.assertIn("allocator_test should have run", said)

    def test_a_reason_must_hold(self):
        with tempfile.TemporaryDirectory() as assets:
            pathlib.Path(assets, "kube-apiserver").touch()
            status, said = self.run_over(["apiserver_twin"], assets=assets)
        self.assertEqual(status, 1)
        self.assertIn("apiserver_twin should have run: its reason, no-real-server, does not hold here", said)

    def test_an_older_server_has_no_pod_groups(self):
        for version, expected in (("v1.35.6", 0), ("v1.36.2", 1)):
            with tempfile.TemporaryDirectory() as assets:
                server = pathlib.Path(assets, "kube-apiserver")
                server.write_text(f"#!/bin/sh\necho Kubernetes {version}\n", encoding="utf-8")
                server.chmod(0o755)
                status, said = self.run_over(["e2e_real_wholes"], assets=assets)
            self.assertEqual(status, expected, said)


if __name__ == "__main__":
    unittest.main()
