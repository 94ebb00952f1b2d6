#!/usr/bin/env python3
"""Moves in bind mode on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without them): asks for
partitions of GPUs come and go, and some want a whole card. With --defragment=on and without it, the same asks: how many for a whole card wait, and for how long.
No device twice, nobody moved who finds no place, no budget broken, while the manager is killed.

Usage: real_moves_test.py FOLDER_OF_PROGRAMS [--nodes N] [--seconds S] [--seed N] [--only on|off]
"""
import argparse
import collections
import json
import os
import random
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
from real_preempt_test import BUDGETS, CLAIMS, CONTROLLERS, CORE, MERGE, PODS, PROMISE, SETS, Kubelets, Log, condition, steady  # noqa: E402

DRIVER = "gpu.example.com"
# A card has eight slices of memory; where the partitions of each size begin, and how many slices they take.
STARTS = {1: range(7), 2: (0, 2, 4), 4: (0, 4), 8: (0,)}
SHARES = {1: 9, 2: 5, 4: 3, 8: 4}  # of the asks
FOUND = 60  # seconds in which whoever moved must have a place


class Record:
    def __init__(self):
        self.lock = threading.Lock()
        self.holders = collections.defaultdict(dict)  # (card, slice) -> {uid of the claim: name}
        self.twice, self.moved = [], {}  # moved: uid of the pod -> (name of its set, when)
        self.bound = collections.defaultdict(list)  # name of the set -> [(when, uid)]
        self.plans = {}  # uid of the pod that waits: [its plan was first seen, it was bound, the plan ended]

    def pod(self, kind, pod):
        with self.lock:
            meta, now = pod["metadata"], time.monotonic()
            has_plan = kind != "DELETED" and condition(pod, PROMISE)
            if has_plan:
                self.plans.setdefault(meta["uid"], [now, None, None])
            if plan := self.plans.get(meta["uid"]):
                plan[1] = plan[1] or (now if pod["spec"].get("nodeName") else None)
                plan[2] = None if has_plan else plan[2] or now
            owner = meta["labels"]["set"]
            if pod["spec"].get("nodeName") and meta["uid"] not in [uid for _, uid in self.bound[owner]]:
                self.bound[owner].append((now, meta["uid"]))
            mark = condition(pod, "DisruptionTarget")
            if mark and mark.get("reason") == "EvictionByEvictionAPI":
                self.moved.setdefault(meta["uid"], (owner, now))

    def claim(self, kind, claim):
        with self.lock:
            uid = claim["metadata"]["uid"]
            used = kind != "DELETED" and claim["status"].get("reservedFor")
            slices = set()
            for _, pool, device in rest.devices_of(claim) if used else []:
                start, size = map(int, device.split("-")[1:])
                slices |= {(pool, start + i) for i in range(size)}
            for place, holders in self.holders.items():
                if place not in slices:
                    holders.pop(uid, None)
            for place in slices:
                self.holders[place][uid] = claim["metadata"]["name"]
                if len(self.holders[place]) > 1:
                    self.twice.append(f"{place}: {sorted(self.holders[place].values())}")

    def stood(self, now):
        """How long plans stood, in all, and from the first sight to the pod's binding."""
        ends = sorted((end or now) - begun for begun, _, end in self.plans.values())
        bound = sorted((at or end or now) - begun for begun, at, end in self.plans.values())
        return f"{len(ends)} plans, bound after {sum(bound) / max(1, len(bound)):.1f} s, ended after {sum(ends) / max(1, len(ends)):.1f} s (longest {max(ends, default=0):.0f})"

    def free(self, cards):
        """Slices that nobody has."""
        return 8 * cards - sum(1 for holders in self.holders.values() if holders)


def furnish(api, nodes):
    status, _ = api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"annotations": {"dra-controller-manager/moves-per-hour": "1000"}}}, MERGE)
    assert status == 200
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    for i in range(nodes):
        name = f"node-{i}"
        api.create(CORE + "/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                                     "spec": {"taints": [{"key": "ours", "value": "y", "effect": "NoSchedule"}]},
                                     "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
        pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
        common = {"driver": DRIVER, "nodeName": name, "pool": pool}
        api.create(rest.RESOURCE + "/resourceslices", {"metadata": {"name": name + "-counters"}, "spec": {
            **common, "sharedCounters": [{"name": "card", "counters": {f"slice-{s}": {"value": "1"} for s in range(8)}}]}})
        devices = [{"name": f"part-{start}-{size}", "attributes": {"size": {"int": size}},
                    "consumesCounters": [{"counterSet": "card", "counters": {f"slice-{start + s}": {"value": "1"} for s in range(size)}}]}
                   for size, starts in STARTS.items() for start in starts]
        api.create(rest.RESOURCE + "/resourceslices", {"metadata": {"name": name}, "spec": {**common, "devices": devices}})
    api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
    for size in STARTS:
        api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", {"metadata": {"name": f"of-{size}"}, "spec": {"spec": {"devices": {"requests": [
            {"name": "part", "exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].size == {size}'}}]}}]}}}})
    # Two of the pods that it selects run at any time, once there are two.
    api.create(BUDGETS, {"metadata": {"name": "spared"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"spared": "y"}}}})


def ask(name, size, spared):
    labels = {"set": name, **({"spared": "y"} if spared else {})}
    spec = {"schedulerName": "ours", "terminationGracePeriodSeconds": 2, "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}, "claims": [{"name": "part"}]}}],
            "resourceClaims": [{"name": "part", "resourceClaimTemplateName": f"of-{size}"}]}
    return {"metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"matchLabels": {"set": name}}, "template": {
        "metadata": {"labels": labels, "annotations": {"dra-controller-manager/moves-per-hour": "100"}}, "spec": spec}}}


class Asks:
    """The same sequence for the same seed; an ask ends when it has run for its life."""

    def __init__(self, api, record, dice, options):
        self.api, self.record, self.dice, self.life = api, record, dice, options.life
        sizes, weights = list(SHARES), list(SHARES.values())
        mean = sum(s * w for s, w in SHARES.items()) / sum(weights)
        self.pause = options.life * mean / (8 * options.nodes * options.load)
        self.sizes, self.weights, self.made = sizes, weights, {}  # name -> [size, made, life, ended]

    def come(self):
        name = f"a{len(self.made)}"
        size = self.dice.choices(self.sizes, self.weights)[0]
        life, spared = self.dice.expovariate(1 / self.life), self.dice.random() < 0.2
        steady(self.api.request, "POST", SETS, ask(name, size, spared))
        self.made[name] = [size, time.monotonic(), life, None]

    def end_old(self):
        now = time.monotonic()
        for name, one in self.made.items():
            with self.record.lock:
                first = self.record.bound[name][0][0] if self.record.bound[name] else None
            if one[3] is None and first is not None and now - first > one[2]:
                steady(self.api.request, "DELETE", f"{SETS}/{name}", {"propagationPolicy": "Background"})
                one[3] = now


def figures(asks, record, end, size):
    waits = []
    for name, (its, made, _, _) in asks.made.items():
        if its == size:
            waits.append((record.bound[name][0][0] if record.bound[name] else end) - made)
    placed = sum(1 for name, one in asks.made.items() if one[0] == size and record.bound[name])
    return len(waits), placed, sum(waits) / max(1, len(waits)), sorted(waits)[len(waits) * 9 // 10] if waits else 0


def run(options, word):
    dice = random.Random(options.seed)
    with real_cluster.RealCluster() as cluster:
        api = cluster.api("admin")
        cluster.start_controllers(CONTROLLERS, scheduler=True)
        furnish(api, options.nodes)
        record = Record()
        helpers = [Kubelets(cluster.api("admin")), Log(cluster.api("admin"), PODS, record.pod), Log(cluster.api("admin"), CLAIMS, record.claim)]
        for one in helpers:
            one.start()
        manager = managers.Manager(os.path.join(options.programs, "dra-controller-manager"), cluster.kubeconfig("admin"), os.path.join(cluster.folder, "manager.log"),
                                   ["--leader-elect=false", "--scheduler-names=ours", f"--defragment={word}", "--move-after=5s", "--moves-per-hour=1000", "--usage=off"])
        manager.start()
        try:
            asks = Asks(api, record, dice, options)
            begun, kills, waiting = time.monotonic(), 0, []
            following = begun
            while time.monotonic() - begun < options.seconds:
                asks.end_old()
                if time.monotonic() >= following:
                    asks.come()
                    following += dice.expovariate(1 / asks.pause)
                with record.lock:
                    waits = [size for name, (size, *_) in asks.made.items() if not record.bound[name]]
                    waiting.append((waits.count(8), record.free(options.nodes)))
                if options.kills and time.monotonic() - begun > (kills + 1) * options.seconds / (options.kills + 1):
                    manager.kill()
                    manager.start()
                    kills += 1
                time.sleep(0.2)
            last = time.monotonic()
            # Nobody else comes; whoever moved must find its place.
            while time.monotonic() - last < FOUND:
                asks.end_old()
                time.sleep(0.5)
            assert all(one.is_alive() for one in helpers), "a thread of the test has ended: what it saw is not whole"
            with record.lock:
                faults = [f"slice of a card twice: {t}" for t in record.twice]
                for uid, (owner, when) in record.moved.items():
                    ended = asks.made[owner][3]
                    after = [t for t, other in record.bound[owner] if other != uid and t >= when - 1]
                    if not after and (ended is None or ended > when + FOUND):
                        faults.append(f"{owner} moved and found no place")
                    elif after and after[0] - when > FOUND:
                        faults.append(f"{owner} moved and found its place after {after[0] - when:.0f} s")
                number, placed, mean, slow = figures(asks, record, last, 8)
                small = figures(asks, record, last, 1)
                moved, stood = len(record.moved), record.stood(time.monotonic())
            plans = manager_counts(manager)
            notes = [(e["reason"], e["note"]) for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events") if e["reason"].startswith("Mov")]
            held = collections.Counter(why(note) for reason, note in notes if reason == "MovesHeldBack")
            print(f"events: {dict(collections.Counter(reason for reason, _ in notes))}; held back: {dict(held)}", flush=True)
            print(f"--defragment={word}: {options.nodes} cards, {len(asks.made)} asks of {options.life:.0f} s in {options.seconds:.0f} s, {kills} kills; for a whole card {number}, {placed} of them placed; "
                  f"waiting at a time {sum(w for w, _ in waiting) / len(waiting):.2f} with {sum(f for _, f in waiting) / len(waiting):.0f} slices free; "
                  f"wait {mean:.1f} s on the average, 9 of 10 below {slow:.1f} s; asks for one slice {small[0]}, wait {small[2]:.1f} s; "
                  f"{moved} moved; {stood}; {plans}; {len(faults)} faults", flush=True)
            if options.keep:
                print(manager.log()[-8000:])
            if faults:
                raise SystemExit("; ".join(faults[:20]))
            return mean, moved, number
        finally:
            for one in helpers:
                one.stopped.set()
            manager.kill()


def why(note):
    """Of a MovesHeldBack: the clause that says why, without names."""
    for words in ("was not decided within the limits", "in every order", "PodDisruptionBudgets do not allow", "an hour"):
        if words in note:
            return words
    return note.rsplit(": ", 1)[-1]


def manager_counts(manager):
    text = manager.metrics() if hasattr(manager, "metrics") else ""
    found = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line.startswith("dra_defragment")}
    return ", ".join(f"{name[15:-6]} {value:.0f}" for name, value in sorted(found.items())) or "no metrics"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--load", type=float, default=0.9, help="of the cards, if all asks fitted together")
    parser.add_argument("--life", type=float, default=60, help="seconds that an ask runs, on the average")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["on", "off"])
    parser.add_argument("--keep", action="store_true", help="print the end of the manager's log")
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with a whole control plane")
        sys.exit(77)
    results = {word: run(options, word) for word in ("off", "on") if options.only in (None, word)}
    if "on" in results and results["on"][1] == 0:
        raise SystemExit("nobody moved: this run proved nothing")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
