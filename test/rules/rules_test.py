#!/usr/bin/env python3
"""The chart's Prometheus rules under promtool (scripts/fetch-test-tools): series that fire each alert and series that do not; the series
detect a rule that always or never fires. Series of other programs with the same names change nothing. Metrics in rules and dashboard are those
of docs/metrics.md, and each alert has a section of docs/alerts.md. Exit status 77 without promtool.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILES = os.path.join(ROOT, "charts/dra-controller-manager/files")
PROMTOOL = next((p for p in (os.path.join(ROOT, "build/tools/usr/bin/promtool"), shutil.which("promtool")) if p and os.access(p, os.X_OK)), None)


def that_pass(variants):
    """The names of the variants, (name, rules, tests), that pass."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = pool.map(lambda variant: passes(variant[1], variant[2])[0], variants)
    return [name for (name, _, _), passed in zip(variants, good) if passed]


OURS = re.compile(r" and on \([a-z, ]+\) dra_build_info(\{[^}]*\})?")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def all_panels():
    """Of the dashboard for operators and of that for teams."""
    return [panel for name in ("dashboard.json", "dashboard-teams.json") for panel in json.loads(read(os.path.join(FILES, name)))["panels"]]


def passes(rules, tests):
    """Whether the tests pass on the rules, and promtool's output."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("rules.yaml", rules), ("rules_test.yaml", tests)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        done = subprocess.run([PROMTOOL, "test", "rules", "rules_test.yaml"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def with_others(tests):
    """The same tests, where two other programs serve every series, too, but dra_build_info: one always 0, one large and growing."""
    out = []
    for line in tests.splitlines():
        out.append(line)
        if (series := re.match(r"      - \{series: '(\w+)\{(.*)\}', values: ", line)) and series.group(1) != "dra_build_info":
            for job, values in (("zeros", "0x120"), ("others", "1000000+1000000x120")):
                out.append(f"      - {{series: '{series.group(1)}{{job=\"{job}\",{series.group(2)}}}', values: '{values}'}}")
    return "\n".join(out) + "\n"


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules, self.tests = read(os.path.join(FILES, "rules.yaml")), read(os.path.join(HERE, "rules_test.yaml"))
        self.alerts = re.findall(r"- alert: (\w+)\n        expr: (.*)\n", self.rules)

    def test_promtool_is_content(self):
        checked = subprocess.run([PROMTOOL, "check", "rules", os.path.join(FILES, "rules.yaml")], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        good, said = passes(self.rules, self.tests)
        self.assertTrue(good, said)
        self.assertGreater(len(self.alerts), 8)

    def test_the_series_tell_a_rule_that_always_or_never_fires(self):
        variants = [(f"{alert}: {other}", self.rules.replace(f"expr: {expression}\n", f"expr: {other}\n", 1), self.tests)
                    for alert, expression in self.alerts for other in ("vector(1)", "vector(1) > 1")]
        self.assertEqual(that_pass(variants), [])

    def test_other_programs_change_nothing(self):
        others = with_others(self.tests)
        self.assertGreater(others.count('job="zeros"'), 50)
        good, said = passes(self.rules, others)
        self.assertTrue(good, said)
        filters = list(OURS.finditer(self.rules))
        self.assertGreater(len(filters), 15)
        rule_at = [re.findall(r"- (?:alert|record): (\S+)", self.rules[:found.start()])[-1] for found in filters]
        variants = [(rule, self.rules[:found.start()] + self.rules[found.end():], others) for rule, found in zip(rule_at, filters)]
        self.assertEqual(that_pass(variants), [], "without a filter other programs are seen")

    def test_each_query_is_filtered(self):
        panels = all_panels()
        queries = [target["expr"] for panel in panels for target in panel["targets"]] + re.findall(r"^        expr: (.*)$", self.rules, re.MULTILINE)
        self.assertGreater(len(queries), 40)
        metric = re.compile(r"\b[a-z]+_[a-z_]+\b")
        for query in queries:
            # What is left after each "METRIC{...}[...] and on (...) dra_build_info" is taken away, with functions of one metric around it.
            left = re.sub(r"(?:rate|increase)\(([a-z_]+(?:\{[^}]*\})?)\[[^\]]*\]\)", r"\1", query)
            left = re.sub(r"[a-z_]+(?:\{[^}]*\})?" + OURS.pattern, "", left)
            left = re.sub(r"\bdra:[a-z_]+:\w+(?:\{[^}]*\})?|\bby \([^)]*\)", "", left)
            with self.subTest(query=query):
                self.assertEqual(set(metric.findall(left)) - {"histogram_quantile"}, set())

    def test_each_alert_has_its_runbook(self):
        sections = re.findall(r"^## (DRA\w+)$", read(os.path.join(ROOT, "docs/alerts.md")), re.MULTILINE)
        self.assertEqual(sorted(sections), sorted(name for name, _ in self.alerts))
        links = re.findall(r"- alert: (\w+)(?:\n(?!      - ).*)*?\n          runbook_url: (.*)\n", self.rules)
        self.assertEqual(links, [(name, f"docs/alerts.md#{name.lower()}") for name, _ in self.alerts])

    def test_the_chart_says_where_runbooks_are(self):
        helm = os.path.join(ROOT, "build/tools/helm4")
        if not os.access(helm, os.X_OK):
            self.skipTest("no helm4 in build/tools")
        for setting, start in (("", "docs/alerts.md#"), ("https://wiki.example.com/dra", "https://wiki.example.com/dra#")):
            made = subprocess.run([helm, "template", "r", os.path.join(ROOT, "charts/dra-controller-manager"), "--set", "metrics.prometheusRule.enabled=true", "--set",
                                   f"metrics.prometheusRule.runbookUrl={setting}"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(re.findall(r"runbook_url: (.*)", made.stdout), [start + name.lower() for name, _ in self.alerts])

    def test_metrics_are_documented_ones(self):
        documented = set(re.findall(r"^\| `(\w+)` \|", read(os.path.join(ROOT, "docs/metrics.md")), re.MULTILINE))
        panels = all_panels()
        expressions = [e for _, e in self.alerts] + re.findall(r"- record: .*\n        expr: (.*)\n", self.rules)
        expressions += [target["expr"] for panel in panels for target in panel["targets"]]
        named = set()
        for expression in expressions:
            bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\bdra:[a-z_]+:\w+|\b(?:by|on) \([^)]*\)|\{[^}]*\}', "", expression)
            named |= {re.sub(r"_bucket$", "", word) for word in re.findall(r"[a-z]+_[a-z_]+", bare)} - {"histogram_quantile"}
        self.assertGreater(len(named), 15)
        self.assertEqual(named - documented, set())


if __name__ == "__main__":
    if PROMTOOL is None:
        print("skipped: promtool is not in build/tools and not on PATH; scripts/fetch-test-tools brings it")
        sys.exit(77)
    unittest.main()
