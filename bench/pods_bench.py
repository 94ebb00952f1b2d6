#!/usr/bin/env python3
"""Pods with claim templates from creation to running, and their deletion: pods/s, CPU and peak memory of the manager and of the sandbox.

Usage: pods_bench.py FOLDER_OF_PROGRAMS [--pods N] [--nodes N] [--devices N] [--idle SECONDS] [--json]
With --idle, the manager's CPU use is also measured while nothing happens between the two halves.
Fails if a claim does not have exactly one device, if two claims hold the same device, or if any object is left at the end.
"""
import argparse
import json
import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"pods_bench: waited {seconds} s in vain for {what}")
        time.sleep(0.1)


def check_claims(claims, pods):
    held = [device for claim in claims for device in rest.devices_of(claim)]
    if len(claims) != pods or len(held) != pods or len(set(held)) != pods:
        raise SystemExit(f"pods_bench: {pods} pods have {len(claims)} claims with {len(held)} devices, {len(set(held))} of them different")


def measure(programs, pods, nodes, devices, idle):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(rest.fleet(nodes, devices))
        fleet.flush()
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet.name]) as box:
            return measure_in(box, programs, pods, idle)


def measure_in(box, programs, pods, idle):
    api = rest.Api(box.kubeconfig)
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log")).start()
    path = "/api/v1/namespaces/default/pods"
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu"))
    began = time.monotonic()
    api.many([lambda i=i: api.create(path, rest.pod(f"pod-{i}", "gpu")) for i in range(pods)])
    created = time.monotonic() - began
    running = lambda: sum(p["status"].get("phase") == "Running" for p in api.items(path))  # noqa: E731
    wait_until(lambda: running() == pods, 300, f"{pods} running pods")
    up = time.monotonic() - began
    cpu_up = managers.cpu_seconds(manager.process.pid)
    check_claims(api.items(rest.RESOURCE + "/resourceclaims"), pods)
    idle_cpu = None
    if idle:
        time.sleep(5)  # the last events
        before = managers.cpu_seconds(manager.process.pid)
        time.sleep(idle)
        idle_cpu = managers.cpu_seconds(manager.process.pid) - before
    began = time.monotonic()
    api.many([lambda i=i: api.request("DELETE", f"{path}/pod-{i}") for i in range(pods)])
    wait_until(lambda: not api.items(rest.RESOURCE + "/resourceclaims") and not api.items(path), 300, "all pods and claims to be gone")
    figures = {
        "pods": pods,
        "create_seconds": round(created, 2),
        "all_running_seconds": round(up, 2),
        "pods_per_second": round(pods / up, 1),
        "all_gone_seconds": round(time.monotonic() - began, 2),
        "manager_cpu_seconds_to_running": round(cpu_up, 2),
        "manager_cpu_seconds": round(managers.cpu_seconds(manager.process.pid), 2),
        "manager_peak_mib": round(managers.peak_memory_mib(manager.process.pid), 1),
        "sandbox_cpu_seconds": round(managers.cpu_seconds(box.process.pid), 2),
        "sandbox_peak_mib": round(managers.peak_memory_mib(box.process.pid), 1),
    }
    if idle:
        figures["idle_cpu_percent"] = round(100 * idle_cpu / idle, 2)
    status = manager.stop()
    if status != 0:
        raise SystemExit(f"pods_bench: the manager ended with status {status}:\n{manager.log()[-2000:]}")
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=250)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--idle", type=float, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.programs, options.pods, options.nodes, options.devices, options.idle)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:30} {value}")


if __name__ == "__main__":
    main()
