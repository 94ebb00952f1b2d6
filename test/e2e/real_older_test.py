#!/usr/bin/env python3
"""An older manager beside the one that was built, on a real control plane ($KUBEBUILDER_ASSETS; $DRA_OLDER_MANAGER names the older program; skipped without
either), in bind mode: what the older one, while it leads, does with hardware that two drivers publish and with devices that a claim keeps, and what the newer one
finds when it leads again. docs/upgrade.md says it in words.

Usage: real_older_test.py FOLDER_OF_PROGRAMS
"""
import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
from real_leaving_test import CLAIMS, PODS  # noqa: E402
from real_rolling_test import EVENTS, Rolling  # noqa: E402

KEEP = "dra-controller-manager/keep-devices"
CLASSES, TEMPLATES = rest.RESOURCE + "/deviceclasses", rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
NODE = "node-a"


class Older(Rolling):
    def furnish(self):
        """One card that two drivers publish, each under its name, and one device that can be kept."""
        self.add_node(NODE, {"pool": "all"})
        self.delete(f"{rest.RESOURCE}/resourceslices/{NODE}")
        same = {"resource.kubernetes.io/pciBusID": {"string": "0000:01:00.0"}}
        for driver, device, attributes in (("card", "gpu-0", same), ("passthrough", "vfio-0", same), ("other", "nic-0", {})):
            self.api.create(rest.RESOURCE + "/resourceslices", {
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{NODE}-{driver}"},
                "spec": {"driver": f"{driver}.example.com", "nodeName": NODE, "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
                         "devices": [{"name": device, "attributes": attributes}]}})
            self.api.create(CLASSES, {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": driver}, "spec": {
                "selectors": [{"cel": {"expression": f'device.driver == "{driver}.example.com"'}}]}})
            template = rest.template(driver)
            template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = driver
            self.api.create(TEMPLATES, template)

    def ask(self, name, template):
        pod = rest.pod(name, template)
        pod["spec"].update(schedulerName="ours", terminationGracePeriodSeconds=0)
        self.api.create(PODS, pod)

    def ask_for_claim(self, name, claim):
        pod = rest.pod(name, "other")
        pod["spec"]["resourceClaims"] = [{"name": pod["spec"]["resourceClaims"][0]["name"], "resourceClaimName": claim}]
        pod["spec"].update(schedulerName="ours", terminationGracePeriodSeconds=0)
        self.api.create(PODS, pod)

    def end(self, name):
        self.delete(f"{PODS}/{name}")

    def bound(self, name):
        return bool(self.pods().get(name, {}).get("spec", {}).get("nodeName"))

    def soon(self, condition, what, seconds=60):
        self.cluster.wait_for(condition, seconds, what)

    def never(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert not condition(), what
            time.sleep(0.2)

    def events(self, reason):
        return [one.get("note", "") for one in self.api.items(EVENTS) if one["reason"] == reason]

    def claim(self, name):
        return self.api.request("GET", f"{CLAIMS}/{name}")[1]

    def consumers(self, name):
        return [one["resource"] for one in (self.claim(name).get("status") or {}).get("reservedFor", [])]


def identities(run):
    run.ask("first", "card")
    run.soon(lambda: run.bound("first"), "pod first is bound")
    run.ask("second", "passthrough")
    run.never(lambda: run.bound("second"), 5, "the newer one gives the same card out under its other name")
    run.take_over("stopped")
    run.soon(lambda: run.bound("second"), "the older one gives the same card out under its other name")
    print("the older one gives the second name of the same hardware out", flush=True)
    run.take_over("stopped")
    run.soon(lambda: any("gpu-0" in note and "vfio-0" in note for note in run.events("DeviceConflict")), "the newer one reports the pair", 90)
    assert run.bound("first") and run.bound("second"), "and touches neither"
    doctor = subprocess.run([os.path.join(run.options.programs, "kubectl-dra"), "doctor", "--kubeconfig", run.kubeconfig], capture_output=True, text=True, timeout=60)
    assert "gpu-0" in doctor.stdout and "vfio-0" in doctor.stdout, doctor.stdout + doctor.stderr
    run.ask("third", "card")
    run.end("first")
    run.never(lambda: run.bound("third"), 5, "the newer one gives the card out while a pod has it under its other name")
    assert run.bound("second") and rest.devices_of(run.claims()["second"]), "the other one keeps what it has"
    run.end("second")
    run.soon(lambda: run.bound("third"), "pod third is bound")
    print("the newer one reports the pair, undoes nothing, and gives the card out when both have ended", flush=True)
    run.end("third")


def claim_of(name, keeps):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "annotations": {KEEP: keeps}},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "other"}}]}}}


def kept(run):
    run.api.create(CLAIMS, claim_of("disk", "5s"))
    run.ask_for_claim("vm", "disk")
    run.soon(lambda: run.bound("vm"), "pod vm is bound")
    run.soon(lambda: sorted(run.consumers("disk")) == ["kept-devices", "pods"], "the claim has the entry")
    run.take_over("stopped")
    run.end("vm")
    run.soon(lambda: run.consumers("disk") == ["kept-devices"], "the pod is taken out of the claim")
    run.never(lambda: not rest.devices_of(run.claim("disk")), 15, "the older one frees the claim")
    run.ask("waits", "other")
    run.never(lambda: run.bound("waits"), 3, "the older one gives out what is kept")
    run.ask_for_claim("vm-2", "disk")
    run.soon(lambda: run.bound("vm-2"), "the older one binds the claim's next pod")
    run.end("vm-2")
    run.soon(lambda: run.consumers("disk") == ["kept-devices"], "and is taken out again")
    print("the older one keeps the devices for longer than asked, and gives them to the claim's next pod", flush=True)
    run.take_over("stopped")
    run.soon(lambda: run.bound("waits"), "the newer one ends what is kept too long")
    print("the newer one ends it when its time, counted from the takeover, is over", flush=True)
    run.end("waits")


def deleted(run):
    """A claim of which the older one knows nothing is deleted while the older one leads; another loses its annotation before that."""
    for name in ("stuck", "freed"):
        run.api.create(CLAIMS, claim_of(name, "24h"))
        run.ask_for_claim(f"of-{name}", name)
        run.soon(lambda name=name: run.bound(f"of-{name}"), f"pod of-{name} is bound")
        run.end(f"of-{name}")
        run.soon(lambda name=name: run.consumers(name) == ["kept-devices"], f"claim {name} keeps its device")
        if name == "freed":
            run.patch(f"{CLAIMS}/{name}", {"metadata": {"annotations": {KEEP: None}}})
            run.soon(lambda: not rest.devices_of(run.claim("freed")), "the newer one frees it with the annotation")
        else:
            run.take_over("stopped")
            run.delete(f"{CLAIMS}/{name}")
            run.never(lambda: not rest.devices_of(run.claim("stuck")), 10, "the older one frees a deleted claim")
            assert run.claim("stuck")["metadata"].get("deletionTimestamp")
            run.take_over("stopped")
            run.soon(lambda: run.api.request("GET", f"{CLAIMS}/stuck")[0] == 404, "the newer one lets the claim go")
    print("a deleted claim hangs while the older one leads; without its annotation a claim is freed before", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    options = parser.parse_args()
    older = os.environ.get("DRA_OLDER_MANAGER", "")
    if not real_cluster.RealCluster.available(whole=True) or not os.access(older, os.X_OK):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler, or DRA_OLDER_MANAGER no program")
        sys.exit(77)
    with Older(options, os.path.abspath(older), "bind") as run:
        run.furnish()
        run.begin("built")
        identities(run)
        kept(run)
        deleted(run)
    print("ok")


if __name__ == "__main__":
    main()
