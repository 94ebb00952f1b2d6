#!/usr/bin/env python3
"""Claims of PodGroups on a real control plane ($KUBEBUILDER_ASSETS; skipped without it), with its alpha gates GenericWorkload and DRAWorkloadResourceClaims.

A PodGroup of many pods with one claim, once with kube-scheduler alone, then in gate mode beside kube-scheduler, then in bind mode, the manager killed and
started again all the time. Some pods are deleted and come again; then all pods and the PodGroup are deleted, and another pod gets the device. What the API
server has at each of these three moments is the same each time. Checked all the time: no pod is bound before the claim is allocated, and the claim's device
and uid stay as they are while pods are bound.

Usage: real_group_claims_test.py FOLDER_OF_PROGRAMS [--pods N] [--kill-every SECONDS] [--mode stock|gate|bind ...]
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

CONTROLLERS = "serviceaccount-controller,resourceclaim-controller,podgroup-protection-controller,garbage-collector-controller"
ENTRY = {"name": "r0", "resourceClaimTemplateName": "one"}


class Watcher(real_cluster.Watcher):
    def __init__(self, api):
        super().__init__(api, every=0.1)
        self.seen = None

    def look(self):
        bound = [p["metadata"]["name"] for p in self.api.items(gangs.PODS) if p["spec"].get("nodeName") and p["metadata"]["name"].startswith("g-")]
        claims = [c for c in self.api.items(gangs.CLAIMS) if c["metadata"]["name"].startswith("g-")]
        holds = [(c["metadata"]["uid"], rest.devices_of(c)) for c in claims if rest.devices_of(c)]
        self.looks += 1
        if not bound:
            self.seen = None
            return
        # Pods may have been deleted between the two lists; the claim goes after its last pod and the PodGroup.
        if len(holds) != 1 and [p for p in self.api.items(gangs.PODS) if p["metadata"]["name"] in bound]:
            self.wrong.append(f"{len(bound)} pods are bound, with {len(holds)} allocated claims")
        elif holds and self.seen not in (None, holds[0]):
            self.wrong.append(f"the claim was {self.seen} and is {holds[0]}")
        self.seen = holds[0] if holds else None


class Run(gangs.Run):
    def __init__(self, options):
        super().__init__(options, False)
        self.cluster = real_cluster.RealCluster(**real_cluster.pod_groups("DRAWorkloadResourceClaims"))

    def __enter__(self):
        self.cluster.__enter__()
        self.api, self.kubeconfig = self.cluster.api("admin"), self.cluster.kubeconfig("admin")
        self.cluster.start_controllers(CONTROLLERS)
        self.api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
        self.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        room = {"cpu": "512", "memory": "512Gi", "pods": "1000"}
        self.api.create(gangs.CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}},
                                                "spec": {}, "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}})
        self.api.create(rest.RESOURCE + "/resourceslices", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n"},
                                                            "spec": {"driver": "gpu.example.com", "nodeName": "n", "devices": [{"name": "gpu"}],
                                                                     "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}}})
        return self


class Play:
    def __init__(self, run, mode, options):
        self.run, self.mode, self.options, self.kills = run, mode, options, 0
        self.dice, self.next_kill = random.Random(1), time.monotonic() + options.kill_every

    def until(self, what, condition, seconds=240):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"{self.mode}: {what} did not come:\n{self.state()}")
            time.sleep(0.2)
            if self.run.manager and time.monotonic() > self.next_kill:
                self.run.manager.kill()
                self.run.manager.start()
                self.kills += 1
                self.next_kill = time.monotonic() + self.options.kill_every * self.dice.uniform(0.5, 1.5)

    def pod(self, name, grouped=True):
        pod = rest.pod(name, "one")
        if grouped:
            pod["spec"].update(schedulingGroup={"podGroupName": "g"}, resourceClaims=[ENTRY])
            for container in pod["spec"]["containers"]:
                container["resources"] = {"requests": {"cpu": "100m"}, "claims": [{"name": "r0"}]}
        if self.mode == "gate":
            pod["spec"]["schedulingGates"] = [{"name": gangs.GATE}]
        if self.mode == "bind":
            pod["spec"]["schedulerName"] = "ours"
        return pod

    def add(self, numbers):
        self.run.api.many([lambda i=i: self.run.api.create(gangs.PODS, self.pod(f"g-{i:03}")) for i in numbers])

    def remove(self, numbers):
        self.run.api.many([lambda i=i: self.run.api.request("DELETE", f"{gangs.PODS}/g-{i:03}?gracePeriodSeconds=0") for i in numbers])

    def bound(self, prefix="g-"):
        return sum(1 for p in self.run.api.items(gangs.PODS) if p["spec"].get("nodeName") and p["metadata"]["name"].startswith(prefix))

    def state(self):
        """What must be the same whoever scheduled."""
        claims = self.run.api.items(gangs.CLAIMS)
        pods = self.run.api.items(gangs.PODS)
        return {"pods": len(pods), "bound": sum(1 for p in pods if p["spec"].get("nodeName") == "n"),
                "names": len({s["resourceClaimName"] for p in pods for s in p["status"].get("resourceClaimStatuses", [])}),
                "claims": [{"devices": rest.devices_of(c), "owner": [o["kind"] for o in c["metadata"].get("ownerReferences", [])],
                            "reserved": sorted(r["resource"] for r in c.get("status", {}).get("reservedFor", [])),
                            "finalizers": c["metadata"].get("finalizers", [])} for c in claims],
                "groups": len(self.run.api.items(gangs.GROUPS))}

    def play(self):
        begin, count = time.monotonic(), self.options.pods
        watcher = Watcher(self.run.cluster.api("admin"))
        watcher.start()
        self.run.api.create(gangs.GROUPS, {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"},
                                           "spec": {"schedulingPolicy": {"basic": {}} if self.mode == "stock" else {"gang": {"minCount": count}},
                                                    "resourceClaims": [ENTRY]}})
        self.add(range(count))
        self.until("all pods bound", lambda: self.bound() == count)
        took, states = time.monotonic() - begin, [self.state()]
        self.remove(range(count // 3))
        self.until("a third gone", lambda: self.bound() == count - count // 3)
        self.add(range(count // 3))
        self.until("a third again", lambda: self.bound() == count)
        states.append(self.state())
        self.remove(range(count))
        self.run.api.request("DELETE", gangs.GROUPS + "/g")
        self.run.api.create(gangs.PODS, self.pod("next", grouped=False))
        self.until("the device for another pod", lambda: self.bound("next") == 1)
        self.until("the claim gone", lambda: len(self.run.api.items(gangs.CLAIMS)) == 1)
        states.append(self.state())
        watcher.stopped.set()
        watcher.join()
        print(f"{self.mode}: {count} pods of a PodGroup on one claim bound in {took:.1f} s, all in {time.monotonic() - begin:.1f} s; {self.kills} kills, "
              f"{watcher.looks} looks, {len(watcher.wrong)} faults", flush=True)
        if watcher.wrong:
            raise SystemExit("; ".join(watcher.wrong[:5]))
        if self.run.manager and self.kills < 2:
            raise SystemExit("the manager was not killed")
        return states


def play(mode, options):
    with Run(options) as run:
        if mode != "bind":
            run.cluster.start("kube-scheduler", f"--kubeconfig={run.kubeconfig}", "--secure-port=0", "--leader-elect=false")
        if mode != "stock":
            run.manage("--scheduling=" + mode, *(["--scheduler-names=ours"] if mode == "bind" else []))
        return Play(run, mode, options).play()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--kill-every", type=float, default=2.0)
    parser.add_argument("--mode", nargs="+", choices=["stock", "gate", "bind"], default=["stock", "gate", "bind"])
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    if real_cluster.release() < 36:
        print(f"skipped: Kubernetes 1.{real_cluster.release()} has no PodGroups of scheduling.k8s.io")
        sys.exit(77)
    states = {mode: play(mode, options) for mode in options.mode}
    first = states[options.mode[0]]
    print(first)
    for mode, seen in states.items():
        if seen != first:
            raise SystemExit(f"{mode} ends otherwise than {options.mode[0]}:\n{seen}\n{first}")
    print("ok")


if __name__ == "__main__":
    main()
