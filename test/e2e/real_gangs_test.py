#!/usr/bin/env python3
"""Gangs on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without them).

Gangs of 8 pods, PodGroups of scheduling.k8s.io/v1alpha2 (before 1.36 by the annotation for Jobs), more than fit at a time; the pods of all gangs are created in a random order, and a gang that
runs is deleted, so that others get its devices. Checked all the time: no device twice; in bind mode no pod of a gang is bound before all of them
have their devices, and no gang keeps devices for only a part of its pods. In the end every gang has run as a whole.

Usage: real_gangs_test.py FOLDER_OF_PROGRAMS [--gangs N] [--seed N] [--mode bind|gate|gate-gang ...]   (gate-gang: kube-scheduler's GangScheduling on)
"""
import argparse
import collections
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402

CORE = "/api/v1"
PODS = CORE + "/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
NODES, DEVICES, SIZE = 20, 8, 8
GATE = "dra-controller-manager/allocation"
PARTLY = 45.0  # seconds: --gang-hold-timeout (30 s) ends incomplete gangs; then writes are under way


def gang_of(name):
    return name.rsplit("-", 1)[0]


class Watcher(real_cluster.Watcher):
    """Checks pods and claims until it is stopped; records errors."""

    def __init__(self, api, strict):
        super().__init__(api)
        self.strict, self.partly, self.longest = strict, {}, 0.0
        self.complete = set()  # gangs of which all pods were bound once
        self.deleted = set()

    def look(self):
        pods = {p["metadata"]["name"]: p for p in self.api.items(PODS)}
        claims = self.api.items(CLAIMS)
        now, held, allocated, bound = time.monotonic(), {}, collections.Counter(), collections.Counter()
        for claim in claims:
            for device in rest.devices_of(claim):
                if device in held:
                    self.wrong.append(f"{device} is held by {held[device]} and {claim['metadata']['name']}")
                held[device] = claim["metadata"]["name"]
            owner = (claim["metadata"].get("ownerReferences") or [{}])[0].get("name", "")
            if rest.devices_of(claim) and owner in pods and not pods[owner]["metadata"].get("deletionTimestamp"):
                allocated[gang_of(owner)] += 1
        for name, pod in pods.items():
            if pod["spec"].get("nodeName"):
                bound[gang_of(name)] += 1
        for gang in {gang_of(name) for name in pods} - self.deleted:
            if self.strict and bound[gang] and allocated[gang] < SIZE:
                self.wrong.append(f"{gang}: {bound[gang]} pods are bound, but {allocated[gang]} have devices")
            if bound[gang] == SIZE:
                self.complete.add(gang)
            if 0 < allocated[gang] < SIZE and not bound[gang]:
                since = self.partly.setdefault(gang, now)
                self.longest = max(self.longest, now - since)
                if now - since > PARTLY:
                    self.wrong.append(f"{gang}: {allocated[gang]} of {SIZE} have devices for {now - since:.1f} s")
            else:
                self.partly.pop(gang, None)
        self.looks += 1


class Run:
    def __init__(self, options, gang_scheduling):
        self.options, self.manager = options, None
        self.cluster = real_cluster.RealCluster(**real_cluster.pod_groups(*(["GangScheduling"] if gang_scheduling else [])))

    def __enter__(self):
        self.cluster.__enter__()
        self.api, self.kubeconfig = self.cluster.api("admin"), self.cluster.kubeconfig("admin")
        self.cluster.start_controllers("serviceaccount-controller,resourceclaim-controller")
        self.api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
        self.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        calls = []
        for i in range(NODES):
            room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}", "labels": {"kubernetes.io/hostname": f"node-{i}"}}, "spec": {},
                    "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}}
            slice_ = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"node-{i}"},
                      "spec": {"driver": "gpu.example.com", "nodeName": f"node-{i}", "pool": {"name": f"node-{i}", "generation": 1, "resourceSliceCount": 1},
                               "devices": [{"name": f"gpu-{d}"} for d in range(DEVICES)]}}
            calls += [lambda n=node: self.api.create(CORE + "/nodes", n), lambda s=slice_: self.api.create(rest.RESOURCE + "/resourceslices", s)]
        self.api.many(calls)
        return self

    def __exit__(self, *failure):
        try:
            if failure[0] and self.manager:
                print(self.manager.log()[-4000:])
            if self.manager:
                self.manager.stop()
        finally:
            self.cluster.__exit__(*failure)

    def manage(self, *arguments):
        self.manager = managers.Manager(os.path.join(self.options.programs, "dra-controller-manager"), self.kubeconfig,
                                        os.path.join(self.cluster.folder, "manager.log"), ["--leader-elect=false", *arguments], plain=True)
        self.manager.start()

    def gangs(self, change):
        """All pods of all gangs, in a random order."""
        names = [f"gang{g:02}" for g in range(self.options.gangs)]
        self.api.many([lambda n=n: self.api.create(GROUPS, {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": n},
                                                            "spec": {"schedulingPolicy": {"gang": {"minCount": SIZE}}}}) for n in names if real_cluster.release() >= 36])
        pods = []
        for name in names:
            for i in range(SIZE):
                pod = rest.pod(f"{name}-{i}", "one")
                real_cluster.join(pod, name, SIZE)
                change(pod)
                pods.append(pod)
        random.Random(self.options.seed).shuffle(pods)
        self.api.many([lambda p=p: self.api.create(PODS, p) for p in pods])
        return set(names)

    def through(self, what, strict, change):
        watcher = Watcher(self.cluster.api("admin"), strict)
        watcher.start()
        begin = time.monotonic()
        names = self.gangs(change)
        end = begin + 500
        while watcher.complete != names and not watcher.wrong and self.manager.process.poll() is None and time.monotonic() < end:
            time.sleep(0.3)
            for gang in sorted(watcher.complete - watcher.deleted):
                watcher.deleted.add(gang)
                self.api.many([lambda n=f"{gang}-{i}": self.api.request("DELETE", f"{PODS}/{n}?gracePeriodSeconds=0") for i in range(SIZE)])
        watcher.stopped.set()
        watcher.join()
        print(f"{what}: {len(watcher.complete)} of {len(names)} gangs of {SIZE} ran whole in {time.monotonic() - begin:.1f} s on {NODES * DEVICES} devices; "
              f"{watcher.looks} looks, longest partly allocated {watcher.longest:.1f} s, {len(watcher.wrong)} faults", flush=True)
        if watcher.wrong or watcher.complete != names:
            raise SystemExit("; ".join(watcher.wrong[:5]) or f"did not run: {sorted(names - watcher.complete)}")


def bind(options):
    with Run(options, False) as run:
        run.manage("--scheduling=bind", "--scheduler-names=ours")
        run.through("bind mode", True, lambda pod: pod["spec"].update(schedulerName="ours"))


def gate(options, gang_scheduling=False):
    with Run(options, gang_scheduling) as run:
        run.cluster.start("kube-scheduler", f"--kubeconfig={run.kubeconfig}", "--secure-port=0", "--leader-elect=false")
        run.manage("--scheduling=gate")
        run.through("gate mode, GangScheduling " + ("on" if gang_scheduling else "off"), False,
                    lambda pod: pod["spec"].update(schedulingGates=[{"name": GATE}]))


MODES = {"bind": bind, "gate": gate, "gate-gang": lambda options: gate(options, True)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--gangs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES))
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    print(f"seed {options.seed}", flush=True)
    for mode in options.mode:
        if mode == "gate-gang" and real_cluster.release() < 36:
            print("gate-gang: not run, because GangScheduling knows PodGroups since 1.36")
            continue
        MODES[mode](options)
    print("ok")


if __name__ == "__main__":
    main()
