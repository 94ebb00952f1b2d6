#!/usr/bin/env python3
"""Leaving the device plugin node by node, and back, on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler;
skipped without them): docs/user/leaving-the-device-plugin.md, played through under load.

Half of the nodes offer nvidia.com/gpu by a device plugin, a driver publishes the GPUs of all. Pods of both kinds come and end all the time, by kube-scheduler and by
the manager in gate mode, while nodes move in both directions; some plugins are switched off while their pods still run. No node serves both ways at any moment, and
every pod runs.

Usage: real_device_plugin_test.py FOLDER_OF_PROGRAMS [--nodes N] [--pods N] [--use plugin|apart]
"""
import argparse
import http.client
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

CORE = "/api/v1"
PODS = CORE + "/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
GATE = "dra-controller-manager/allocation"
DRIVER, RESOURCE = "gpu.nvidia.com", "nvidia.com/gpu"
DEVICES = 4  # of each node


def ended(pod):
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def on_plugin(pod):
    return any(RESOURCE in c.get("resources", {}).get("requests", {}) for c in pod["spec"]["containers"])


def nodes_of(claim):
    """Uid and node of what the claim holds."""
    return {(claim["metadata"]["uid"], pool) for _, pool, _ in rest.devices_of(claim)}


class Kubelets(threading.Thread):
    """Bound pods run for one to three seconds, then they have succeeded."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopped, self.ends = api, threading.Event(), {}

    def run(self):
        while not self.stopped.wait(0.2):
            try:
                for pod in self.api.items(PODS):
                    self.serve(pod)
            except (OSError, http.client.HTTPException):
                continue

    def serve(self, pod):
        if not pod["spec"].get("nodeName") or ended(pod):
            return
        path = f"{PODS}/{pod['metadata']['name']}/status"
        if pod["status"].get("phase") == "Pending":
            self.ends[pod["metadata"]["uid"]] = time.monotonic() + random.uniform(1, 3)
            self.api.request("PATCH", path, {"status": {"phase": "Running"}}, STRATEGIC)
        elif time.monotonic() >= self.ends.get(pod["metadata"]["uid"], 0):
            self.api.request("PATCH", path, {"status": {"phase": "Succeeded"}}, STRATEGIC)


class BothWays(real_cluster.Watcher):
    """Nodes on which a pod of the plugin runs while a claim holds a device. Claims are listed before and after the pods: those in both lists held it meanwhile."""

    def look(self):
        self.looks += 1
        before = set().union(*(nodes_of(claim) for claim in self.api.items(CLAIMS)), set())
        pods = self.api.items(PODS)
        held = {node for _, node in before & set().union(*(nodes_of(claim) for claim in self.api.items(CLAIMS)), set())}
        plugins = {p["spec"]["nodeName"] for p in pods if p["spec"].get("nodeName") and not ended(p) and on_plugin(p)}
        self.wrong += [f"node {node} serves the device plugin's pods and claims" for node in held & plugins]


class Run:
    def __init__(self, options):
        self.options, self.cluster = options, real_cluster.RealCluster()
        self.made = {"plugin": 0, "claim": 0}

    def start(self):
        cluster = self.cluster
        self.api, kubeconfig = cluster.api("admin"), cluster.kubeconfig("admin")
        cluster.start_controllers("serviceaccount-controller,resourceclaim-controller", scheduler=True)
        self.api.create(rest.RESOURCE + "/deviceclasses", rest.device_class(driver=DRIVER))
        self.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        for number in range(self.options.nodes):
            self.add_node(f"n{number}", number < self.options.nodes // 2)
        self.manager = managers.Manager(os.path.join(self.options.programs, "dra-controller-manager"), kubeconfig, os.path.join(cluster.folder, "manager.log"),
                                        ["--leader-elect=false", "-v=4", f"--device-plugin-resources={DRIVER}={RESOURCE}",
                                         f"--device-plugin={DRIVER}={self.options.use}"], plain=True)
        self.manager.start()
        self.manager.wait_until("Leading", 60)

    def add_node(self, name, plugin):
        room = {"cpu": "64", "memory": "64Gi", "pods": "110", RESOURCE: str(DEVICES if plugin else 0)}
        self.api.create(CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "spec": {}, "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                                          "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}})
        self.api.create(rest.RESOURCE + "/resourceslices", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
            "spec": {"driver": DRIVER, "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"gpu-{d}", "attributes": {"resource.kubernetes.io/pciBusID": {"string": f"0000:{16 + d:02x}:00.0"}}} for d in range(DEVICES)]}})

    def add_pod(self, kind):
        name = f"{kind}-{self.made[kind]}"
        self.made[kind] += 1
        pod = rest.pod(name, "one")
        if kind == "plugin":
            pod["spec"].pop("resourceClaims")
            amount = {RESOURCE: "1"}
            pod["spec"]["containers"][0]["resources"] = {"requests": amount, "limits": amount}
        else:
            pod["spec"]["schedulingGates"] = [{"name": GATE}]
        self.api.create(PODS, pod)

    def patch(self, path, body):
        status, answer = self.api.request("PATCH", path, body, MERGE)
        assert status == 200, (path, status, answer.get("message"))

    def cordon(self, node, on):
        self.patch(f"{CORE}/nodes/{node}", {"spec": {"unschedulable": on or None}})

    def offer(self, node, amount):
        room = {RESOURCE: str(amount)}
        self.patch(f"{CORE}/nodes/{node}/status", {"status": {"capacity": room, "allocatable": room}})

    def plugins_on(self, node):
        return [p for p in self.api.items(PODS) if p["spec"].get("nodeName") == node and not ended(p) and on_plugin(p)]

    def held_on(self, node):
        return [c for c in self.api.items(CLAIMS) if any(at == node for _, at in nodes_of(c))]

    def to_claims(self, node, wait):
        self.cordon(node, True)
        if wait:
            self.cluster.wait_for(lambda: not self.plugins_on(node), 60, f"the pods of the plugin on {node}")
        else:
            time.sleep(1)  # Bindings in flight
        self.offer(node, 0)
        self.cordon(node, False)

    def to_plugin(self, node):
        self.cordon(node, True)
        self.cluster.wait_for(lambda: not self.held_on(node), 60, f"the claims on {node}")
        time.sleep(1)
        self.cluster.wait_for(lambda: not self.held_on(node), 60, f"the claims on {node}")
        self.offer(node, DEVICES)
        self.cordon(node, False)

    def play(self):
        quarter = max(1, self.options.nodes // 4)
        moves = [("claims", f"n{i}") for i in range(quarter)] + [("plugin", f"n{self.options.nodes // 2 + i}") for i in range(quarter)]
        random.shuffle(moves)
        for number, (to, node) in enumerate(moves):
            share = self.options.pods * (number + 1) // len(moves)
            for kind, made in self.made.items():
                for _ in range(share - made):
                    self.add_pod(kind)
            self.to_claims(node, wait=number % 2 == 0) if to == "claims" else self.to_plugin(node)
        self.cluster.wait_for(lambda: all(ended(p) for p in self.api.items(PODS)), 300, "the end of all pods")
        pods = self.api.items(PODS)
        assert len(pods) == 2 * self.options.pods, len(pods)
        assert all(p["status"]["phase"] == "Succeeded" for p in pods), "a pod was lost"
        kinds = {(on_plugin(p), p["spec"]["nodeName"]) for p in pods}
        both = {node for _, node in kinds if (True, node) in kinds and (False, node) in kinds}
        moved = {node for _, node in moves}
        return moved, both


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--pods", type=int, default=200, help="of each kind")
    parser.add_argument("--use", choices=("plugin", "apart"), default="plugin", help="apart: what happens if nobody looks at the plugin")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS has no etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        return 77
    random.seed(options.seed)
    run = Run(options)
    with run.cluster:
        run.start()
        kubelets, watcher = Kubelets(run.cluster.api("admin")), BothWays(run.cluster.api("admin"))
        kubelets.start()
        watcher.start()
        begun = time.monotonic()
        try:
            moved, both = run.play()
        except BaseException:
            print(run.manager.log()[-4000:])
            raise
        finally:
            watcher.stopped.set()
            watcher.join(20)
            kubelets.stopped.set()
            run.manager.stop()
        wrong = sorted(set(watcher.wrong))
        print(f"{len(moved)} of {options.nodes} nodes moved, {len(both)} of them served both kinds one after the other, {2 * options.pods} pods ended well, "
              f"{time.monotonic() - begun:.0f} s, {watcher.looks} looks, {len(watcher.wrong)} with a node that served both at once")
        for line in wrong[:10]:
            print(line)
        assert watcher.looks > 0 and both, "this run proved nothing"
        assert options.use != "plugin" or both <= moved, both - moved
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
