#!/usr/bin/env python3
"""Preemption in bind mode on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without them):
pods of three priorities with budgets, groups and shared claims on too few devices, replacements of the victims and pods of kube-scheduler among them, while the
manager and the API server are killed. No victim in vain, no device twice, no second set of victims for one promise, no budget broken where victims without a
violation could be had (budget_judge.py).

Usage: real_preempt_test.py FOLDER_OF_PROGRAMS [--pods N] [--seconds S] [--seed N]
"""
import argparse
import collections
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import budget_judge  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
from budget_judge import PROMISE, condition  # noqa: E402

CORE = "/api/v1"
PODS = CORE + "/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CONTROLLERS = "replicaset-controller,disruption-controller,garbage-collector-controller,serviceaccount-controller"
RANKS = {"low": 10, "mid": 100, "high": 1000}
NODES, DEVICES = 6, 4
SLOWEST = 60  # seconds from the moment when the last promised claim is free to the preemptor's binding


def steady(call, *arguments):
    """The API server is restarted meanwhile."""
    for _ in range(600):
        try:
            return call(*arguments)
        except (OSError, SystemExit, http.client.HTTPException):
            time.sleep(0.1)
    raise SystemExit("the API server does not come back")


class Kubelets(threading.Thread):
    """Bound pods run and are ready; pods that are deleted end after one to four seconds."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopped, self.ends = api, threading.Event(), {}

    def run(self):
        while not self.stopped.wait(0.3):
            try:
                for pod in self.api.items(PODS):
                    self.serve(pod)
            except (OSError, SystemExit, http.client.HTTPException, ValueError):
                continue  # the API server is restarted

    def serve(self, pod):
        meta, path = pod["metadata"], f"{PODS}/{pod['metadata']['name']}"
        if not pod["spec"].get("nodeName"):
            return
        if meta.get("deletionTimestamp"):
            if time.monotonic() >= self.ends.setdefault(meta["uid"], time.monotonic() + random.uniform(1, 4)):
                self.api.request("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})  # with a body the query is not read
        elif pod["status"].get("phase") == "Pending":
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self.api.request("PATCH", path + "/status", {"status": {"phase": "Running", "startTime": now, "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": now}]}}, STRATEGIC)


class Log(threading.Thread):
    """What pods and claims went through, by watches that go on after a break."""

    def __init__(self, api, path, seen):
        super().__init__(daemon=True)
        self.api, self.path, self.seen, self.stopped, self.version = api, path, seen, threading.Event(), None

    def run(self):
        known = {}
        while not self.stopped.is_set():
            try:
                if self.version is None:
                    whole = self.api.get(self.path)
                    self.version = whole["metadata"]["resourceVersion"]
                    there = {o["metadata"]["uid"]: o for o in whole["items"]}
                    for uid in set(known) - set(there):
                        self.seen("DELETED", known.pop(uid))
                    for uid, found in there.items():
                        known[uid] = found
                        self.seen("MODIFIED", found)
                for line in self.api.watch(f"{self.path}?watch=true&timeoutSeconds=20&resourceVersion={self.version}", 25):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.version = None
                        break
                    self.version = event["object"]["metadata"]["resourceVersion"]
                    known[event["object"]["metadata"]["uid"]] = event["object"]
                    if event["type"] == "DELETED":
                        known.pop(event["object"]["metadata"]["uid"])
                    self.seen(event["type"], event["object"])
            except (OSError, SystemExit, ValueError, http.client.HTTPException):
                time.sleep(0.2)


class Record:
    def __init__(self):
        self.lock = threading.Lock()
        self.promises = collections.defaultdict(dict)  # uid of the owner -> {victim "ns/name/uid": ...} of proven promises, by text of victims
        self.victims = {}  # uid -> (name, priority)
        self.bound, self.gone, self.names, self.ranks = {}, {}, {}, {}  # by uid of the pod
        self.holders = collections.defaultdict(dict)  # device -> {uid of the claim: key}
        self.history = budget_judge.History()
        self.written = {}  # (uid of the owner, victims): revision of the promise's first write
        self.freed, self.ours = {}, set()  # by uid of the claim; pods of our scheduler
        self.twice = []

    def pod(self, kind, pod):
        with self.lock:
            meta, now = pod["metadata"], time.monotonic()
            uid = meta["uid"]
            self.history.add("pod", kind, pod)
            self.names[uid], self.ranks[uid] = meta["name"], pod["spec"].get("priority", 0)
            if pod["spec"]["schedulerName"] == "ours":
                self.ours.add(uid)
            if pod["spec"].get("nodeName"):
                self.bound.setdefault(uid, now)
            mark = condition(pod, "DisruptionTarget")
            if mark and mark.get("reason") == "PreemptionByScheduler" and meta.get("deletionTimestamp"):
                self.victims.setdefault(uid, now)
            promise = condition(pod, PROMISE)
            if promise:
                self.written.setdefault((uid, tuple(sorted(json.loads(promise["message"])["victims"]))), int(meta["resourceVersion"]))
            if promise and promise["status"] == "True" and not pod["spec"].get("nodeName"):
                record = json.loads(promise["message"])
                self.promises[uid].setdefault(tuple(sorted(record["victims"])), {**record, "seen": now})
            if kind == "DELETED":
                self.gone.setdefault(uid, now)

    def claim(self, kind, claim):
        with self.lock:
            uid, now = claim["metadata"]["uid"], time.monotonic()
            self.history.add("claim", kind, claim)
            held = set() if kind == "DELETED" else {"/".join(d) for d in rest.devices_of(claim)}
            used = held and claim["status"].get("reservedFor")
            for device, holders in self.holders.items():
                if uid in holders and device not in held:
                    del holders[uid]
            for device in held:
                self.holders[device][uid] = claim["metadata"]["name"] if used else None
                in_use = [name for name in self.holders[device].values() if name]
                if len(in_use) > 1:
                    self.twice.append(f"{device}: {in_use}")
            if held:
                self.freed.pop(uid, None)
            else:
                self.freed.setdefault(uid, now)

    def budget(self, kind, budget):
        with self.lock:
            self.history.add("budget", kind, budget)

    def judge_budgets(self):
        """What promises broke without need, and how many were judged."""
        judge, faults = budget_judge.Judge(self.history, [f"node-{i}" for i in range(NODES)], DEVICES, 16000), []
        for (owner, victims), revision in self.written.items():
            if any(v.rsplit("/", 1)[1] in self.victims for v in victims) and (fault := judge.verdict(owner, revision)):
                faults.append(fault)
        return faults, f"{judge.judged} promises judged by their budgets, {judge.broken} broke one"

    def higher(self, owner, first, last):
        """Pods of ours of a higher priority that were bound meanwhile: they may have taken the place."""
        return [u for u, t in self.bound.items() if u in self.ours and self.ranks[u] > self.ranks[owner] and first <= t <= last]

    def faults(self, end):
        faults = [f"device twice: {t}" for t in self.twice]
        took = []
        named = {v.rsplit("/", 1)[1] for sets in self.promises.values() for s in sets for v in s}
        faults += [f"{self.names[v]} was evicted and no promise names it" for v in self.victims if v not in named]
        for owner, sets in self.promises.items():
            evicted = [s for s in sets if any(v.rsplit("/", 1)[1] in self.victims for v in s)]
            name = self.names[owner]
            went = [v.rsplit("/", 1)[1] for s in evicted for v in s if v.rsplit("/", 1)[1] in self.victims]
            if not went:
                continue
            free = max([self.gone.get(v, end) for v in went] +
                       [self.freed.get(c.rsplit("/", 1)[1], end) for s in evicted for c in sets[s]["victimClaims"]])
            # Of a group everybody who was promised a place.
            last = sets[max(evicted, key=lambda s: sets[s]["seen"])]
            for member in [m.rsplit("/", 1)[1] for m in last.get("places", {})] or [owner]:
                who = self.names.get(member, member)
                if member in self.bound:
                    took.append(self.bound[member] - free)
                    if self.bound[member] > free + SLOWEST:
                        faults.append(f"{who} ran {self.bound[member] - free:.0f} s after its place was free")
                elif member not in self.gone and end > free + SLOWEST:
                    if not self.higher(owner, min(self.victims[v] for v in went), end):
                        faults.append(f"{who} never ran, although {len(went)} went for it")
            if len(evicted) > 1:
                seen = [sets[s]["seen"] for s in evicted]
                if not self.higher(owner, min(seen), max(seen) + 5):
                    faults.append(f"{name}: {len(evicted)} sets of victims went for it")
        return faults, took


def furnish(api):
    for name, value in RANKS.items():
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    status, _ = api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/preemption": "true"}}}, MERGE)
    assert status == 200
    for i in range(NODES + 1):
        name, ours = f"node-{i}", i < NODES
        amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        api.create(CORE + "/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                                     "spec": {"taints": [{"key": "ours", "value": "y", "effect": "NoSchedule"}] if ours else []},
                                     "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
        if ours:
            api.create(rest.RESOURCE + "/resourceslices", {"metadata": {"name": name}, "spec": {
                "driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": f"gpu-{d}"} for d in range(DEVICES)]}})
    api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
    for count in (1, 2):
        api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template(f"gpus-{count}", count=count))
    for rank in ("low", "mid"):
        api.create(BUDGETS, {"metadata": {"name": rank}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"spared": rank}}}})


def spec_of(rank, devices, cpu="500m"):
    spec = {"schedulerName": "ours", "priorityClassName": rank, "terminationGracePeriodSeconds": 2, "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    if devices:
        spec["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": f"gpus-{devices}"}]
    return spec


def arrive(api, dice, count, seconds):
    """One step of arrivals for each element that it yields: what to wait before it."""
    made = shared = 0
    while made < count:
        rank = dice.choices(list(RANKS), [6, 3, 2])[0]
        kind = dice.choices(["pod", "set", "shared", "cpu", "group", "theirs"], [8, 3, 1, 3, 1, 2])[0]
        name = f"{rank}-{kind}-{made}"
        labels = {"spared": rank} if dice.random() < 0.3 else {}
        if kind == "set" and rank != "high":
            replicas = dice.randrange(2, 5)
            template = {"metadata": {"labels": {"set": name, **labels}}, "spec": spec_of(rank, 1)}
            steady(api.request, "POST", SETS, {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"set": name}}, "template": template}})
            made += replicas
        elif kind == "shared":
            shared += 1
            claim = {"metadata": {"name": f"shared-{shared}"}, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 1}}]}}}
            steady(api.request, "POST", CLAIMS, claim)
            for i in range(2):
                spec = spec_of(rank, 1)
                spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"shared-{shared}"}]
                steady(api.request, "POST", PODS, {"metadata": {"name": f"{name}-{i}", "labels": labels}, "spec": spec})
            made += 2
        elif kind == "group":
            job = {"metadata": {"name": name}, "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
            _, job = steady(api.request, "POST", JOBS, job)
            owner = [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": True}]
            for i in range(2):
                steady(api.request, "POST", PODS, {"metadata": {"name": f"{name}-{i}", "ownerReferences": owner, "annotations": {"dra-controller-manager/group": "2"}},
                                                   "spec": spec_of(rank, 1)})
            made += 2
        elif kind == "theirs":
            spec = {**spec_of(rank, 0), "schedulerName": "default-scheduler", "tolerations": []}
            steady(api.request, "POST", PODS, {"metadata": {"name": name}, "spec": spec})
            made += 1
        else:
            spec = spec_of(rank, 0, dice.choice(["4", "8"])) if kind == "cpu" else spec_of(rank, dice.choice([1, 1, 2]))
            steady(api.request, "POST", PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})
            made += 1
        yield dice.expovariate(count / 1.6 / seconds)


def restart(cluster, program):
    """kill -9, and the same again."""
    at = next(i for i, p in enumerate(cluster.processes) if os.path.basename(p.args[0]) == program)
    old = cluster.processes[at]
    old.send_signal(signal.SIGKILL)
    old.wait()
    cluster.processes[at] = subprocess.Popen(old.args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def run(options):
    dice = random.Random(options.seed)
    with real_cluster.RealCluster() as cluster:
        api, kubeconfig = cluster.api("admin"), cluster.kubeconfig("admin")
        cluster.start_controllers(CONTROLLERS, scheduler=True)
        furnish(api)
        record = Record()
        helpers = [Kubelets(cluster.api("admin")), Log(cluster.api("admin"), PODS, record.pod), Log(cluster.api("admin"), CLAIMS, record.claim),
                   Log(cluster.api("admin"), BUDGETS, record.budget)]
        for one in helpers:
            one.start()
        manager = managers.Manager(os.path.join(options.programs, "dra-controller-manager"), kubeconfig, os.path.join(cluster.folder, "manager.log"),
                                   ["--leader-elect=false", "--scheduler-names=ours", "--preemption=on", "--usage=off"])
        manager.start()
        try:
            begun, kills, servers = time.monotonic(), 0, 0
            for pause in arrive(api, dice, options.pods, options.seconds):
                time.sleep(min(pause, 10))
                since = time.monotonic() - begun
                if since > (kills + 1) * options.seconds / 7:
                    manager.kill()
                    manager.start()
                    kills += 1
                if since > (servers + 1) * options.seconds / 3 and servers < 2:
                    restart(cluster, "kube-apiserver")
                    servers += 1
            steady(api.get, PODS)
            time.sleep(SLOWEST + 15)
            end = time.monotonic()
            assert all(one.is_alive() for one in helpers), "a thread of the test has ended: what it saw is not whole"
            with record.lock:
                faults, took = record.faults(end)
                needless, judged = record.judge_budgets()
            faults += needless
            took.sort()
            print(f"{options.pods} pods in {end - begun:.0f} s, {kills} kills of the manager, {servers} of the API server: {len(record.victims)} victims for "
                  f"{sum(1 for s in record.promises.values() if s)} promises, {len(took)} pods with a promised place ran; from free to bound: "
                  f"median {took[len(took) // 2] if took else 0:.1f} s, longest {took[-1] if took else 0:.1f} s; {judged}; {len(faults)} faults", flush=True)
            if options.keep:
                print(manager.log()[-8000:])
            if faults or not record.victims:
                notes = collections.Counter(e["reason"] + ": " + e["note"] for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events")
                                            if e["reason"].startswith(("Preempt", "Promise")))
                print("\n".join(f"{count} x {note}" for note, count in notes.most_common(10)))
                raise SystemExit("; ".join(faults) or "nobody was evicted: this run proved nothing")
        finally:
            for one in helpers:
                one.stopped.set()
            manager.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="print the end of the manager's log")
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with a whole control plane")
        sys.exit(77)
    run(options)


if __name__ == "__main__":
    main()
