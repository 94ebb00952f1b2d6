#!/usr/bin/env python3
"""A word for every wait, on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without
them): a webhook that is down, a generated claim that somebody deleted or that nobody makes, flags that are not understood, and pinned pods that are
evicted a few at a time.

Usage: real_waits_test.py FOLDER_OF_PROGRAMS [--pods N] [--mode outage|deleted|never|flags|evictions|race ...]
"""
import argparse
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
from real_volumes_test import CORE, CPUS, DEVICES, MERGE, PODS, Run, unschedulable  # noqa: E402

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
GATE = {"name": "dra-controller-manager/allocation"}


def events_of(api, reason):
    """The latest note by pod."""
    found = {}
    when = lambda e: (e.get("series") or {}).get("lastObservedTime") or e.get("eventTime") or e["metadata"]["creationTimestamp"]  # noqa: E731
    for event in sorted(api.items(EVENTS), key=when):
        if event["reason"] == reason and event["regarding"]["kind"] == "Pod":
            found[event["regarding"]["name"]] = event["note"]
    return found


def conditions(api, kind):
    return {p["metadata"]["name"]: c for p in api.items(PODS) for c in p["status"].get("conditions", []) if c["type"] == kind and c["status"] == "False"}


def pod(mode, name, template="one", **metadata):
    made = rest.pod(name, template, **metadata)
    made["spec"].update({"schedulerName": "ours"} if mode == "bind" else {"schedulingGates": [GATE]})
    return made


def replica_set(name, replicas, spec):
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"set": name}},
                                                 "template": {"metadata": {"labels": {"set": name}}, "spec": spec}}}


def manage(run, mode, claims, *arguments):
    run.manager = managers.Manager(os.path.join(run.programs, "dra-controller-manager"), run.kubeconfig, os.path.join(run.cluster.folder, "manager.log"),
                                   ["--leader-elect=false", *(["--scheduler-names=ours"] if mode == "bind" else []), *arguments])
    chosen = {"--scheduling=bind": f"--scheduling={mode}", "--claim-templates=own": f"--claim-templates={claims}"}
    run.manager.arguments = [chosen.get(argument, argument) for argument in run.manager.arguments]
    run.manager.start()


def outage(options):
    """A webhook on resourceclaims/status is down while pods come: each is notified by event and condition, once, and bound soon after its end."""
    for mode, kind, reason in (("bind", "PodScheduled", "SchedulerError"), ("gate", "dra-controller-manager/Allocated", "RequestsFail")):
        with Run(options.programs) as run:
            api, wait = run.api, run.cluster.wait_for
            manage(run, mode, "own")
            api.create(PODS, pod(mode, "before"))
            wait(lambda: any(rest.devices_of(c) for c in api.items(CLAIMS)), 60, "a pod before the outage")
            api.create(HOOKS, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "down"}, "webhooks": [
                {"name": "down.example.com", "clientConfig": {"url": "https://127.0.0.1:1/nobody-listens"}, "failurePolicy": "Fail", "sideEffects": "None",
                 "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
                 "rules": [{"apiGroups": ["resource.k8s.io"], "apiVersions": ["*"], "resources": ["resourceclaims/status"], "operations": ["UPDATE"]}]}]})
            time.sleep(2)  # the server reads its configuration
            names = {f"p-{i:03}" for i in range(options.pods)}
            begin = time.monotonic()
            api.many([lambda n=n: api.create(PODS, pod(mode, n)) for n in sorted(names)])
            limit = 15 + options.pods / 10 + 20
            wait(lambda: names <= events_of(api, "RequestsFail").keys(), limit, "an event on every pod")
            wait(lambda: names <= {n for n, c in conditions(api, kind).items() if c["reason"] == reason}, 20, "a condition on every pod")
            took = time.monotonic() - begin
            notes = events_of(api, "RequestsFail")
            assert all("down.example.com" in n and "ResourceClaim/status" in n and "at least every 8 s" in n for n in notes.values()), notes
            assert "before" not in notes, notes["before"]
            series = [e for e in api.items(EVENTS) if e["reason"] == "RequestsFail" and e["regarding"]["kind"] == "Pod" and e.get("series")]
            assert not series, "notified more than once"
            api.request("DELETE", HOOKS + "/down")
            begin = time.monotonic()
            placed = lambda p: p["spec"].get("nodeName") if mode == "bind" else not p["spec"].get("schedulingGates")  # noqa: E731
            wait(lambda: all(placed(p) for p in api.items(PODS)), 60, "all pods after the outage")
            print(f"outage, {mode}: {len(names)} pods notified after {took:.1f} s, done {time.monotonic() - begin:.1f} s after its end", flush=True)


def deleted(options):
    """A generated claim is deleted by hand while its pod waits; kube-controller-manager made it."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        run.claim_controller()
        api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("many", count=17))
        manage(run, "bind", "observe")
        spec = pod("bind", "x", "many")["spec"]
        api.create(PODS, pod("bind", "bare", "many"))
        api.create(SETS, replica_set("set", 1, spec))
        wait(lambda: len(events_of(api, "FailedAllocation")) == 2, 60, "two pods that do not fit")
        wait(lambda: len(conditions(api, "PodScheduled")) == 2, 10, "their conditions")
        begin = time.monotonic()
        for one in api.items(CLAIMS):
            api.request("DELETE", f"{CLAIMS}/{one['metadata']['name']}")
        gone = "does not exist any more; kube-controller-manager may take an hour or a restart to make it anew"
        wait(lambda: sum(gone in n for n in events_of(api, "FailedAllocation").values()) == 2, 40, "what the deleted claims mean, as events")
        took = time.monotonic() - begin
        wait(lambda: sum(gone in c["message"] for c in conditions(api, "PodScheduled").values()) == 2, 5, "and as conditions")
        for name, note in events_of(api, "FailedAllocation").items():
            wanted = "restart kube-controller-manager, or apply" if name == "bare" else "delete the pod, its ReplicaSet/set makes it again"
            assert wanted in note and "(entry gpu)" in note, (name, note)
        assert took >= 9, took
        print(f"deleted: both pods notified after {took:.1f} s: {events_of(api, 'FailedAllocation')['bare']}", flush=True)


def never(options):
    """No controller makes claims."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        manage(run, "bind", "observe")
        begin = time.monotonic()
        api.create(PODS, pod("bind", "bare"))
        wait(lambda: "resourceclaim-controller seems to be off" in events_of(api, "FailedAllocation").get("bare", ""), 60, "what is off")
        took = time.monotonic() - begin
        wait(lambda: "seems to be off" in conditions(api, "PodScheduled").get("bare", {}).get("message", ""), 10, "the same as a condition")
        run.claim_controller()
        wait(lambda: api.get(f"{PODS}/bare")["spec"].get("nodeName"), 60, "the pod, once claims are made")
        assert took >= 29, took
        print(f"never: notified after {took:.1f} s, bound once the controller ran", flush=True)


def flags(options):
    """What is not understood is refused by name."""
    program = os.path.join(options.programs, "dra-controller-manager")
    for value in ("yess", "On", "1", " on"):
        done = subprocess.run([program, f"--recreate-pinned-pods={value}"], capture_output=True, text=True, timeout=30)
        said = done.stdout + done.stderr
        assert done.returncode == 1 and f'--recreate-pinned-pods: "{value}"' in said and "off" in said and said.count("\n") == 1, (value, done.returncode, said)
    print("flags: refused by name", flush=True)


def evictions(options):
    """Nine pods of one ReplicaSet that kube-scheduler does not place where their devices are (the test writes its condition and binds those made in
    their place): three are evicted at a time, the others say why they stay."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        manage(run, "gate", "own", "--recreate-pinned-pods=on")
        api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/recreate-pinned-pods": "true"}}}, MERGE)
        api.create(SETS, replica_set("set", 9, {**pod("gate", "x")["spec"], "terminationGracePeriodSeconds": 0}))
        ungated = lambda: {p["metadata"]["name"]: p for p in api.items(PODS)  # noqa: E731
                          if not p["spec"].get("schedulingGates") and not p["metadata"].get("deletionTimestamp")}
        wait(lambda: len(ungated()) == 9, 60, "nine pods that were ungated")
        first = set(ungated())
        for name in first:
            unschedulable(api, name)
        here = lambda: {p["metadata"]["name"] for p in api.items(PODS)}  # noqa: E731
        for turn in range(3):
            wait(lambda t=turn: len(first - here()) == 3 * (t + 1), 60, f"the evictions of turn {turn}")
            wait(lambda: len(ungated()) == 9, 60, "those made in their place")
            time.sleep(20 if turn == 0 else 3)
            assert len(first - here()) == 3 * (turn + 1), "more than three at a time"
            if turn < 2:
                stay = first & here()
                wait(lambda s=stay: all("it is evicted later: 3 pods of ReplicaSet/set are evicted for this at a time" in events_of(api, "PinnedUnschedulable").get(n, "")
                                        for n in s), 30, "the reason on those that stay")
            for name in sorted(here() - first):
                one = ungated()[name]
                if one["spec"].get("nodeName"):
                    continue
                terms = one["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
                node = terms[0]["matchFields"][0]["values"][0]
                api.create(f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}})
                assert api.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running"}}, MERGE)[0] == 200
        print("evictions: nine pods of one owner, three at a time; those that stayed said why", flush=True)


def more_nodes(api, first, count):
    for i in range(first, first + count):
        name, size = f"node-{i}", {"cpu": str(CPUS), "memory": "64Gi", "pods": "110"}
        api.create(CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                                     "status": {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]}})
        api.create(rest.RESOURCE + "/resourceslices", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
            "spec": {"driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"gpu-{d}"} for d in range(DEVICES)]}})


class Kubelets(threading.Thread):
    """Runs what is bound, and lets pinned pods of the set "gated" look as if they had waited for ten minutes. Meanwhile it counts: how many pods of
    the set were evicted, and how many of those more than pods that were made in their place run."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopped, self.failure, self.first = api, threading.Event(), None, None
        self.evicted, self.at_once = set(), 0

    def run(self):
        try:
            while not self.stopped.wait(0.3):
                self.look([p for p in self.api.items(PODS) if not p["metadata"].get("deletionTimestamp")])
        except BaseException as failure:  # noqa: BLE001: the test reports it
            self.failure = failure

    def look(self, pods):
        ours = {p["metadata"]["name"]: p for p in pods if p["metadata"]["labels"]["set"] == "gated"}
        if self.first is None and len(ours) == 100:
            self.first = set(ours)
        if self.first is not None:
            self.evicted |= self.first - ours.keys()
            runs = [n for n in ours.keys() - self.first if ours[n]["status"]["phase"] == "Running"]
            self.at_once = max(self.at_once, len(self.evicted) - len(runs))
        self.api.many([lambda p=p: self.patch(p, {"phase": "Running"}) for p in pods
                       if p["spec"].get("nodeName") and p["status"]["phase"] == "Pending"])
        now = time.time()
        for name, one in ours.items():
            conditions = one["status"].get("conditions", [])
            late = [c for c in conditions if c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable"
                    and c["lastTransitionTime"] > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 600))]
            for condition in late:
                condition["lastTransitionTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 660))
            if late and name in (self.first or ()):
                self.patch(one, {"conditions": conditions})

    def patch(self, one, status):
        self.api.request("PATCH", f"{PODS}/{one['metadata']['name']}/status", {"metadata": {"uid": one["metadata"]["uid"]}, "status": status}, MERGE)


def race(options):
    """100 gated and 100 ordinary pods race for 109 % of the CPU, then ten nodes come: pinned pods are evicted three at a time, the next ones when those
    made in their place run; the others say why they stay; in the end all run."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/recreate-pinned-pods": "true"}}}, MERGE)
        usable = [n for n in api.items(CORE + "/nodes") if not n["spec"].get("taints")]
        gated = {**pod("gate", "x")["spec"], "terminationGracePeriodSeconds": 0}
        gated["containers"][0]["resources"]["requests"] = {"cpu": f"{len(usable) * CPUS * 1090 // 200}m"}
        plain = {**gated, "containers": [{**gated["containers"][0], "resources": {"requests": gated["containers"][0]["resources"]["requests"]}}]}
        for field in ("schedulingGates", "resourceClaims"):
            plain.pop(field)
        # Who is first is chance in a real race: here the ordinary pods are, on nodes for which gated ones were ungated.
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "first"}, "value": 1000, "preemptionPolicy": "Never"})
        plain["priorityClassName"] = "first"
        manage(run, "gate", "own", "--recreate-pinned-pods=on")
        kubelets = Kubelets(run.cluster.api("admin"))
        api.many([lambda: api.create(SETS, replica_set("gated", 100, gated)), lambda: api.create(SETS, replica_set("plain", 100, plain))])
        kubelets.start()
        try:
            wait(lambda: len(api.items(PODS)) == 200 and not any(p["spec"].get("schedulingGates") for p in api.items(PODS)), 60, "the pods")
            run.schedule()
            pinned = lambda: {e for e in events_of(api, "PinnedUnschedulable")}  # noqa: E731
            wait(lambda: len(pinned()) > 6, 60, "pinned pods: without them the test shows nothing")
            more_nodes(api, 24, 10)
            begin = time.monotonic()
            wait(lambda: kubelets.failure or any("it is evicted later: 3 pods of ReplicaSet/gated are evicted for this at a time" in n for n in events_of(api, "PinnedUnschedulable").values()),
                 60, "the reason on those that stay")
            running = lambda: sum(p["status"]["phase"] == "Running" for p in api.items(PODS))  # noqa: E731
            wait(lambda: kubelets.failure or running() == 200, 200, "all pods to run")
        finally:
            kubelets.stopped.set()
            kubelets.join()
        if kubelets.failure:
            raise kubelets.failure
        print(f"race: {len(pinned())} pods were pinned, {len(kubelets.evicted)} evicted, {kubelets.at_once} at a time; all run {time.monotonic() - begin:.1f} s after "
              "ten nodes came", flush=True)
        assert 3 < len(kubelets.evicted) <= len(pinned()) and kubelets.at_once <= 3, (kubelets.evicted, kubelets.at_once)


MODES = {"outage": outage, "deleted": deleted, "never": never, "flags": flags, "evictions": evictions, "race": race}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES))
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    for mode in options.mode:
        MODES[mode](options)


if __name__ == "__main__":
    main()
