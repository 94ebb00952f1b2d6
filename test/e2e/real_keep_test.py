#!/usr/bin/env python3
"""Claims that keep their devices between two pods (dra-controller-manager/keep-devices), on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver,
kube-controller-manager, kube-scheduler; skipped without them), in gate mode: a pod is stopped and started, the claim is deleted, the time is over, and a pod of a
higher priority takes what is kept; and of a claim from a template the next pod of the controller takes the device over. kube-controller-manager makes and frees
the claims.

Usage: real_keep_test.py FOLDER_OF_PROGRAMS
"""
import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
from real_features_test import CLAIMS, CLASSES, DRIVER, EVENTS, GATE, PODS, Run, SLICES, slice_of  # noqa: E402

KEEP = "dra-controller-manager/keep-devices"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"


def claim(name, keeps):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "annotations": {KEEP: keeps}},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}}


def pod(name, of_claim="", priority=""):
    made = rest.pod(name, "one")
    if of_claim:
        made["spec"]["resourceClaims"] = [{"name": made["spec"]["resourceClaims"][0]["name"], "resourceClaimName": of_claim}]
    made["spec"].update(schedulingGates=[{"name": GATE}], terminationGracePeriodSeconds=0)
    if priority:
        made["spec"]["priorityClassName"] = priority
    return made


class Keep:
    def __init__(self, run):
        self.run, self.api, self.wait = run, run.api, run.wait

    def start(self, name, *arguments):
        self.api.create(PODS, pod(name, *arguments))

    def stop(self, name):
        self.run.delete([name])

    def bound(self, name):
        return name in self.run.bound()

    def claim(self, name):
        return self.api.get(f"{CLAIMS}/{name}")

    def consumers(self, name):
        return sorted(f"{one['resource']}/{one['name']}" for one in self.claim(name).get("status", {}).get("reservedFor", []))

    def device(self, name):
        devices = rest.devices_of(self.claim(name))
        return devices[0] if devices else None

    def is_kept(self, name):
        consumers = self.consumers(name)
        return len(consumers) == 1 and consumers[0].startswith("kept-devices/until-")

    def says(self, reason, about, words):
        return any(one["reason"] == reason and one["regarding"]["name"] == about and words in one["note"] for one in self.api.items(EVENTS))

    def start_and_stop(self, name, keeps, priority=""):
        self.api.create(CLAIMS, claim(name, keeps))
        self.start(name, name, priority)
        self.wait(lambda: self.bound(name), 60, f"pod {name} is bound")
        self.stop(name)
        self.wait(lambda: self.is_kept(name), 30, f"claim {name} keeps its device without a pod")


def stop_and_start(keep):
    keep.start_and_stop("vm", "10m")
    first = keep.device("vm")
    assert first, "kube-controller-manager freed the claim"
    keep.start("beside")
    keep.wait(lambda: keep.bound("beside"), 60, "another pod gets the other device")
    keep.start("waits")
    for _ in range(3):
        keep.start("vm", "vm")
        keep.wait(lambda: keep.bound("vm"), 60, "the next pod of the claim is bound")
        assert keep.device("vm") == first, (keep.device("vm"), first)
        keep.wait(lambda: any(one.startswith("kept-devices/in-use") for one in keep.consumers("vm")), 30, "our entry says that a pod uses it")
        keep.stop("vm")
        keep.wait(lambda: keep.is_kept("vm"), 30, "kept again")
        time.sleep(2)
        assert keep.device("vm") == first and not keep.bound("waits")
    print("a pod that is stopped and started four times has the same device each time")


def deletion(keep):
    keep.api.request("DELETE", f"{CLAIMS}/vm")
    keep.wait(lambda: keep.api.request("GET", f"{CLAIMS}/vm")[0] == 404, 30, "the claim is gone at once")
    keep.wait(lambda: keep.bound("waits"), 60, "the waiting pod has the device")
    print("a deleted claim keeps nothing")


def higher_priority(keep):
    keep.stop("beside")
    keep.start_and_stop("vm-2", "24h", "low")
    for name, priority in (("equal", "low"), ("higher", "high")):
        keep.start(name, "", priority)
        if name == "equal":
            time.sleep(5)
            assert keep.is_kept("vm-2") and not keep.bound(name)
    keep.wait(lambda: keep.bound("higher"), 60, "the pod of the higher priority is bound")
    assert not keep.bound("equal") and not keep.device("vm-2")
    keep.wait(lambda: keep.says("KeptDevicesTaken", "vm-2", "pod default/higher of priority 1000"), 30, "an event on the claim")
    keep.wait(lambda: keep.says("TakesKeptDevices", "higher", "default/vm-2 (priority 10)"), 30, "an event on the pod")
    print("a higher priority takes what is kept, and both sides hear of it")


def time_over(keep):
    keep.stop("equal")
    keep.stop("higher")
    keep.start_and_stop("vm-3", "8s")
    keep.start("last")
    keep.wait(lambda: keep.bound("last"), 60, "what is kept too long is given to others")
    keep.wait(lambda: keep.says("KeepEnded", "vm-3", "the time is over"), 30, "an event on the claim")
    assert keep.consumers("vm-3") == []
    print("the time ends it")


def next_pod(keep):
    """The controller is an object that no program acts on."""
    keep.stop("last")
    owner = keep.api.create("/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "set"}})

    def start(name, template="kept"):
        made = pod(name)
        made["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "set", "uid": owner["metadata"]["uid"], "controller": True}]
        made["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = template
        keep.api.create(PODS, made)

    def claim_of(name):
        found = [one["metadata"]["name"] for one in keep.api.items(CLAIMS) if any(o["name"] == name for o in one["metadata"].get("ownerReferences", []))
                 and not one["metadata"].get("deletionTimestamp")]
        return found[0] if found else None
    start("next-0")
    keep.wait(lambda: keep.bound("next-0"), 60, "pod next-0 is bound")
    device = keep.device(claim_of("next-0"))
    keep.start("waits-2")  # the other device is in use
    for number, pause in ((1, 0), (2, 5), (3, 0)):
        before, name = f"next-{number - 1}", f"next-{number}"
        old = claim_of(before)
        keep.stop(before)
        time.sleep(pause)
        if pause:
            kept = keep.claim(old)
            assert kept["metadata"].get("deletionTimestamp") and rest.devices_of(kept) == [device], kept
        start(name)
        keep.wait(lambda name=name: keep.bound(name), 60, f"pod {name} is bound")
        assert keep.device(claim_of(name)) == device, (keep.device(claim_of(name)), device)
        keep.wait(lambda old=old: keep.api.request("GET", f"{CLAIMS}/{old}")[0] == 404, 30, "the earlier pod's claim is gone")
        assert not keep.bound("waits-2")
    keep.stop("next-3")
    keep.wait(lambda: keep.bound("waits-2"), 60, "what is kept too long is given to others")
    print("the next pod of a controller takes the device over three times; the time ends it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with a control plane")
        sys.exit(77)
    with Run(options, [("n0", "ours")]) as run:
        run.api.request("DELETE", f"{SLICES}/n0-{DRIVER}")
        run.api.create(SLICES, slice_of("n0", devices=2))
        run.api.create(CLASSES, rest.device_class("gpu"))
        run.api.create(TEMPLATES, rest.template("one"))
        kept = rest.template("kept")
        kept["spec"].setdefault("metadata", {})["annotations"] = {KEEP: "20s"}
        run.api.create(TEMPLATES, kept)
        for name, value in (("low", 10), ("high", 1000)):
            run.api.create("/apis/scheduling.k8s.io/v1/priorityclasses",
                           {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
        run.schedule()
        run.manage("gate")
        keep = Keep(run)
        for step in (stop_and_start, deletion, higher_priority, time_over, next_pod):
            step(keep)
    print("Kept devices are kept, and given back.")


if __name__ == "__main__":
    main()
