#!/usr/bin/env python3
"""What schedulers are compared by, on a real control plane: one row a feat, bind mode beside stock kube-scheduler where stock can do it.

  fill      4,000 pods with a device each on 500 nodes of 8: seconds from the first creation to the last binding, CPU milliseconds a pod
  gang      a group of 512 pods that prefers one rack: seconds from its last pod's creation until all are bound, and in how many racks they are
  cannot    a group with one pod more than there are devices: seconds from its last pod's creation until its pods are said to be unschedulable
  reclaim   every device is in use and a pod waits: seconds from the moment when a claim's devices are free until the next pod is bound (median of ten)
  gangs     50 groups of 8 at once: seconds from the last creation until all are whole
  jobs      100 Jobs of 10 pods that run for a second, on 250 devices: seconds until all have succeeded
  shared    262 pods that want one claim, which 256 may have: seconds from the last pod's creation until these are bound, and writes of the claim
  restart   500 running pods are deleted and made anew at once: seconds from the first deletion until all new ones are bound

Usage: feats.py FOLDER_OF_PROGRAMS [--assets FOLDER] [--feats NAME,...] [--contenders stock,bind] [--runs N] [--scale PART] [--json]
  [--scheduler FILE] [--scheduler-args=FLAG ...] [--server-args=FLAG ...]
--scale 0.1 takes a tenth of the nodes and pods. With --runs the contenders take turns, and medians are printed. kube-scheduler's group scheduling is an
alpha feature that is off by default, so gang, cannot and gangs have no stock side unless --scheduler-args and --server-args switch it on (--stock-gangs).
"""
import argparse
import json
import os
import statistics
import threading
import time

import real_cluster
from real_cluster import rest
import manager as managers  # from test/e2e, which real_cluster adds to the path
import real_cluster_bench as pods_bench

PODS = pods_bench.PODS
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
SERVER = ["--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"]
GANGS = ("gang", "cannot", "gangs")
NODES, DEVICES, RACK = 500, 8, 64  # nodes a rack: 512 devices


def without_devices(pod):
    pod["spec"].pop("resourceClaims")
    for container in pod["spec"]["containers"]:
        container.pop("resources", None)
    return pod


class World:
    """A control plane with nodes in racks, and one contender that has bound a first pod."""

    def __init__(self, options, contender, nodes):
        self.options, self.contender, self.nodes = options, contender, nodes
        self.plane = real_cluster.ControlPlane(options.assets, SERVER + options.server_args, options.scheduler, options.scheduler_args)

    def __enter__(self):
        self.plane.__enter__()
        try:
            self.api = self.plane.api
            self.plane.add_nodes(self.nodes, DEVICES)
            self.api.many([lambda i=i: self.label(i) for i in range(self.nodes)])
            self.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu"))
            self.processes = pods_bench.start_contender(self.plane, self.options.programs, self.contender)
            self.create([without_devices(pods_bench.pod("warm-up", self.contender))])
            pods_bench.wait_until_bound(self.plane, 1, 60)
            self.delete(["warm-up"])
            self.wait(lambda: not self.api.items(PODS), 60, "the first pod to go")
        except BaseException:
            self.plane.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        self.plane.__exit__(*failure)

    def label(self, i):
        patch = {"metadata": {"labels": {"example.com/rack": f"rack-{i // RACK}"}}}
        self.api.request("PATCH", f"/api/v1/nodes/node-{i}", patch, "application/merge-patch+json")

    def create(self, pods):
        self.api.many([lambda p=p: self.api.create(PODS, p) for p in pods], threads=8)

    def delete(self, names):
        self.api.many([lambda n=n: self.api.request("DELETE", f"{PODS}/{n}?gracePeriodSeconds=0") for n in names], threads=8)

    def wait(self, condition, seconds, what):
        self.plane.wait_until(condition, seconds, what)

    def bound(self):
        return [pod for pod in self.api.items(PODS) if pod["spec"].get("nodeName")]

    def cpu(self):
        return sum(managers.cpu_seconds(process.pid) for process in self.processes.values())

    def pods(self, prefix, count, group=None):
        made = []
        for i in range(count):
            pod = pods_bench.pod(f"{prefix}-{i}", self.contender)
            if group:
                pod["spec"]["schedulingGroup"] = {"podGroupName": group}
            made.append(pod)
        return made

    def group(self, name, count, annotations=None):
        self.api.create(GROUPS, {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": name, "annotations": annotations or {}},
                                 "spec": {"schedulingPolicy": {"gang": {"minCount": count}}}})


def seconds_until_bound(world, count, began):
    pods_bench.wait_until_bound(world.plane, count, 900)
    return round(time.monotonic() - began, 2)


def fill(world, size):
    pods, cpu, began = world.pods("fill", size(4000)), world.cpu(), time.monotonic()
    world.create(pods)
    seconds = seconds_until_bound(world, len(pods), began)
    pods_bench.check(world.plane, len(pods))
    return {"seconds": seconds, "pods_per_second": round(len(pods) / seconds, 1), "cpu_ms_per_pod": round((world.cpu() - cpu) * 1000 / len(pods), 2)}


def gang(world, size):
    count = size(512)
    world.group("whole", count, {"dra-controller-manager/topology-preferred": "example.com/rack"})
    world.create(world.pods("whole", count, "whole"))
    seconds = seconds_until_bound(world, count, time.monotonic())
    racks = {int(pod["spec"]["nodeName"].split("-")[1]) // RACK for pod in world.bound()}
    return {"seconds": seconds, "racks": len(racks)}


def cannot(world, size):
    count = world.nodes * DEVICES + 1
    world.group("big", count)
    world.create(world.pods("big", count, "big"))
    began = time.monotonic()

    def said():
        pod = world.api.get(f"{PODS}/big-0")
        return any(c["type"] == "PodScheduled" and c["status"] == "False" and c.get("message") and "are there" not in c["message"] for c in pod["status"].get("conditions", []))
    world.wait(said, 900, "a word about the group that cannot")
    return {"seconds": round(time.monotonic() - began, 2), "pods": count, "bound": len(world.bound())}


def reclaim(world, size):
    full = world.nodes * DEVICES
    world.create(world.pods("full", full))
    pods_bench.wait_until_bound(world.plane, full, 900)
    world.create(world.pods("next", 10))
    found = []
    for i in range(10):
        free, bound = {}, {}
        watcher = threading.Thread(target=watch_reclaim, args=(world, f"full-{i}", free, bound), daemon=True)
        watcher.start()
        time.sleep(1)
        world.delete([f"full-{i}"])
        watcher.join(120)
        if not free or not bound:
            raise SystemExit(f"reclaim: freed {free}, bound {bound}\n" + world.plane.last_words())
        found.append(max(0.0, bound["at"] - free["at"]))
    return {"seconds": round(statistics.median(found), 3), "longest": round(max(found), 3)}


def watch_reclaim(world, pod, free, bound):
    """When the claim of `pod` loses its allocation, and when the next pod is bound after that."""
    def claims():
        for line in world.api.watch(CLAIMS + "?watch=true", 120):
            event = json.loads(line)
            owner = (event["object"]["metadata"].get("ownerReferences") or [{}])[0].get("name")
            if owner == pod and (event["type"] == "DELETED" or not event["object"].get("status", {}).get("allocation")):
                free.setdefault("at", time.monotonic())
                return
    thread = threading.Thread(target=claims, daemon=True)
    thread.start()
    for line in world.api.watch(PODS + "?watch=true&fieldSelector=spec.nodeName%21%3D", 120):
        event = json.loads(line)
        if event["type"] == "ADDED" and event["object"]["metadata"]["name"].startswith("next-") and event["object"]["metadata"]["name"] not in world.__dict__.setdefault("seen", set()):
            world.seen.add(event["object"]["metadata"]["name"])
            bound["at"] = time.monotonic()
            break
    thread.join(5)


def gangs(world, size):
    count = size(50)
    for i in range(count):
        world.group(f"gang{i}", 8)
    pods = [pod for i in range(count) for pod in world.pods(f"gang{i}", 8, f"gang{i}")]
    world.create(pods)
    return {"seconds": seconds_until_bound(world, len(pods), time.monotonic())}


def shared(world, size):
    for i in range(world.nodes):  # all of them run on the node of the device
        world.api.request("PATCH", f"/api/v1/nodes/node-{i}/status", {"status": {"allocatable": {"pods": "400"}}}, "application/merge-patch+json")
    world.api.create(CLAIMS, {"metadata": {"name": "shared"}, "spec": rest.template("gpu")["spec"]["spec"]})
    pods = world.pods("user", size(262))
    for pod in pods:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "shared"}]
    writes, ended = [], threading.Event()

    def count():
        for line in world.api.watch(CLAIMS + "?watch=true", 120):
            writes.append(json.loads(line)["type"])
            if ended.is_set():
                return
    threading.Thread(target=count, daemon=True).start()
    time.sleep(1)
    world.create(pods)
    began, fit = time.monotonic(), min(len(pods), 256)
    world.wait(lambda: len(world.bound()) >= fit, 300, "the pods of the claim to be bound")
    ended.set()
    return {"seconds": round(time.monotonic() - began, 2), "pods": fit, "writes": writes.count("MODIFIED")}


def kubelet(world, stopped, run_for):
    """Lets each bound pod succeed `run_for` seconds after it was seen."""
    seen = {}
    while not stopped.is_set():
        now = time.monotonic()
        for pod in world.bound():
            name = pod["metadata"]["name"]
            if pod["status"].get("phase") not in ("Succeeded", "Failed") and now - seen.setdefault(name, now) >= run_for:
                world.api.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}}, "application/merge-patch+json")
        stopped.wait(0.1)


def jobs(world, size):
    world.plane.start("kube-controller-manager-jobs", [f"--kubeconfig={world.plane.kubeconfig}", "--controllers=job-controller", "--leader-elect=false", "--secure-port=0",
                                                       "--kube-api-qps=1000", "--kube-api-burst=2000"], os.path.join(world.options.assets, "kube-controller-manager"))
    count, stopped = size(100), threading.Event()
    thread = threading.Thread(target=kubelet, args=(world, stopped, 1.0), daemon=True)
    thread.start()
    began = time.monotonic()
    try:
        for i in range(count):
            spec = pods_bench.pod("x", world.contender)["spec"]
            world.api.create("/apis/batch/v1/namespaces/default/jobs", {
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"job-{i}"},
                "spec": {"completions": 10, "parallelism": 10, "template": {"spec": {**spec, "restartPolicy": "Never"}}}})

        def done():
            return sum(job["status"].get("succeeded", 0) >= 10 for job in world.api.items("/apis/batch/v1/namespaces/default/jobs")) == count
        world.wait(done, 900, "the Jobs to succeed")
        return {"seconds": round(time.monotonic() - began, 2)}
    finally:
        stopped.set()
        thread.join()


def restart(world, size):
    count = size(500)
    world.create(world.pods("old", count))
    pods_bench.wait_until_bound(world.plane, count, 900)
    began = time.monotonic()
    deletion = threading.Thread(target=world.delete, args=([f"old-{i}" for i in range(count)],))
    deletion.start()
    world.create(world.pods("new", count))
    deletion.join()

    def all_bound():
        return sum(pod["metadata"]["name"].startswith("new-") for pod in world.bound()) == count
    world.wait(all_bound, 900, "the new pods to be bound")
    return {"seconds": round(time.monotonic() - began, 2)}


FEATS = {"fill": (fill, NODES), "gang": (gang, NODES), "cannot": (cannot, 64), "reclaim": (reclaim, 64), "gangs": (gangs, NODES), "jobs": (jobs, 32), "shared": (shared, 33), "restart": (restart, 63)}


def measure(options, name, contender):
    feat, nodes = FEATS[name]
    nodes = max(2, round(nodes * options.scale))
    with World(options, contender, nodes) as world:
        return feat(world, lambda count: min(max(1, round(count * options.scale)), nodes * DEVICES))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--assets", default=os.environ.get("KUBEBUILDER_ASSETS"))
    parser.add_argument("--feats", default=",".join(FEATS))
    parser.add_argument("--contenders", default="stock,bind")
    parser.add_argument("--stock-gangs", action="store_true")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    real_cluster.add_stock_options(parser)
    options = parser.parse_args()
    if not options.assets:
        parser.error("no control plane: name a folder with --assets or $KUBEBUILDER_ASSETS")
    unknown = [name for name in options.feats.split(",") if name not in FEATS]
    if unknown:
        parser.error(f"--feats: no feat is called {unknown[0]}; there are {', '.join(FEATS)}")
    rows = {}
    for name in options.feats.split(","):
        for run in range(options.runs):
            for contender in options.contenders.split(","):
                if contender == "stock" and name in GANGS and not options.stock_gangs:
                    continue
                result = measure(options, name, contender)
                rows.setdefault((name, contender), []).append(result)
                if not options.json:
                    print(name, contender, f"run {run + 1}", json.dumps(result), flush=True)
    table = [{"feat": name, "contender": contender, **{key: round(statistics.median(result[key] for result in results), 3) for key in results[0]}}
             for (name, contender), results in rows.items()]
    if options.json:
        print(json.dumps(table))
    elif options.runs > 1:
        for row in table:
            print("median", json.dumps(row))


if __name__ == "__main__":
    main()
