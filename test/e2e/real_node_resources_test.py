#!/usr/bin/env python3
"""CPU through devices (KEP-5517) on a real control plane ($KUBEBUILDER_ASSETS; skipped without it), with its alpha gate DRANodeAllocatableResources.

A node of 4 cpu, and two devices that take 3 cpu of it each. kube-scheduler places a pod with one, and writes into its status what the device takes. This
manager, in bind mode beside it, counts that: pods of its own of 2 cpu, or with the other device, wait for cpu until that pod is gone, as kube-scheduler says
of the same pods. Then it gives the device to its own pod, with the same status, and the next pod waits for cpu, with either of the two.

Usage: real_node_resources_test.py FOLDER_OF_PROGRAMS
"""
import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
import real_gangs_test as gangs  # noqa: E402

FIELD = "nodeAllocatableResourceMappings"


def set_up(run):
    run.cluster.start_controllers("serviceaccount-controller,resourceclaim-controller", scheduler=True)
    run.api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
    run.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
    room = {"cpu": "4", "memory": "64Gi", "pods": "100"}
    run.api.create(gangs.CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}}, "spec": {},
                                           "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}})
    devices = [{"name": f"d{i}", FIELD: {"cpu": {"allocationMultiplier": "3"}}} for i in range(2)]
    made = run.api.create(rest.RESOURCE + "/resourceslices", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n"},
                                                              "spec": {"driver": "gpu.example.com", "nodeName": "n", "devices": devices,
                                                                       "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}}})
    if FIELD not in made["spec"]["devices"][0]:
        raise SystemExit(f"the API server dropped {FIELD}: its gate is off")


class Run(gangs.Run):
    def __init__(self, options):
        super().__init__(options, False)
        self.cluster = real_cluster.RealCluster(gates=["--feature-gates=DRANodeAllocatableResources=true"])

    def __enter__(self):
        self.cluster.__enter__()
        self.api, self.kubeconfig = self.cluster.api("admin"), self.cluster.kubeconfig("admin")
        set_up(self)
        return self

    def pod(self, name):
        return self.api.get(f"{gangs.PODS}/{name}")

    def bound(self, name):
        return bool(self.pod(name)["spec"].get("nodeName"))

    def until(self, what, condition, seconds=90):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"in vain: {what}; said: {[(n, self.said(n)) for n in ('plain', 'taker')]}")
            time.sleep(0.2)

    def said(self, name):
        return " | ".join(c.get("message", "") for c in self.pod(name)["status"].get("conditions", []) if c["type"] == "PodScheduled")

    def add(self, name, cpu, claim=False, ours=True):
        pod = rest.pod(name, "one")
        if not claim:
            del pod["spec"]["resourceClaims"]
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}, **({"claims": [{"name": "gpu"}]} if claim else {})}
        if ours:
            pod["spec"]["schedulerName"] = "ours"
        self.api.create(gangs.PODS, pod)


def play(run):
    run.add("stock", "100m", claim=True, ours=False)
    run.until("kube-scheduler's pod", lambda: run.bound("stock"))
    run.until("what it takes", lambda: run.pod("stock")["status"].get("nodeAllocatableResourceClaimStatuses"))
    took = run.pod("stock")["status"]["nodeAllocatableResourceClaimStatuses"][0]["resources"]
    if took != {"cpu": "3"}:
        raise SystemExit(f"kube-scheduler says {took}")
    run.manage("--scheduling=bind", "--scheduler-names=ours")
    run.add("small", "500m")
    run.until("a pod of 500m beside 3100m", lambda: run.bound("small"))
    run.add("plain", "2")
    run.add("taker", "100m", claim=True)
    run.until("the reason of a pod of 2 cpu", lambda: "asks 2 cpu, node has 400m left of 4" in run.said("plain"))
    waited = run.said("plain")
    run.until("no room for what its device takes", lambda: "would take 3 cpu, and there is room for 0.3" in run.said("taker"))
    # kube-scheduler's own judgement of the same pods.
    run.add("theirs", "2", ours=False)
    run.add("theirs-too", "100m", claim=True, ours=False)
    for name in ("theirs", "theirs-too"):
        run.until("kube-scheduler refuses it, too", lambda: "Insufficient cpu" in run.said(name))
        run.api.request("DELETE", f"{gangs.PODS}/{name}?gracePeriodSeconds=0")
    for name in ("plain", "taker"):
        if run.bound(name):
            raise SystemExit(f"{name} was bound: the node is overfilled")
    stock = claims_take(run, "stock")
    for name in ("plain", "stock"):
        run.api.request("DELETE", f"{gangs.PODS}/{name}?gracePeriodSeconds=0")
    run.until("the pod with the device once the cpu is free", lambda: run.bound("taker"))
    ours = claims_take(run, "taker")
    if [{k: v for k, v in one.items() if k != "resourceClaimName"} for one in ours] != [{k: v for k, v in one.items() if k != "resourceClaimName"} for one in stock]:
        raise SystemExit(f"kube-scheduler wrote {stock}, and we wrote {ours}")
    # What our pod's status says counts for both.
    run.add("second", "100m", claim=True)
    run.add("theirs", "2", ours=False)
    run.until("our next pod waits", lambda: "there is room for 0.3" in run.said("second"))
    run.until("kube-scheduler's next pod waits", lambda: "Insufficient cpu" in run.said("theirs"))
    if run.bound("second") or run.bound("theirs"):
        raise SystemExit("the node is overfilled")
    print(f"plain waited: {waited}\ntaker's status: {ours}\nsecond waits: {run.said('second')}\nok")


def claims_take(run, name):
    return run.pod(name)["status"].get("nodeAllocatableResourceClaimStatuses", [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    if real_cluster.release() < 36:
        print("skipped: the gate DRANodeAllocatableResources is of 1.36")
        sys.exit(77)
    with Run(options) as run:
        play(run)


if __name__ == "__main__":
    main()
