"""The cluster of docs/kubectl-dra.md as a snapshot: written here by hand, so that every figure in the docs can be checked by eye.

Usage: scenario.py FILE. Two nodes with four GPUs each, one with a partitioned GPU, one cordoned; pods that run and pods that
wait. Python's standard library only.
"""
import gzip
import json
import sys

TAKEN = "2026-03-01T12:00:00Z"
EARLIER = "2026-03-01T09:00:00Z"
CLASSES = {
    "gpu.example.com": 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "gpu"',
    "mig.example.com": 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "mig"',
    "nic.example.com": 'device.driver == "nic.example.com"',
}


def uid(number):
    return f"00000000-0000-4000-8000-{number:012d}"


class Cluster:
    def __init__(self):
        self.lists = {plural: [] for plural in ("namespaces", "nodes", "deviceclasses", "resourceslices", "resourceclaimtemplates", "resourceclaims", "pods")}
        self.numbers = 0

    def add(self, plural, name, namespace=None, created=EARLIER, **rest):
        self.numbers += 1
        metadata = {"name": name, "uid": uid(self.numbers), "creationTimestamp": created, **rest.pop("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
        item = {"metadata": metadata, **rest}
        self.lists[plural].append(item)
        return item

    def node(self, name, zone, cordoned=False):
        spec = {"unschedulable": True} if cordoned else {}
        amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        self.add("nodes", name, metadata={"labels": labels}, spec=spec, status={"capacity": amounts, "allocatable": amounts})

    def gpus(self, node, count, product, tainted=()):
        devices = []
        for i in range(count):
            device = {"name": f"gpu-{i}", "attributes": {"type": {"string": "gpu"}, "productName": {"string": product}}, "capacity": {"memory": {"value": "80Gi"}}}
            if i in tainted:
                device["taints"] = [{"key": "example.com/ecc", "value": "uncorrectable", "effect": "NoSchedule"}]
            devices.append(device)
        self.slice(f"{node}-gpus", "gpu.example.com", node, devices=devices)

    def slice(self, name, driver, node, slices=1, **rest):
        self.add("resourceslices", name, spec={"driver": driver, "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": slices}, **rest})

    def partitioned_gpu(self, node):
        def device(name, profile, start, size):
            counters = {f"slice-{i}": {"value": "1"} for i in range(start, start + size)}
            return {"name": name, "attributes": {"type": {"string": "mig" if profile else "gpu"}, "profile": {"string": profile or "whole"}},
                    "consumesCounters": [{"counterSet": "gpu-0", "counters": counters}]}
        counters = {"name": "gpu-0", "counters": {f"slice-{i}": {"value": "1"} for i in range(8)}}
        self.slice(f"{node}-counters", "gpu.example.com", node, slices=2, sharedCounters=[counters])
        devices = [device("gpu-0", "", 0, 8)]
        devices += [device(f"gpu-0-1g-{i}", "1g.10gb", i, 1) for i in range(8)]
        devices += [device(f"gpu-0-3g-{i}", "3g.40gb", i, 4) for i in (0, 4)]
        self.slice(f"{node}-partitions", "gpu.example.com", node, slices=2, devices=devices)

    def claim(self, namespace, name, device_class, count=1, held=(), node=None, pod=None, selector=None):
        exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
        if selector:
            exactly["selectors"] = [{"cel": {"expression": selector}}]
        status = {}
        metadata = {}
        if held:
            results = [{"request": "gpu", "driver": "gpu.example.com", "pool": node, "device": device} for device in held]
            selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
            status = {"allocation": {"devices": {"results": results}, "nodeSelector": selector, "allocationTimestamp": EARLIER}}
            metadata = {"managedFields": [{"manager": "dra-controller-manager-allocation", "operation": "Update", "subresource": "status"}]}
        if pod:
            status["reservedFor"] = [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}]
        self.add("resourceclaims", name, namespace, spec={"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}, status=status, metadata=metadata)

    def pod(self, namespace, name, claim, node=None, cpu="1", created=EARLIER, owner=None, priority=0):
        spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}, "claims": [{"name": "gpu"}]}}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}], "schedulerName": "dra-scheduler", "priority": priority}
        if node:
            spec["nodeName"] = node
        metadata = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": uid(999), "controller": True}]} if owner else {}
        return self.add("pods", name, namespace, created=created, spec=spec, metadata=metadata, status={"phase": "Running" if node else "Pending"})

    def bytes(self):
        header = {"format": "kubectl-dra snapshot", "version": 1, "taken": TAKEN, "server": "", "serverVersion": "v1.36.2", "draVersions": ["v1"],
                  "evictionsRead": True}
        lines = [json.dumps(header)]
        lines += [plural + "\t" + json.dumps({"items": items}) for plural, items in self.lists.items()]
        return gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0)


def build():
    cluster = Cluster()
    for namespace in ("ml", "web"):
        cluster.add("namespaces", namespace)
    cluster.node("node-a", "east")
    cluster.node("node-b", "west", cordoned=True)
    cluster.node("node-c", "west")
    for name, expression in CLASSES.items():
        cluster.add("deviceclasses", name, spec={"selectors": [{"cel": {"expression": expression}}]})
    cluster.gpus("node-a", 4, "A100", tainted=(3,))
    cluster.gpus("node-b", 4, "H100")
    cluster.partitioned_gpu("node-c")
    train = cluster.pod("ml", "train-0", "train-0-gpus", node="node-a")
    cluster.claim("ml", "train-0-gpus", "gpu.example.com", 2, held=("gpu-0", "gpu-1"), node="node-a", pod=train)
    web = cluster.pod("web", "web-7c9-x2x", "web-part", node="node-c", owner="web-7c9")
    cluster.claim("web", "web-part", "mig.example.com", 1, held=("gpu-0-1g-0",), node="node-c", pod=web)
    cluster.pod("ml", "train-1", "train-1-gpus", created="2026-03-01T11:48:00Z", priority=1000)
    cluster.claim("ml", "train-1-gpus", "gpu.example.com", 2)
    cluster.pod("ml", "broken-0", "no-such-claim", created="2026-03-01T11:00:00Z")
    cluster.pod("ml", "large-0", "large-0-gpus", cpu="100", created="2026-03-01T11:30:00Z")
    cluster.claim("ml", "large-0-gpus", "gpu.example.com", 1)
    return cluster


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as out:
        out.write(build().bytes())
