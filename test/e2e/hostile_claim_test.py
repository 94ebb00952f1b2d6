#!/usr/bin/env python3
"""Claims of one namespace whose selectors take minutes to evaluate: pods of another namespace start as if they were not there, /livez answers, and
memory stays where it was. The claims are within what an API server accepts: 8 requests of 32 selectors, nested loops, 10,000 devices.

Usage: hostile_claim_test.py FOLDER_OF_PROGRAMS [--seconds N]
"""
import argparse
import os
import re
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

FLEET = """
kind: Fleet
deviceClasses:
- name: gpu
  selectors: ['device.driver == "gpu.example.com"']
models:
  gpu:
    driver: gpu.example.com
    name: gpu-{device}
    attributes: {type: gpu, uuid: "GPU-{uuid}", index: {int: "{device}"}}
    capacity: {memory: 80Gi}
nodes:
- name: node-{index}
  count: 79
  capacity: {cpu: "640", memory: 2560Gi}
  devices: [{model: gpu, count: 127}]
"""
ATTRIBUTES = 'device.attributes["gpu.example.com"]'
MOST_SECONDS = 1.0  # until another namespace's pod has its node
MOST_PROBE_SECONDS = 0.25
MOST_MIB = 64


def claim(name, requests):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}


def request(name, selectors):
    return {"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1,
                                      "selectors": [{"cel": {"expression": s}} for s in selectors]}}


def pod(name, claim_name):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": "dra", "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": "d"}]}}],
                     "resourceClaims": [{"name": "d", "resourceClaimName": claim_name}]}}


def nested_loops(width, inner):
    numbers = ",".join(str(i) for i in range(width))
    for variable in "cba":
        inner = f"[{numbers}].all({variable}, {inner})"
    return inner


def hostile_claims():
    """Selectors that are all true, but for the last of each request; different from each other, so that none is evaluated for another."""
    loops = nested_loops(20, f'{ATTRIBUTES}.uuid != "x"')
    reads_all = f'{ATTRIBUTES}.exists(k, k == "uuid")'
    for kind, body in (("loops", loops), ("reads-all", reads_all)):
        yield claim(kind, [request(f"r{r}", [f"({body} || {r * 100 + s} == 0)" + ("" if s < 31 else " && false") for s in range(32)])
                           for r in range(8)])


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


class Prober(threading.Thread):
    """Asks /livez all the time and keeps the longest wait."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.url = f"http://127.0.0.1:{port}/livez"
        self.longest = 0.0
        self.ending = False

    def run(self):
        while not self.ending:
            start = time.monotonic()
            urllib.request.urlopen(self.url, timeout=60).read()
            self.longest = max(self.longest, time.monotonic() - start)
            time.sleep(0.02)


def seconds_to_a_node(box, api, name):
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaims", claim(name, [request("r", [])]))
    start = time.monotonic()
    api.create("/api/v1/namespaces/default/pods", pod(name, name))
    box.wait_for(lambda: api.get(f"/api/v1/namespaces/default/pods/{name}")["spec"].get("nodeName"), 300, f"pod {name} to get its node")
    return time.monotonic() - start


def run(box, programs, seconds):
    api = rest.Api(box.kubeconfig)
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log"),
                               ["--leader-elect=false", "--scheduler-names=dra"]).start()
    try:
        box.wait_for(manager.metrics_port, 20, "the manager to listen")
        idle = [seconds_to_a_node(box, api, f"idle-{i}") for i in range(3)]
        before = resident_mib(manager.process.pid)
        prober = Prober(manager.metrics_port())
        prober.start()
        api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant"}})
        for hostile in hostile_claims():
            api.create(rest.RESOURCE + "/namespaces/tenant/resourceclaims", hostile)
            api.create("/api/v1/namespaces/tenant/pods", pod(hostile["metadata"]["name"], hostile["metadata"]["name"]))
        waits = []
        most = before
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            waits.append(seconds_to_a_node(box, api, f"ordinary-{len(waits)}"))
            most = max(most, resident_mib(manager.process.pid))
            time.sleep(0.2)
        prober.ending = True
        prober.join()
        print(f"idle: a pod waits {max(idle):.3f} s; beside hostile claims, of {len(waits)} pods the longest {max(waits):.3f} s, median "
              f"{sorted(waits)[len(waits) // 2]:.3f} s; /livez at most {prober.longest:.3f} s; memory +{most - before:.0f} MiB")
        assert max(waits) < MOST_SECONDS, waits
        assert prober.longest < MOST_PROBE_SECONDS, prober.longest
        assert most - before < MOST_MIB, (before, most)
    finally:
        manager.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--seconds", type=float, default=15)
    flags = parser.parse_args()
    fleet = os.path.join(flags.programs, "hostile-fleet.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(FLEET)
    try:
        with sandbox.Sandbox(os.path.join(flags.programs, "dra-sandbox"), ["--fleet", fleet, "--without-manager"]) as box:
            run(box, flags.programs, flags.seconds)
    finally:
        os.remove(fleet)


if __name__ == "__main__":
    main()
