#!/usr/bin/env python3
"""Debian's Prometheus scrapes the manager: up is 1, claims by state can be queried, promtool reports no problem, and the metrics are
exactly those of docs/metrics.md, with their types and labels. Every panel of the chart's dashboard has data, and panels and rules show this program alone,
though Prometheus also scrapes itself and two programs that serve metrics of the same names.

Usage: prometheus_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

RULES = os.path.join(sandbox.ROOT, "charts/dra-controller-manager/files/rules.yaml")
DOCUMENT = os.path.join(sandbox.ROOT, "docs", "metrics.md")
# Absent while nothing is wrong, as the document says.
ONLY_IN_TROUBLE = {"dra_missing_permissions", "dra_unknown_fields"}
CLAIMS_BY_STATE = 'sum by (allocated) (resourceclaim_controller_resource_claims{job="dra"})'


def find(program):
    path = os.path.join(sandbox.ROOT, "build/tools/usr/bin", program)
    return path if os.access(path, os.X_OK) else shutil.which(program)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def query(port, expression, at=None):
    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(expression)}" + (f"&time={at}" if at else "")
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.loads(answer.read())["data"]["result"]
    except urllib.error.HTTPError as error:
        if error.code == 503:  # it starts
            return []
        raise SystemExit(f"{expression}: {error.read().decode()}") from error
    except OSError:
        return []


def lint(promtool, text):
    answer = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    if answer.returncode != 0:
        raise SystemExit(f"promtool check metrics: {answer.stdout}{answer.stderr}")


def documented():
    """{name: (type, labels)}"""
    found = {}
    with open(DOCUMENT, encoding="utf-8") as document:
        for line in document:
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) == 7 and cells[1].startswith("`"):
                found[cells[1].strip("`")] = (cells[2], set(re.findall(r"`(\w+)`", cells[3])))
    return found


def served(text):
    """{name: (type, labels of all its series)}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:4]
            found[name] = (kind, set())
        elif line and not line.startswith("#"):
            series = re.match(r"(\w+)", line).group(1)
            base = series if series in found else re.sub(r"_(bucket|sum|count)$", "", series)
            found[base][1].update(set(re.findall(r'(\w+)="', line)) - {"le"})
    return found


def compare_with_document(text):
    expected, there = documented(), served(text)
    if len(expected) < 30:
        raise SystemExit(f"only {len(expected)} metrics were found in {DOCUMENT}")
    wrong = [f"{name} {expected[name]} is not served" for name in sorted(set(expected) - set(there) - ONLY_IN_TROUBLE)]
    wrong += [f"{name} is served and not documented" for name in sorted(set(there) - set(expected))]
    wrong += [f"{name}: served {there[name]}, documented {expected[name]}" for name in sorted(set(there) & set(expected))
              if there[name] != expected[name]]
    if wrong:
        raise SystemExit("docs/metrics.md and /metrics differ:\n  " + "\n  ".join(wrong))
    return len(expected)


class Others(ThreadingHTTPServer):
    """Two programs that serve all metrics of the manager but dra_build_info: /zeros and /large, with other values."""

    def __init__(self, manager):
        super().__init__(("127.0.0.1", 0), Answers)
        self.manager, self.scrapes = manager, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.scrapes += 1
        value = 0 if self.path == "/zeros" else 1_000_000 * self.server.scrapes
        lines = [line for line in self.server.manager.metrics().splitlines() if "dra_build_info" not in line]
        text = "\n".join(line if line.startswith("#") else f"{line.rpartition(' ')[0]} {value}" for line in lines) + "\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def panels():
    """(title, expression) of each query of the dashboard, its variables replaced."""
    with open(os.path.join(sandbox.ROOT, "charts/dra-controller-manager/files/dashboard.json"), encoding="utf-8") as file:
        found = [(panel["title"], target["expr"]) for panel in json.load(file)["panels"] for target in panel["targets"]]
    for variable, value in (("$__rate_interval", "30s"), ("$cluster", ".*"), ("$namespace", ".*")):
        found = [(title, expression.replace(variable, value)) for title, expression in found]
    return found


def rules():
    """(name, expression) of each rule that reads metrics, not other rules."""
    with open(RULES, encoding="utf-8") as file:
        found = re.findall(r"- (?:alert|record): (\S+)\n        expr: (.*)\n", file.read())
    return [(name, expression) for name, expression in found if "dra:" not in expression]


def of_this_program(expression):
    """What the expression means: without its filter, on the job of the manager alone."""
    bare = re.sub(r" and on \([a-z, ]+\) dra_build_info(\{[^}]*\})?", "", expression)
    names = "|".join(sorted(documented(), key=len, reverse=True))
    return bare, re.sub(rf"\b({names})(_bucket)?\b(?:\{{([^}}]*)\}})?", r'\1\2{job="dra",\3}', bare)


def scraped_until():
    """A time to which Prometheus adds no more samples."""
    return time.time() - 3


def compare_with_others(port):
    """Each query gives what it gives on the manager's series alone. Returns how many are wrong without their filter."""
    at, differ, wrong = scraped_until(), 0, []

    def result(expression):
        return sorted((json.dumps(series["metric"], sort_keys=True), series["value"][1]) for series in query(port, expression, at))
    for name, expression in panels() + rules():
        bare, meant = of_this_program(expression)
        got, expected, unfiltered = result(expression), [(re.sub(r'"job": "dra", ', "", labels), value) for labels, value in result(meant)], result(bare)
        got = [(re.sub(r'"job": "dra", ', "", labels), value) for labels, value in got]
        differ += unfiltered != result(meant)
        if got != expected:
            wrong.append(f"{name}: {expression}\n    gives {got}\n    for {expected}")
    if wrong:
        raise SystemExit("queries show other programs:\n  " + "\n  ".join(wrong))
    return differ


def run(box, programs, prometheus, promtool):
    api = rest.Api(box.kubeconfig)
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu", "gpu.nvidia.com"))
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log"),
                               ["--kube-api-qps=20", "--kube-api-burst=5"]).start()  # slow enough to delay requests
    box.wait_for(manager.metrics_port, 20, "the manager to listen")
    for i in range(3):
        api.create("/api/v1/namespaces/default/pods", rest.pod(f"pod-{i}", "gpu"))
    nothing = rest.template("nothing", "gpu.nvidia.com")
    nothing["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "false"}}]
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", nothing)
    api.create("/api/v1/namespaces/default/pods", rest.pod("waits", "nothing"))
    pending = 'dra_pending_pods{cause="RequestSelector",class="gpu.nvidia.com"} 1\n'
    box.wait_for(lambda: pending in manager.metrics(), 40, "the pod that waits to be counted")
    config = os.path.join(box.folder, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as out:
        port, others = free_port(), Others(manager)
        out.write(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}']\nscrape_configs:\n")
        for job, path, target in (("dra", "/metrics", manager.metrics_port()), ("prometheus", "/metrics", port),
                                  ("zeros", "/zeros", others.server_port), ("large", "/large", others.server_port)):
            out.write(f"- job_name: {job}\n  metrics_path: {path}\n  static_configs: [{{targets: ['127.0.0.1:{target}']}}]\n")
    with open(os.path.join(box.folder, "prometheus.log"), "w", encoding="utf-8") as log:
        process = subprocess.Popen([prometheus, f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
                                    f"--storage.tsdb.path={box.folder}/tsdb"], stdout=log, stderr=log)
    try:
        box.wait_for(lambda: any(r["value"][1] == "1" for r in query(port, 'up{job="dra"}')), 40, "up == 1")
        box.wait_for(lambda: {r["metric"].get("allocated"): r["value"][1] for r in query(port, CLAIMS_BY_STATE)}.get("true") == "3", 40,
                     "three allocated claims in Prometheus")
        text = manager.metrics()
        lint(promtool, text)
        count = compare_with_document(text)
        for title, expression in panels():
            box.wait_for(lambda: query(port, expression), 40, f"data for panel {title!r}: {expression}")
        enough = "count(count_over_time(process_cpu_seconds_total[10s]) >= 3) == 4"
        box.wait_for(lambda: query(port, enough, scraped_until()), 40, "three samples of each of four targets in Prometheus")
        differ = compare_with_others(port)
        if differ < 30:
            raise SystemExit(f"only {differ} queries differ without their filter: the other programs are not seen")
    finally:
        process.terminate()
        process.wait(timeout=20)
        others.shutdown()
    if manager.stop() != 0:
        raise SystemExit("the manager did not end in order")
    return count


def main():
    prometheus, promtool = find("prometheus"), find("promtool")
    if not prometheus or not promtool:
        print("skipped: prometheus and promtool are not in build/tools and not on PATH")
        return 77
    began = time.monotonic()
    with sandbox.Sandbox(os.path.join(sys.argv[1], "dra-sandbox"), ["--without-manager"]) as box:
        count = run(box, sys.argv[1], prometheus, promtool)
    print(f"up == 1, claims by state queried, promtool is content, {count} metrics as documented ({time.monotonic() - began:.0f} s)")
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
