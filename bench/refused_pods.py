#!/usr/bin/env python3
"""What it costs the manager to say why pods do not fit: full nodes, pods that all are refused, and perf's view of the manager's processor time.

Usage: refused_pods.py FOLDER_OF_PROGRAMS [--nodes N] [--devices N] [--pods N] [--limit PERCENT]
Every node's devices are taken first; then the pods come, and each must get PodScheduled=False with a sentence. Measured is from the first of them until 10 s
after the last has its condition. Prints the share of the verdict (pkg/verdict and the reasons that it asks the allocator for) and of all that follows a
refusal (the same, event, condition, parking), and fails if the first is more than --limit. Needs perf and the right to watch a process; exits with 77 without.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
VERDICT = re.compile(r"dra::verdict::|dra::allocation::verdict_of|Allocator::explain")
REFUSAL = re.compile(VERDICT.pattern + r"|dra::allocation::(report_no_devices|report_no_node|say_waiting|show_waiting|complain|park_pod)\b")


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"refused_pods: waited {seconds} s in vain for {what}")
        time.sleep(1)


def count(api, is_one):
    return sum(is_one(pod) for pod in api.items(PODS))


def is_refused(pod):
    return any(c["type"] == "PodScheduled" and c["status"] == "False" and "devices" in c.get("message", "") for c in pod["status"].get("conditions", []))


def shares(recorded):
    """(samples, of the verdict, of refusals) from the stacks that perf recorded."""
    script = subprocess.run(["perf", "script", "-i", recorded, "--no-inline", "-F", "ip,sym"], capture_output=True, text=True, errors="replace", check=True)
    stacks = [stack for stack in script.stdout.split("\n\n") if stack.strip()]
    return len(stacks), sum(bool(VERDICT.search(s)) for s in stacks), sum(bool(REFUSAL.search(s)) for s in stacks)


def measure(box, programs, options):
    api = rest.Api(box.kubeconfig)
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log")).start()
    try:
        for n in range(1, options.devices + 1):
            api.create(TEMPLATES, rest.template(f"take-{n}", count=n))
        api.many([lambda i=i: api.create(PODS, rest.pod(f"fill-{i}", f"take-{options.devices}")) for i in range(options.nodes)])
        wait_until(lambda: count(api, lambda pod: pod["status"].get("phase") == "Running") == options.nodes, 300, "full nodes")
        recorded = os.path.join(box.folder, "perf.data")
        pid = manager.process.pid
        before = managers.cpu_seconds(pid)
        perf = subprocess.Popen(["perf", "record", "-q", "-F", "499", "--call-graph", "dwarf,16384", "-p", str(pid), "-o", recorded], stderr=subprocess.PIPE)
        began = time.monotonic()
        api.many([lambda i=i: api.create(PODS, rest.pod(f"wait-{i}", f"take-{1 + i % (options.devices - 1)}")) for i in range(options.pods)])
        if perf.poll() is not None:
            print(f"skipped: perf: {perf.stderr.read().decode()[:200]}")
            return 77
        wait_until(lambda: count(api, is_refused) == options.pods, 300, "a condition of every pod")
        took = time.monotonic() - began
        time.sleep(10)  # the last events
        cpu = managers.cpu_seconds(pid) - before
        perf.send_signal(signal.SIGINT)
        perf.wait(timeout=120)
    finally:
        manager.stop()
    samples, verdict, refusal = shares(recorded)
    share = 100 * verdict / max(samples, 1)
    print(f"{options.nodes} nodes with {options.devices} devices, all taken; {options.pods} pods refused within {took:.0f} s, {cpu:.2f} s of the manager's processor time")
    print(f"{samples} samples: verdict {share:.1f} % (at most {options.limit:g}), all of a refusal {100 * refusal / max(samples, 1):.1f} %")
    return 0 if samples > 500 and verdict > 0 and share <= options.limit else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--limit", type=float, default=10)
    options = parser.parse_args()
    if not shutil.which("perf"):
        print("skipped: no perf on PATH")
        return 77
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(rest.fleet(options.nodes, options.devices))
        fleet.flush()
        with sandbox.Sandbox(os.path.join(options.programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet.name]) as box:
            return measure(box, options.programs, options)


if __name__ == "__main__":
    sys.exit(main())
