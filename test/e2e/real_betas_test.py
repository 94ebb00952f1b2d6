#!/usr/bin/env python3
"""On a Kubernetes release that serves resource.k8s.io in no v1 yet (1.32: v1beta1, 1.33: v1beta2 as well), a real control plane ($KUBEBUILDER_ASSETS) with the API and
the feature gate DynamicResourceAllocation switched on: gate mode beside its kube-scheduler, bind mode, and kubectl dra. Skipped on a newer release.

Usage: real_betas_test.py FOLDER_OF_PROGRAMS
"""
import argparse
import collections
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

CORE, PODS = "/api/v1", "/api/v1/namespaces/default/pods"
GATE, PROVEN = "dra-controller-manager/allocation", "dra-controller-manager/proven"
CONTROLLERS = "resourceclaim-controller,garbage-collector-controller,serviceaccount-controller"
STRATEGIC = "application/strategic-merge-patch+json"
NODES, DEVICES = 2, 4


class Kubelets(threading.Thread):
    """Bound pods run; pods that are deleted end."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopped = api, threading.Event()

    def run(self):
        while not self.stopped.wait(0.3):
            for pod in self.api.items(PODS):
                path = f"{PODS}/{pod['metadata']['name']}"
                if pod["metadata"].get("deletionTimestamp"):
                    self.api.request("DELETE", path, {"gracePeriodSeconds": 0})
                elif pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
                    self.api.request("PATCH", path + "/status", {"status": {"phase": "Running"}}, STRATEGIC)


def furnish(api, version):
    dra, old = f"/apis/resource.k8s.io/{version}", version == "v1beta1"
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    for i in range(NODES):
        name = f"node-{i}"
        api.create(CORE + "/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": {
            "allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
        attributes = {"attributes": {"model": {"string": "a"}}}
        api.create(dra + "/resourceslices", {"metadata": {"name": name}, "spec": {
            "driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{d}", **({"basic": attributes} if old else attributes)} for d in range(DEVICES)]}})
    one = rest.device_class()
    api.create(dra + "/deviceclasses", {"metadata": one["metadata"], "spec": one["spec"]})
    request = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "a"'}}]}
    api.create(dra + "/namespaces/default/resourceclaimtemplates", {"metadata": {"name": "one-gpu"}, "spec": {"spec": {"devices": {"requests": [
        {"name": "gpu", **(request if old else {"exactly": request})}]}}}})


def pod(name, **spec):
    made = rest.pod(name, "one-gpu")
    made["spec"].update(spec)
    return made


class Run:
    def __init__(self, cluster, programs, version):
        self.cluster, self.programs, self.api = cluster, programs, cluster.api("admin")
        self.claims = f"/apis/resource.k8s.io/{version}/namespaces/default/resourceclaims"

    def bound(self):
        return [p["metadata"]["name"] for p in self.api.items(PODS) if p["spec"].get("nodeName")]

    def each_alone(self, count):
        holders = collections.Counter(device for claim in self.api.items(self.claims) for device in rest.devices_of(claim))
        assert len(holders) == count and max(holders.values()) == 1, holders

    def manager(self, *flags):
        return managers.Manager(os.path.join(self.programs, "dra-controller-manager"), self.cluster.kubeconfig("admin"),
                                os.path.join(self.cluster.folder, "manager.log"), ["--leader-elect=false", "--usage=off", *flags], plain=True)

    def end(self, manager):
        for one in self.api.items(PODS):
            self.api.request("DELETE", f"{PODS}/{one['metadata']['name']}")
        self.cluster.wait_for(lambda: not self.api.items(self.claims), 60, "the claims to go:\n" + manager.log()[-1500:])
        assert manager.stop() == 0

    def gate(self):
        manager = self.manager().start()
        for i in range(4):
            self.api.create(PODS, pod(f"g-{i}", schedulingGates=[{"name": GATE}]))
        self.cluster.wait_for(lambda: len(self.bound()) == 4, 90, "pods with the gate:\n" + manager.log()[-1500:])
        assert all(PROVEN in claim["metadata"].get("annotations", {}) for claim in self.api.items(self.claims)), "kube-scheduler allocated"
        self.each_alone(4)
        self.end(manager)
        return "gate mode: 4 pods run on devices of their own, placed by kube-scheduler; their claims go with them"

    def bind(self):
        manager = self.manager("--scheduling=bind", "--scheduler-names=ours").start()
        for i in range(NODES * DEVICES + 1):
            self.api.create(PODS, pod(f"b-{i}", schedulerName="ours"))
        self.cluster.wait_for(lambda: len(self.bound()) == NODES * DEVICES, 90, "pods that are bound here:\n" + manager.log()[-1500:])
        time.sleep(3)
        names = set(self.bound())
        waits, = {f"b-{i}" for i in range(NODES * DEVICES + 1)} - names
        self.each_alone(NODES * DEVICES)
        done = subprocess.run([os.path.join(self.programs, "kubectl-dra"), "explain", f"pod/{waits}", "-n", "default", "--kubeconfig", self.cluster.kubeconfig("admin")],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "in use" in " ".join(done.stdout.split()), done
        self.api.request("DELETE", f"{PODS}/{sorted(names)[0]}")
        self.cluster.wait_for(lambda: waits in self.bound(), 60, "the pod that waited:\n" + manager.log()[-1500:])
        self.each_alone(NODES * DEVICES)
        self.end(manager)
        return "bind mode: 8 pods on 8 devices; kubectl dra explains the ninth, which runs when one ends"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=os.path.abspath)
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True) or real_cluster.release() >= 34:
        print("skipped: KUBEBUILDER_ASSETS names no whole control plane of a release without resource.k8s.io/v1")
        return 77
    version = "v1beta1" if real_cluster.release() < 33 else "v1beta2"
    served = [f"--runtime-config=resource.k8s.io/{one}=true" for one in ("v1beta1", "v1beta2")[:1 if version == "v1beta1" else 2]]
    with real_cluster.RealCluster(server_flags=[",".join([served[0], *(one.split("=", 1)[1] for one in served[1:])])],
                                  gates=["--feature-gates=DynamicResourceAllocation=true"]) as cluster:
        api = cluster.api("admin")
        cluster.start_controllers(CONTROLLERS, scheduler=True)
        print(f"{api.get('/version')['gitVersion']}: resource.k8s.io in {version}", flush=True)
        furnish(api, version)
        kubelets = Kubelets(cluster.api("admin"))
        kubelets.start()
        run = Run(cluster, options.programs, version)
        for check in (run.gate, run.bind):
            print("  " + check(), flush=True)
        kubelets.stopped.set()
    print("2 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
