#!/usr/bin/env python3
"""A big cluster on the embedded API server: start to ready, memory, idle CPU, decisions, a drained rack, a mass restart.

Usage: size_bench.py FOLDER_OF_PROGRAMS [--nodes N] [--devices N] [--pods N] [--claims N] [--rack N] [--restart N] [--idle SECONDS] [--json]
Defaults: 5,000 nodes with 8 devices each, 50,000 pods, 20,000 of them with a claim; a rack of 200 nodes; 5,000 pods restarted.

The manager runs in bind mode as a process of its own. Prints one figure a line. Fails when a device is held twice, when a pod of the rack
comes back to it, when anything is left unbound, or when a start takes longer than --most-seconds-to-ready.
"""
import argparse
import json
import os
import re
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
BOUND = PODS + "?watch=true&fieldSelector=spec.nodeName%21%3D&resourceVersion="
NAME = re.compile(rb'"metadata":\{"name":"([^"]+)"|"name":"((?:gpu|plain|late|rack|again)-[^"]+)"')
FINDINGS = {}


def say(name, value, unit=""):
    FINDINGS[name] = value
    if not OPTIONS.json:
        print(f"{name:44} {value} {unit}", flush=True)


def plain(name):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "example.test/none"}]}}


def with_claim(name):
    return rest.pod(name, "gpu")


class BoundPods:
    """Names of pods that are bound, and when each was seen to be, from a watch in a thread of its own."""

    def __init__(self, api):
        self.api, self.at, self.stopped = api, {}, False
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        while not self.stopped:
            try:
                for line in self.api.watch(BOUND + "0", 600, METADATA):
                    kind = line[:24]
                    found = NAME.search(line)
                    if found and b"DELETED" not in kind and b"BOOKMARK" not in kind:
                        self.at.setdefault((found.group(1) or found.group(2)).decode(), time.monotonic())
            except (OSError, TimeoutError):
                time.sleep(0.2)

    def wait(self, names, seconds):
        end = time.monotonic() + seconds
        missing = set(names)
        while missing:
            missing = {name for name in missing if name not in self.at}
            if time.monotonic() > end:
                raise SystemExit(f"{len(missing)} pods were not bound within {seconds} s, {sorted(missing)[:3]} among them")
            time.sleep(0.1)
        return max(self.at[name] for name in names)


class Measured:
    """The manager, and what its metrics say of a stretch of time."""

    def __init__(self, process, api):
        self.process, self.api = process, api

    def ready_after(self, began, seconds):
        while time.monotonic() - began < seconds:
            port = self.process.metrics_port()
            try:
                if port and urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).status == 200:
                    return time.monotonic() - began
            except (OSError, urllib.error.URLError):
                pass
            time.sleep(0.02)
        raise SystemExit(f"the manager was not ready within {seconds} s:\n{self.process.log()[-2000:]}")

    def buckets(self, name):
        """{labels without le: {bound: count}} of a histogram."""
        found = {}
        for labels, bound, count in re.findall(rf'^{name}_bucket\{{(.*?)le="([^"]+)"\}} (\S+)$', self.process.metrics(), re.MULTILINE):
            found.setdefault(labels.rstrip(","), {})[float(bound)] = float(count)
        return found

    def snapshot(self):
        return {name: self.buckets(name) for name in ("workqueue_queue_duration_seconds", "dra_reactor_task_seconds", "dra_reactor_delay_seconds")}

    @staticmethod
    def most_between(before, after):
        """For each series the smallest bound that held for everything that happened between two snapshots, and how much lay above 20 ms."""
        said = {}
        for labels, bounds in after.items():
            old = before.get(labels, {})
            news = {bound: count - old.get(bound, 0) for bound, count in bounds.items()}
            total = news[float("inf")]
            if total:
                most = min(bound for bound, count in news.items() if count == total)
                above = total - max((count for bound, count in news.items() if bound <= 0.02), default=0)
                said[labels or "all"] = {"count": int(total), "most_seconds": "more than the buckets" if most == float("inf") else most, "above_20_ms": int(above)}
        return said


def phase(measured, name, action):
    before, cpu = measured.snapshot(), managers.cpu_seconds(measured.process.process.pid)
    result = action()
    after = measured.snapshot()
    say(f"{name}: manager's CPU", round(managers.cpu_seconds(measured.process.process.pid) - cpu, 2), "s")
    for metric in after:
        for labels, most in measured.most_between(before[metric], after[metric]).items():
            say(f"{name}: {metric}{{{labels}}}", most)
    return result


def check_devices(api, claims):
    held = [device for claim in api.items(rest.RESOURCE + "/resourceclaims") for device in rest.devices_of(claim)]
    if len(held) != len(set(held)) or len(held) < claims:
        raise SystemExit(f"{len(held)} devices are held, {len(set(held))} of them different, for at least {claims} claims")


def create(api, names, make, threads=8):
    return api.many([lambda name=name: api.create(PODS, make(name)) for name in names], threads=threads)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def paced(api, bound, count, per_second):
    names, made = [f"late-{i}" for i in range(count)], {}
    began = time.monotonic()
    for i, name in enumerate(names):
        time.sleep(max(0.0, began + i / per_second - time.monotonic()))
        made[name] = time.monotonic()
        api.create(PODS, with_claim(name))
    bound.wait(names, 120)
    took = [bound.at[name] - made[name] for name in names]
    say("late pods, creation to bound, p50", round(1000 * percentile(took, 0.5), 1), "ms")
    say("late pods, creation to bound, p99", round(1000 * percentile(took, 0.99), 1), "ms")


def drain(api, bound, nodes):
    rack = {f"node-{i}" for i in range(nodes)}
    api.many([lambda name=name: api.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}}, "application/merge-patch+json") for name in rack])
    gone = [p["metadata"]["name"] for p in api.items(PODS) if p["spec"].get("nodeName") in rack]
    began = time.monotonic()
    api.many([lambda name=name: api.request("DELETE", f"{PODS}/{name}") for name in gone], threads=8)
    successors = [("rack-" + name, with_claim if name.startswith(("gpu", "late")) else plain) for name in gone]
    api.many([lambda name=name, make=make: api.create(PODS, make(name)) for name, make in successors], threads=8)
    last = bound.wait([name for name, _ in successors], 600)
    say("drained rack: pods moved", len(gone))
    say("drained rack: first deletion to last binding", round(last - began, 2), "s")
    back = [p["metadata"]["name"] for p in api.items(PODS) if p["spec"].get("nodeName") in rack and not p["metadata"].get("deletionTimestamp")]
    if back:
        raise SystemExit(f"{len(back)} pods were put on the drained rack: {back[:3]}")


def restart(api, bound, count):
    names = [p["metadata"]["name"] for p in api.items(PODS) if p["metadata"]["name"].startswith(("gpu", "rack-gpu"))][:count]
    began = time.monotonic()
    api.many([lambda name=name: api.request("DELETE", f"{PODS}/{name}") for name in names], threads=8)
    create(api, ["again-" + name for name in names], with_claim)
    last = bound.wait(["again-" + name for name in names], 900)
    say("mass restart: first deletion to last binding", round(last - began, 2), "s")


def measure(programs):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(rest.fleet(OPTIONS.nodes, OPTIONS.devices))
        fleet.flush()
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet.name]) as box:
            measure_in(box, programs)


def start(box, programs, api, seconds):
    began = time.monotonic()
    process = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log")).start()
    measured = Measured(process, api)
    return measured, measured.ready_after(began, seconds)


def measure_in(box, programs):
    api = rest.Api(box.kubeconfig)
    say("machine", f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu"))
    measured, _ = start(box, programs, api, 120)
    bound = BoundPods(api)
    claimed, others = [f"gpu-{i}" for i in range(OPTIONS.claims)], [f"plain-{i}" for i in range(OPTIONS.pods - OPTIONS.claims)]
    began = time.monotonic()

    def fill():
        create(api, others, plain)
        say("fill: plain pods created after", round(time.monotonic() - began, 1), "s")
        create(api, claimed, with_claim)
        return bound.wait(claimed + others, 1800)

    last = phase(measured, "fill", fill)
    say("fill: first creation to last binding", round(last - began, 1), "s")
    check_devices(api, OPTIONS.claims)
    measured.process.stop()

    measured, ready = start(box, programs, api, 120)
    say("start to ready", round(ready, 2), "s")
    time.sleep(10)  # what the first look at everything leaves
    pid = measured.process.process.pid
    say("start: manager's CPU in the first 10 s", round(managers.cpu_seconds(pid), 2), "s")
    say("start: longest tasks", measured.most_between({}, measured.buckets("dra_reactor_task_seconds")))
    say("memory after the start, peak", round(managers.peak_memory_mib(pid), 1), "MiB")
    before = managers.cpu_seconds(pid)
    time.sleep(OPTIONS.idle)
    say("idle CPU", round(100 * (managers.cpu_seconds(pid) - before) / OPTIONS.idle, 2), "%")
    phase(measured, "late pods", lambda: paced(api, bound, OPTIONS.late, 30))
    phase(measured, "drained rack", lambda: drain(api, bound, OPTIONS.rack))
    phase(measured, "mass restart", lambda: restart(api, bound, OPTIONS.restart))
    check_devices(api, OPTIONS.claims)
    say("memory at the end, peak", round(managers.peak_memory_mib(pid), 1), "MiB")
    say("sandbox's memory, peak", round(managers.peak_memory_mib(box.process.pid), 1), "MiB")
    status = measured.process.stop()
    bound.stopped = True
    if status != 0:
        raise SystemExit(f"the manager ended with status {status}:\n{measured.process.log()[-2000:]}")
    if OPTIONS.json:
        print(json.dumps(FINDINGS))
    if ready > OPTIONS.most_seconds_to_ready:
        raise SystemExit(f"ready after {ready:.1f} s, which is more than {OPTIONS.most_seconds_to_ready}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    for name, default in (("nodes", 5000), ("devices", 8), ("pods", 50_000), ("claims", 20_000), ("rack", 200), ("restart", 5000), ("late", 300), ("idle", 60)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--most-seconds-to-ready", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    OPTIONS = arguments()
    measure(OPTIONS.programs)
