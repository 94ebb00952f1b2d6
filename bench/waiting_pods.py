#!/usr/bin/env python3
"""What pods that wait for devices cost the manager while other pods end: full nodes, many waiting pods, and so many ordinary pods per second that are deleted.
No device becomes free, so no waiting pod has a reason to be tried.

Usage: waiting_pods.py FOLDER_OF_PROGRAMS [--nodes N] [--pods N] [--rate PER_SECOND] [--seconds N] [--limit PERCENT]
Prints the manager's processor time per second during the endings and without them, and how many keys its allocation controller ran. Fails if the first is
more than --limit percent of a core. The number of keys is tested in simulated time too (test/integration/waiting_test.cc).
"""
import argparse
import os
import re
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


def is_told(pod):
    return any(c["type"] == "PodScheduled" and c["status"] == "False" and "devices" in c.get("message", "") for c in pod["status"].get("conditions", []))


def runs(manager):
    """Keys that the allocation controller has run."""
    found = re.search(r'^workqueue_work_duration_seconds_count\{[^}]*name="allocation"[^}]*\} (\S+)', manager.metrics(), re.MULTILINE)
    return int(float(found[1]))


def ordinary(name, node):
    made = rest.pod(name, "unused")
    made["spec"].pop("schedulingGates", None)
    made["spec"].pop("resourceClaims")
    for container in made["spec"]["containers"]:
        container.get("resources", {}).pop("claims", None)
    made["spec"].update(nodeName=node, terminationGracePeriodSeconds=0)
    return made


def measure(box, programs, options):
    api = rest.Api(box.kubeconfig)
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log")).start()
    try:
        api.create(TEMPLATES, rest.template("one"))
        api.many([lambda i=i: api.create(PODS, rest.pod(f"p-{i}", "one")) for i in range(options.nodes + options.pods)])
        box.wait_for(lambda: sum(map(is_told, api.items(PODS))) == options.pods, 300, "a condition of every waiting pod")
        nodes = [node["metadata"]["name"] for node in api.items("/api/v1/nodes")]
        count = options.rate * options.seconds
        api.many([lambda i=i: api.create(PODS, ordinary(f"ordinary-{i}", nodes[i % len(nodes)])) for i in range(count)])
        time.sleep(5)
        pid = manager.process.pid
        shares = []
        tried = 0
        for ends in (False, True):
            cpu, began, before = managers.cpu_seconds(pid), time.monotonic(), runs(manager)
            for i in range(count):
                if ends:
                    api.request("DELETE", f"{PODS}/ordinary-{i}", {"gracePeriodSeconds": 0})
                time.sleep(max(0.0, began + (i + 1) / options.rate - time.monotonic()))
            shares.append(100 * (managers.cpu_seconds(pid) - cpu) / (time.monotonic() - began))
            tried = runs(manager) - before
    finally:
        manager.stop()
    print(f"{options.pods} pods wait on {options.nodes} full nodes; {options.rate} others end per second for {options.seconds} s: {shares[1]:.1f} % of a core "
          f"(at most {options.limit:g}; {shares[0]:.1f} % when none end), {tried} keys run by the allocation controller")
    return 0 if shares[1] <= options.limit else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--pods", type=int, default=800)
    parser.add_argument("--rate", type=int, default=14)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--limit", type=float, default=5)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(rest.fleet(options.nodes, 1))
        fleet.flush()
        with sandbox.Sandbox(os.path.join(options.programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet.name]) as box:
            return measure(box, options.programs, options)


if __name__ == "__main__":
    sys.exit(main())
