#!/usr/bin/env python3
"""Who goes for a pod that needs CPU alone, on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped
without them): in random situations of pods of several priorities, starts and budgets, the set that this manager evicts (--preemption=on, bind mode) and the set that
kube-scheduler evicts for the same pod, judged by the five criteria of docs/design/preemption.md. Ours is the best of all sets, so never worse than kube-scheduler's.

Usage: real_stock_preempt_test.py FOLDER_OF_PROGRAMS [--situations N] [--seed N]
"""
import argparse
import itertools
import json
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
from real_preempt_test import BUDGETS, CORE, MERGE, PODS, PROMISE, STRATEGIC, condition  # noqa: E402

PRIORITIES = {"idle": 0, "batch": 10, "train": 50, "serve": 60, "urgent": 1000}
CRITERIA = ("budgets", "the highest priority", "the sum of priorities", "the number", "the start")
NOW = 1_790_000_000  # starts are counted back from here


class Situation:
    """Nodes of a few CPUs, full enough that the asking pod fits on none; CPUs are whole numbers."""

    def __init__(self, number, dice):
        self.name = f"s{number}"
        while True:
            self.nodes = {f"{self.name}-n{i}": dice.randint(6, 12) for i in range(2)}
            self.pods, free = {}, dict(self.nodes)
            while len(self.pods) < 12 and any(free.values()):
                node = dice.choice([n for n, left in free.items() if left])
                cpu = dice.randint(1, min(4, free[node]))
                free[node] -= cpu
                self.pods[f"{self.name}-p{len(self.pods)}"] = {
                    "node": node, "cpu": cpu, "class": dice.choice(["idle", "batch", "batch", "train", "serve"]),
                    "start": NOW - 60 * dice.randint(1, 500), "label": dice.choice(["a", "b", "none"])}
            self.budgets = {label: dice.randint(0, 4) for label in ("a", "b") if dice.random() < 0.7}
            self.asked = dice.randint(3, 9)
            self.asker = dice.choice(["urgent", "urgent", "serve"])
            sets = self.all_sets()
            if not self.fits(()) and len(sets) > 3:
                self.best = min(map(self.key, sets))
                return

    def victims(self):
        return [p for p, one in self.pods.items() if PRIORITIES[one["class"]] < PRIORITIES[self.asker]]

    def fits(self, gone):
        for node, cpus in self.nodes.items():
            if cpus - sum(one["cpu"] for p, one in self.pods.items() if one["node"] == node and p not in gone) >= self.asked:
                return True
        return False

    def all_sets(self):
        able = self.victims()
        return [chosen for size in range(1, len(able) + 1) for chosen in itertools.combinations(able, size) if self.fits(chosen)]

    def allowed(self, label):
        return max(0, sum(one["label"] == label for one in self.pods.values()) - self.budgets[label])

    def key(self, chosen):
        """The five criteria, smaller is better."""
        ranks = [PRIORITIES[self.pods[p]["class"]] for p in chosen]
        violations = sum(max(0, sum(self.pods[p]["label"] == label for p in chosen) - self.allowed(label)) for label in self.budgets)
        earliest = min(self.pods[p]["start"] for p in chosen if PRIORITIES[self.pods[p]["class"]] == max(ranks))
        return violations, max(ranks), sum(rank + 2**31 for rank in ranks), len(chosen), -earliest


class Stage:
    def __init__(self, cluster, situation):
        self.api, self.wait, self.situation = cluster.api("admin"), cluster.wait_for, situation

    def furnish(self):
        one = self.situation
        for node, cpus in one.nodes.items():
            amounts = {"cpu": str(cpus), "memory": "64Gi", "pods": "110"}
            self.api.create(CORE + "/nodes", {"metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}},
                                              "spec": {"taints": [{"key": "ours", "value": "y", "effect": "NoSchedule"}]},
                                              "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
        for name, pod in one.pods.items():
            self.create(name, pod["cpu"], pod["class"], "ours", {"guard": pod["label"]}, pod["node"])
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(pod["start"]))
            status, answer = self.api.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running", "startTime": stamp, "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": stamp}]}}, STRATEGIC)
            assert status == 200, answer
        for label, least in one.budgets.items():
            self.api.create(BUDGETS, {"metadata": {"name": f"{one.name}-{label}"}, "spec": {"minAvailable": least, "selector": {"matchLabels": {"guard": label}}}})
        for label in one.budgets:
            self.wait(lambda label=label: self.is_counted(label), 60, f"the budget {label} to be counted")

    def is_counted(self, label):
        budget = self.api.get(f"{BUDGETS}/{self.situation.name}-{label}")
        status = budget.get("status") or {}
        return status.get("observedGeneration") == budget["metadata"]["generation"] and status.get("disruptionsAllowed") == self.situation.allowed(label)

    def create(self, name, cpu, rank, scheduler, labels=None, node=None):
        spec = {"schedulerName": scheduler, "priorityClassName": rank, "terminationGracePeriodSeconds": 300, "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}]}
        if node:
            spec["nodeName"] = node
        self.api.create(PODS, {"metadata": {"name": name, "labels": labels or {}}, "spec": spec})

    def leaving(self):
        there = {p["metadata"]["name"]: p for p in self.api.items(PODS)}
        return tuple(n for n in self.situation.pods if n not in there or there[n]["metadata"].get("deletionTimestamp"))

    def settled(self):
        """Who leaves, once nobody has joined them for two seconds."""
        end, seen, since = time.monotonic() + 60, (), time.monotonic()
        while time.monotonic() < end:
            now = self.leaving()
            if now != seen:
                seen, since = now, time.monotonic()
            if seen and time.monotonic() - since > 2:
                return seen
            time.sleep(0.1)
        raise SystemExit(f"{self.situation.name}: nobody was evicted")

    def ours(self):
        """The promised set, and nobody but that goes."""
        name = f"{self.situation.name}-asks"
        self.create(name, self.situation.asked, self.situation.asker, "ours")
        self.wait(lambda: condition(self.api.get(f"{PODS}/{name}"), PROMISE), 60, "a promise")
        record = json.loads(condition(self.api.get(f"{PODS}/{name}"), PROMISE)["message"])
        promised = {one.split("/")[1] for one in record["victims"]}
        gone = self.settled()
        assert set(gone) == promised, (self.situation.name, gone, promised)
        return gone

    def stock(self):
        self.create(f"{self.situation.name}-asks", self.situation.asked, self.situation.asker, "default-scheduler")
        return self.settled()

    def clean(self):
        for pod in self.api.items(PODS):
            self.api.request("DELETE", f"{PODS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
        for budget in self.api.items(BUDGETS):
            self.api.request("DELETE", f"{BUDGETS}/{budget['metadata']['name']}")
        self.wait(lambda: not self.api.items(PODS), 60, "no pods")
        for node in self.situation.nodes:
            self.api.request("DELETE", f"{CORE}/nodes/{node}")


def words(situation, chosen):
    return ", ".join(f"{p} ({situation.pods[p]['class']}, {situation.pods[p]['cpu']} CPU, {situation.pods[p]['node']})" for p in chosen)


def run(options):
    dice = random.Random(options.seed)
    better = judged = 0
    with real_cluster.RealCluster() as cluster:
        api = cluster.api("admin")
        cluster.start_controllers("disruption-controller,serviceaccount-controller", scheduler=True)
        for name, value in PRIORITIES.items():
            api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        status, _ = api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/preemption": "true"}}}, MERGE)
        assert status == 200
        manager = managers.Manager(os.path.join(options.programs, "dra-controller-manager"), cluster.kubeconfig("admin"),
                                   os.path.join(cluster.folder, "manager.log"),
                                   ["--leader-elect=false", "--scheduler-names=ours", "--preemption=on", "--usage=off"])
        manager.start()
        try:
            for number in range(options.situations):
                situation = Situation(number, dice)
                sets = []
                for choose in (Stage.ours, Stage.stock):
                    stage = Stage(cluster, situation)
                    stage.furnish()
                    sets.append(choose(stage))
                    stage.clean()
                ours, stock = sets
                assert situation.fits(ours) and situation.fits(stock), (ours, stock)
                assert situation.key(ours) == situation.best, (situation.name, situation.key(ours), situation.best)
                assert situation.key(ours) <= situation.key(stock), (situation.name, situation.key(ours), situation.key(stock))
                judged += 1
                told = "the same by all criteria"
                if situation.key(ours) != situation.key(stock):
                    better += 1
                    first = next(i for i, (a, b) in enumerate(zip(situation.key(ours), situation.key(stock))) if a != b)
                    told = f"ours is better by {CRITERIA[first]}: {words(situation, ours)}; kube-scheduler: {words(situation, stock)}"
                print(f"{situation.name}: {situation.asked} CPU for {situation.asker}; {told}", flush=True)
        finally:
            manager.kill()
    print(f"{judged} situations: ours is the best of all sets in each; kube-scheduler's is worse in {better}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--situations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with a whole control plane")
        sys.exit(77)
    run(options)


if __name__ == "__main__":
    main()
