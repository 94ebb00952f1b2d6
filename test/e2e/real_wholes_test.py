#!/usr/bin/env python3
"""Groups of groups on a real control plane ($KUBEBUILDER_ASSETS; skipped without it), by annotations on PodGroups of scheduling.k8s.io/v1alpha2.

Wholes of a head and two groups of 8 workers, more than fit at a time; the manager is killed and started again all the time. Checked all the time: no device
twice, and no pod of a whole is bound before all 17 have their devices. In the end every whole has run.

Usage: real_wholes_test.py FOLDER_OF_PROGRAMS [--wholes N] [--seed N] [--kill-every SECONDS]
"""
import argparse
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
import real_gangs_test as gangs  # noqa: E402

SIZES = {"head": 1, "a": 8, "b": 8}
SIZE = sum(SIZES.values())
PREFIX = "dra-controller-manager/"


def whole_of(name):
    return name.split("-", 1)[0]


class Watcher(real_cluster.Watcher):
    """Checks pods and claims until it is stopped; records errors."""

    def __init__(self, api):
        super().__init__(api)
        self.complete, self.deleted = set(), set()

    def look(self):
        pods = {p["metadata"]["name"]: p for p in self.api.items(gangs.PODS)}
        held, ready, bound = {}, {}, {}
        for claim in self.api.items(gangs.CLAIMS):
            for device in rest.devices_of(claim):
                if device in held:
                    self.wrong.append(f"{device} is held by {held[device]} and {claim['metadata']['name']}")
                held[device] = claim["metadata"]["name"]
            owner = (claim["metadata"].get("ownerReferences") or [{}])[0].get("name", "")
            if rest.devices_of(claim) and owner in pods:
                ready[whole_of(owner)] = ready.get(whole_of(owner), 0) + 1
        for name, pod in pods.items():
            if pod["spec"].get("nodeName"):
                bound[whole_of(name)] = bound.get(whole_of(name), 0) + 1
        for whole, count in bound.items():
            if whole not in self.deleted and ready.get(whole, 0) < SIZE:
                self.wrong.append(f"{whole}: {count} pods are bound, but {ready.get(whole, 0)} of {SIZE} have devices")
            if count == SIZE:
                self.complete.add(whole)
        self.looks += 1


def add(api, names, seed):
    policy = {"basic": {}}
    for name in names:
        api.create(gangs.GROUPS, group(name, policy, {PREFIX + "min-groups": str(len(SIZES))}))
        for part, size in SIZES.items():
            api.create(gangs.GROUPS, group(f"{name}-{part}", policy if part == "head" else {"gang": {"minCount": size}}, {PREFIX + "parent-group": name}))
    pods = []
    for name in names:
        for part, size in SIZES.items():
            for i in range(size):
                pod = rest.pod(f"{name}-{part}-{i}", "one")
                pod["spec"].update(schedulerName="ours", schedulingGroup={"podGroupName": f"{name}-{part}"})
                pods.append(pod)
    random.Random(seed).shuffle(pods)
    api.many([lambda p=p: api.create(gangs.PODS, p) for p in pods])


def group(name, policy, annotations):
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": name, "annotations": annotations},
            "spec": {"schedulingPolicy": policy}}


def through(run, options):
    watcher = Watcher(run.cluster.api("admin"))
    watcher.start()
    begin, kills = time.monotonic(), 0
    names = {f"whole{w:02}" for w in range(options.wholes)}
    add(run.api, sorted(names), options.seed)
    dice, next_kill = random.Random(options.seed), begin + options.kill_every
    while watcher.complete != names and not watcher.wrong and time.monotonic() < begin + 500:
        time.sleep(0.3)
        if time.monotonic() > next_kill:
            run.manager.kill()
            run.manager.start()
            kills += 1
            next_kill = time.monotonic() + options.kill_every * dice.uniform(0.5, 1.5)
        for whole in sorted(watcher.complete - watcher.deleted):
            watcher.deleted.add(whole)
            pods = [f"{whole}-{part}-{i}" for part, size in SIZES.items() for i in range(size)]
            run.api.many([lambda n=n: run.api.request("DELETE", f"{gangs.PODS}/{n}?gracePeriodSeconds=0") for n in pods])
    watcher.stopped.set()
    watcher.join()
    print(f"{len(watcher.complete)} of {len(names)} wholes of {SIZE} ran in {time.monotonic() - begin:.1f} s on {gangs.NODES * gangs.DEVICES} devices; "
          f"{kills} kills, {watcher.looks} looks, {len(watcher.wrong)} faults", flush=True)
    if watcher.wrong or watcher.complete != names:
        raise SystemExit("; ".join(watcher.wrong[:5]) or f"did not run: {sorted(names - watcher.complete)}")
    if kills < 2:
        raise SystemExit("the manager was not killed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--wholes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kill-every", type=float, default=2.0)
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    if real_cluster.release() < 36:
        print(f"skipped: Kubernetes 1.{real_cluster.release()} has no PodGroups of scheduling.k8s.io")
        sys.exit(77)
    with gangs.Run(options, False) as run:
        run.manage("--scheduling=bind", "--scheduler-names=ours")
        through(run, options)
    print("ok")


if __name__ == "__main__":
    main()
