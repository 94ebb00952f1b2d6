#!/usr/bin/env python3
"""Usage through a real Prometheus: what whole managers serve over two simulated hours, with restarts and changes of leaders
(integration_usage_test), becomes blocks of a Prometheus, by promtool, and increase() over the chart's recording rule is compared with what was really
held. Exit status 77 without Prometheus.

    test/e2e/usage_prometheus_test.py build/quick
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import prometheus_test as prom  # noqa: E402

HOURS = 2
STEP = 15  # seconds between the scrapes of the test


def rule(name):
    with open(prom.RULES, encoding="utf-8") as file:
        return re.search(rf"- record: {re.escape(name)}\n        expr: (.*)\n", file.read()).group(1)


def one_value(port, expression, at):
    found = prom.query(port, expression, at)
    if len(found) != 1:
        raise SystemExit(f"{expression} gives {found}")
    return float(found[0]["value"][1])


def compare(port, until, held, written):
    recorded = rule("dra:usage_card_seconds:max")
    window = HOURS * 3600 + 1800
    total = one_value(port, f"sum({recorded})", until)
    if abs(total - written) > 0.001 * written:
        raise SystemExit(f"the last sample is {total}, written were {written}")
    got = one_value(port, f"sum(increase(({recorded})[{window}s:{STEP}s]))", until)
    off = abs(got - held) / held
    print(f"increase() over the rule: {got:.0f} of {held:.0f} card seconds, {100 * off:.2f} % off")
    if off > 0.01:
        raise SystemExit("more than 1 %")
    resets = one_value(port, f"sum(resets(({recorded})[{window}s:{STEP}s]))", until)
    if resets != 0:
        raise SystemExit(f"the total went down {resets} times")
    # In each hour by itself, by the counter's own samples: what one hour has, the others have not.
    hours = sum(one_value(port, f"sum(increase(({recorded})[3600s:{STEP}s])) or vector(0)", until - 3600 * hour) for hour in range(HOURS + 1))
    if abs(hours - held) > 0.02 * held:
        raise SystemExit(f"the hours sum to {hours:.0f} of {held:.0f}")


def compare_the_verb(port, program, held):
    """kubectl dra usage, of a Prometheus without the chart's rules."""
    weeks = int((time.time() - 1_600_000_000) / 604_800)
    ran = subprocess.run([program, "usage", "--since", f"{weeks}w", "--prometheus", f"http://127.0.0.1:{port}", "-o", "json"], capture_output=True, text=True,
                         timeout=90, check=False)
    rows = json.loads(ran.stdout)["usage"] if ran.returncode == 0 else []
    if [row["namespace"] for row in rows] != ["default"] or abs(rows[0]["cardHours"] * 3600 - held) > 0.2 * held:
        raise SystemExit(f"kubectl dra usage --since says {ran.stdout}{ran.stderr} of {held / 3600:.2f} hours")
    print(f"kubectl dra usage --since: {rows[0]['cardHours']} of {held / 3600:.2f} card hours, in steps of ten minutes")


def main():
    prometheus, promtool = prom.find("prometheus"), prom.find("promtool")
    if not prometheus or not promtool:
        print("skipped: prometheus and promtool are not in build/tools and not on PATH")
        return 77
    program = os.path.join(sys.argv[1], "test/integration/integration_usage_test")
    with tempfile.TemporaryDirectory() as folder:
        series = os.path.join(folder, "series.txt")
        ran = subprocess.run([program, "--gtest_filter=Usage.StaysWithinOnePercentWhoeverLeads"], capture_output=True, text=True, timeout=300, check=False,
                             env={**os.environ, "DRA_USAGE_OPENMETRICS": series, "DRA_USAGE_CLUSTERS": "1", "DRA_SEED": "11", "KUBEBUILDER_ASSETS": ""})
        said = re.search(r"until (\S+) held (\S+) written (\S+)", ran.stdout)
        if ran.returncode != 0 or not said:
            raise SystemExit(ran.stdout[-2000:] + ran.stderr[-2000:])
        until, held, written = (float(word) for word in said.groups())
        made = subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", series, os.path.join(folder, "tsdb")], capture_output=True,
                              text=True, timeout=120, check=False)
        if made.returncode != 0:
            raise SystemExit(made.stdout[-2000:] + made.stderr[-2000:])
        config, port = os.path.join(folder, "prometheus.yml"), prom.free_port()
        with open(config, "w", encoding="utf-8") as out:
            out.write("global: {scrape_interval: 1m}\n")
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen([prometheus, f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
                                        f"--storage.tsdb.path={folder}/tsdb", "--storage.tsdb.retention.time=100y"], stdout=log, stderr=log)
        try:
            end = time.monotonic() + 40
            while not prom.query(port, "dra_build_info", until):
                if time.monotonic() > end or process.poll() is not None:
                    with open(os.path.join(folder, "log"), encoding="utf-8") as log:
                        raise SystemExit("no data in Prometheus:\n" + log.read()[-2000:])
                time.sleep(0.1)
            compare(port, until, held, written)
            compare_the_verb(port, os.path.join(sys.argv[1], "bin/kubectl-dra"), held)
        finally:
            process.terminate()
            process.wait(timeout=20)
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
