#!/usr/bin/env python3
"""How long kubectl-dra takes on a large cluster: 5,000 nodes with 8 devices each, 20,000 claims that hold one device each, a pod for each, and a pod that waits.
Prints the time to load the snapshot and to answer, and fails if it exceeds the limits. Usage: inspect.py KUBECTL_DRA [--nodes N]
"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

LIMITS = {"load": 2000, "explain": 200, "top": 300}  # ms
DEVICES, SHARE = 8, 4  # devices of a node; of these, held
RUNS = 3  # the shortest time counts: other load on the machine only adds


def page(plural, items):
    return plural + "\t" + json.dumps({"items": items}) + "\n"


def snapshot(nodes):
    header = {"format": "kubectl-dra snapshot", "version": 1, "taken": "2026-03-01T12:00:00Z", "serverVersion": "v1.36.2", "draVersions": ["v1"]}
    amounts = {"cpu": "96", "memory": "512Gi", "pods": "110"}
    lists = {"nodes": [], "deviceclasses": [], "resourceslices": [], "resourceclaims": [], "pods": []}
    expression = 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "gpu"'
    lists["deviceclasses"].append({"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}})
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]}}
    for n in range(nodes):
        node = f"node-{n:05d}"
        lists["nodes"].append({"metadata": {"name": node, "uid": f"n{n}", "labels": {"kubernetes.io/hostname": node}}, "status": {"allocatable": amounts, "capacity": amounts}})
        devices = [{"name": f"gpu-{d}", "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{n}-{d}"}}, "capacity": {"memory": {"value": "80Gi"}}} for d in range(DEVICES)]
        lists["resourceslices"].append({"metadata": {"name": node + "-gpus"}, "spec": {"driver": "gpu.example.com", "nodeName": node, "devices": devices,
                                        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}})
        selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
        for d in range(SHARE):
            name = f"train-{n}-{d}"
            lists["pods"].append({"metadata": {"name": name, "namespace": "ml", "uid": "p" + name, "creationTimestamp": "2026-03-01T11:00:00Z"}, "status": {"phase": "Running"},
                                  "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}], "resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}})
            results = [{"request": "gpu", "driver": "gpu.example.com", "pool": node, "device": f"gpu-{d}"}]
            lists["resourceclaims"].append({"metadata": {"name": name, "namespace": "ml", "uid": "c" + name}, "spec": spec, "status": {
                "allocation": {"devices": {"results": results}, "nodeSelector": selector}, "reservedFor": [{"resource": "pods", "name": name, "uid": "p" + name}]}})
    large = json.loads(json.dumps(spec))
    large["devices"]["requests"][0]["exactly"]["count"] = DEVICES
    lists["resourceclaims"].append({"metadata": {"name": "large", "namespace": "ml", "uid": "clarge"}, "spec": large, "status": {}})
    lists["pods"].append({"metadata": {"name": "large", "namespace": "ml", "uid": "plarge", "creationTimestamp": "2026-03-01T11:00:00Z"}, "status": {"phase": "Pending"},
                          "spec": {"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "large"}]}})
    text = json.dumps(header) + "\n" + "".join(page(plural, items) for plural, items in lists.items())
    return gzip.compress(text.encode(), 1)


def main():
    program = os.path.abspath(sys.argv[1])
    nodes = int(sys.argv[sys.argv.index("--nodes") + 1]) if "--nodes" in sys.argv else 5000
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cluster.dra")
        with open(path, "wb") as out:
            out.write(snapshot(nodes))
        print(f"{nodes} nodes, {nodes * DEVICES} devices, {nodes * SHARE + 1} claims: {os.path.getsize(path) // 1024} KiB")
        for words in (["top"], ["top", "classes"], ["top", "claims"], ["top", "namespaces"], ["who", "node-00042"], ["explain", "pod/train-42-1"], ["explain", "pod/large"], ["doctor"]):
            runs = []
            for _ in range(RUNS):
                answer = subprocess.run([program, *words, "-n", "ml", "--from", path, "--times"], capture_output=True, text=True, timeout=300)
                times = re.search(r"loaded in (\d+) ms, answered in (\d+) ms", answer.stderr)
                if not times:
                    print(f"{' '.join(words)}: status {answer.returncode}: {answer.stderr[:500]}")
                    return 1
                runs.append((int(times.group(1)), int(times.group(2))))
            load, took = min(run[0] for run in runs), min(run[1] for run in runs)
            limit = LIMITS.get(words[0])
            late = load > LIMITS["load"] or (limit is not None and took > limit)
            slow += late
            print(f"{' '.join(words):24} loaded in {load:5} ms, answered in {took:5} ms" + ("  TOO SLOW" if late else ""))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
