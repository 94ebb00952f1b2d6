#!/usr/bin/env python3
"""The chart's Prometheus rules under promtool (scripts/fetch-test-tools): series that fire each alert and series that do not; the series
detect a rule that always or never fires. Metrics in rules and dashboard are those of docs/metrics.md. Exit status 77 without promtool.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILES = os.path.join(ROOT, "charts/dra-controller-manager/files")
PROMTOOL = next((p for p in (os.path.join(ROOT, "build/tools/usr/bin/promtool"), shutil.which("promtool")) if p and os.access(p, os.X_OK)), None)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def passes(rules, tests):
    """Whether promtool accepts both, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("rules.yaml", rules), ("rules_test.yaml", tests)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        done = [subprocess.run([PROMTOOL, verb, "rules", name], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
                for verb, name in (("check", "rules.yaml"), ("test", "rules_test.yaml"))]
    return all(d.returncode == 0 for d in done), "\n".join(d.stdout + d.stderr for d in done)


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules, self.tests = read(os.path.join(FILES, "rules.yaml")), read(os.path.join(HERE, "rules_test.yaml"))
        self.alerts = re.findall(r"- alert: (\w+)\n        expr: (.*)\n", self.rules)

    def test_promtool_is_content(self):
        good, said = passes(self.rules, self.tests)
        self.assertTrue(good, said)
        self.assertGreater(len(self.alerts), 8)

    def test_the_series_tell_a_rule_that_always_or_never_fires(self):
        for alert, expression in self.alerts:
            for other in ("vector(1)", "vector(1) > 1"):
                with self.subTest(alert=alert, expression=other):
                    self.assertFalse(passes(self.rules.replace(f"expr: {expression}\n", f"expr: {other}\n", 1), self.tests)[0])

    def test_metrics_are_documented_ones(self):
        documented = set(re.findall(r"^\| `(\w+)` \|", read(os.path.join(ROOT, "docs/metrics.md")), re.MULTILINE))
        panels = json.loads(read(os.path.join(FILES, "dashboard.json")))["panels"]
        expressions = [e for _, e in self.alerts] + re.findall(r"- record: .*\n        expr: (.*)\n", self.rules)
        expressions += [target["expr"] for panel in panels for target in panel["targets"]]
        named = set()
        for expression in expressions:
            bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\bby \([^)]*\)|\{[^}]*\}', "", expression)
            named |= {re.sub(r"_bucket$", "", word) for word in re.findall(r"[a-z]+_[a-z_]+", bare)} - {"histogram_quantile"}
        self.assertGreater(len(named), 15)
        self.assertEqual(named - documented, set())


if __name__ == "__main__":
    if PROMTOOL is None:
        print("skipped: promtool is not in build/tools and not on PATH; scripts/fetch-test-tools brings it")
        sys.exit(77)
    unittest.main()
