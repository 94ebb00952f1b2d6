#!/usr/bin/env python3
"""What one write costs a real kube-apiserver, by the verb and the encoding it is sent in: CPU of kube-apiserver and etcd, bytes, seconds.

Usage: write_verbs.py [--assets FOLDER] [--writes N] [--only TEXT] [--json]
The folder of etcd and kube-apiserver is --assets or $KUBEBUILDER_ASSETS.

Each way writes the same change N times over one connection, one after the other, to objects like those of a pod with one claim: a claim's
status (allocation and reservation), a claim's metadata (finalizer and annotation), a pod's status (the claim's name) and a pod's spec.
Every write is bound to the resourceVersion that the write before it returned, as the manager's writes are.
"""
import argparse
import json
import os
import time

import real_cluster
from real_cluster import rest
import manager as managers  # from test/e2e, which real_cluster put on the path

CLAIM = rest.RESOURCE + "/namespaces/default/resourceclaims/claim"
POD = "/api/v1/namespaces/default/pods/pod"
JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
METADATA = PROTOBUF + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MERGE, JSON_PATCH, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
ENVELOPE = b"k8s\x00"


def fields(message):
    """(number, wire type, start of the value, end of the value, start of the field) of a protobuf message."""
    at = 0
    while at < len(message):
        start = at
        tag, at = varint(message, at)
        if tag & 7 == 2:
            size, at = varint(message, at)
            yield tag >> 3, 2, at, at + size, start
            at += size
        elif tag & 7 == 0:
            value_at = at
            _, at = varint(message, at)
            yield tag >> 3, 0, value_at, at, start
        else:
            raise SystemExit(f"a protobuf field of wire type {tag & 7}")


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def inner(message, *path):
    for number in path:
        message = next(message[a:b] for n, _, a, b, _ in fields(message) if n == number)
    return message


def version_of(body):
    if body.startswith(ENVELOPE):
        return inner(body[4:], 2, 1, 6).decode()
    return json.loads(body)["metadata"]["resourceVersion"]


class Server:
    def __init__(self, plane):
        self.plane = plane
        self.connection = plane.api.new_connection(60)
        self.bytes_out = self.bytes_in = 0

    def send(self, method, path, body, content_type, accept):
        headers = {"Authorization": f"Bearer {self.plane.api.token}", "Content-Type": content_type, "Accept": accept}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        got = answer.read()
        self.bytes_out += len(body or b"")
        self.bytes_in += len(got)
        if answer.status >= 300:
            raise SystemExit(f"{method} {path} with {content_type}: {answer.status} {got[:500]!r}")
        return got


def get(server, path, accept=JSON):
    return server.send("GET", path, None, JSON, accept)


# ---- the changes, for round i: of some lists one digit changes, because an allocation may not

def allocation(i):
    return {"status": {"allocation": {
        "allocationTimestamp": "2026-01-01T00:00:00Z",
        "devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "node-0", "device": "gpu-0"}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}]}},
        "reservedFor": [{"resource": "pods", "name": f"reserved-{i % 10}", "uid": "11111111-1111-1111-1111-111111111111"}]}}


def mark(i):
    return {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"], "annotations": {"dra-controller-manager/proven": f"mark-{i % 10}"}}}


def claim_name(i):
    return {"status": {"nominatedNodeName": f"nominated-{i % 10}", "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"claim-{i % 10}"}]}}


def placement(i):
    return {"metadata": {"annotations": {"round": f"mark-{i % 10}"}}}


WRITES = (("claim status", CLAIM + "/status", allocation), ("claim metadata", CLAIM, mark),
          ("pod status", POD + "/status", claim_name), ("pod", POD, placement))


def pinned(change, version):
    made = json.loads(json.dumps(change))
    made.setdefault("metadata", {})["resourceVersion"] = version
    return made


def merge(accept, content_type=MERGE):
    def write(server, path, change, version, _):
        body = json.dumps(pinned(change, version)).encode()
        return server.send("PATCH", path + "?fieldManager=bench", body, content_type, accept)
    return write


def json_patch(accept):
    def write(server, path, change, version, _):
        steps = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]
        for part, members in change.items():
            for name, value in members.items():
                steps.append({"op": "add", "path": f"/{part}/{name}", "value": value})
        return server.send("PATCH", path + "?fieldManager=bench", json.dumps(steps).encode(), JSON_PATCH, accept)
    return write


def apply(accept):
    def write(server, path, change, version, kept):
        made = pinned(change, version)
        made.update(apiVersion=kept["apiVersion"], kind=kept["kind"])
        made["metadata"]["name"] = kept["metadata"]["name"]
        return server.send("PATCH", path + "?fieldManager=bench&force=true", json.dumps(made).encode(), APPLY, accept)
    return write


def put_json(accept):
    def write(server, path, change, version, kept):
        made = json.loads(json.dumps(kept))
        for part, members in change.items():
            made.setdefault(part, {}).update(members)
        made["metadata"]["resourceVersion"] = version
        return server.send("PUT", path + "?fieldManager=bench", json.dumps(made).encode(), JSON, accept)
    return write


class PutProtobuf:
    """Sends the object as the server encoded it, with the few bytes changed that tell round from round."""

    def __init__(self, accept):
        self.accept = accept
        self.template = None

    def __call__(self, server, path, change, version, _):
        if self.template is None or self.template[0] != path:
            self.template = (path, get(server, path.removesuffix("/status"), PROTOBUF))
            self.version = version_of(self.template[1])
        body = self.template[1]
        for word in (b"mark-", b"reserved-", b"nominated-", b"claim-"):
            digit = str(server.round % 10).encode()
            for old in b"0123456789":
                body = body.replace(word + bytes([old]), word + digit)
        if len(version) != len(self.version):
            raise SystemExit("the length of resource versions changed: run it again")
        body = body.replace(self.version.encode(), version.encode())
        return server.send("PUT", path + "?fieldManager=bench", body, PROTOBUF, self.accept)


WAYS = (("merge patch, answer JSON", lambda: merge(JSON)), ("merge patch, answer protobuf", lambda: merge(PROTOBUF)),
        ("merge patch, answer metadata", lambda: merge(METADATA)), ("strategic patch, answer protobuf", lambda: merge(PROTOBUF, STRATEGIC)),
        ("JSON patch, answer protobuf", lambda: json_patch(PROTOBUF)),
        ("apply, answer JSON", lambda: apply(JSON)), ("apply, answer protobuf", lambda: apply(PROTOBUF)),
        ("PUT JSON, answer JSON", lambda: put_json(JSON)), ("PUT JSON, answer protobuf", lambda: put_json(PROTOBUF)),
        ("PUT protobuf, answer protobuf", lambda: PutProtobuf(PROTOBUF)), ("PUT protobuf, answer metadata", lambda: PutProtobuf(METADATA)))


def measure(plane, path, change, way, writes):
    server = Server(plane)
    kept = json.loads(get(server, path.removesuffix("/status")))
    version = kept["metadata"]["resourceVersion"]
    processes = {process.label: process for process in plane.started}
    for i in range(20):
        server.round = i
        version = version_of(way(server, path, change(i), version, kept))
    server.bytes_in = server.bytes_out = 0
    cpu = {name: managers.cpu_seconds(process.pid) for name, process in processes.items()}
    began = time.monotonic()
    for i in range(writes):
        server.round = i
        version = version_of(way(server, path, change(i), version, kept))
    seconds = time.monotonic() - began
    figures = {name + "_us": round(1e6 * (managers.cpu_seconds(process.pid) - cpu[name]) / writes) for name, process in processes.items()}
    figures.update(latency_us=round(1e6 * seconds / writes), sent=server.bytes_out // writes, received=server.bytes_in // writes)
    return figures


def make_objects(plane):
    api = plane.api
    api.create(rest.RESOURCE + "/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaims", {
        "metadata": {"name": "claim", "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}, "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "11111111-1111-1111-1111-111111111111", "controller": True, "blockOwnerDeletion": True}]},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}})
    made = rest.pod("pod", "gpu")
    made["spec"]["schedulingGates"] = [{"name": "dra-controller-manager/allocation"}]
    api.create("/api/v1/namespaces/default/pods", made)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assets", default=os.environ.get("KUBEBUILDER_ASSETS"))
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.assets:
        parser.error("no control plane: name a folder with --assets or $KUBEBUILDER_ASSETS")
    results = []
    with real_cluster.ControlPlane(options.assets) as plane:
        make_objects(plane)
        for what, path, change in WRITES:
            for name, way in WAYS:
                if options.only not in f"{what}: {name}":
                    continue
                figures = measure(plane, path, change, way(), options.writes)
                results.append({"write": what, "way": name, **figures})
                if not options.json:
                    print(f"{what:15} {name:34} {json.dumps(figures)}", flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
