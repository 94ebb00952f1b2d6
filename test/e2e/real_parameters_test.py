#!/usr/bin/env python3
"""Claims whose opaque parameters kube-apiserver re-encodes in every patch (blanks between JSON tokens, raw <, > and &), on a real control plane
($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without them): no client can patch their metadata, and
the manager marks and frees them all the same, in gate mode and in bind mode, and keeps what others write at the same time. Parameters that NVIDIA's
driver would refuse get an event.

Usage: real_parameters_test.py FOLDER_OF_PROGRAMS [--mode gate|bind ...]
"""
import argparse
import json
import re
import sys
import threading

from real_features_test import CLAIMS, CLASSES, GATE, MERGE, Run, check_devices, nodes_of
import api as rest
import real_cluster

PROTECTION = "resource.kubernetes.io/delete-protection"
MARK = "dra-controller-manager/proven"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
PARAMETERS = '{"a":  1, "b": [1, 2], "c": "<&>", "d": 1.50}'  # as stored, byte for byte
COUNT = 4
OF_OTHERS = "example.com/theirs"
# More than the manager keeps of a claim's finalizers: it removes its own by index, with a JSON patch, which is refused like a merge patch.
LARGE = [f"{'a' * 40}.example.com/{i:02}-{'x' * 40}" for i in range(60)]


def with_parameters(body):
    """The text of a claim or template; json.dumps() writes blanks, but would change the parameters."""
    spec = body["spec"].get("spec", body["spec"])
    spec["devices"]["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": "PARAMETERS"}}]
    return json.dumps(body).replace('"PARAMETERS"', PARAMETERS)


def claim(name):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "finalizers": [OF_OTHERS]},
            "spec": rest.template("x")["spec"]["spec"]}


def pod(mode, name, source):
    made = rest.pod(name, "unused")
    made["spec"].update(terminationGracePeriodSeconds=0, resourceClaims=[{"name": "gpu", **source}])
    made["spec"].update({"schedulerName": "ours"} if mode == "bind" else {"schedulingGates": [{"name": GATE}]})
    return made


def raw(api, method, path, body=None):
    """(status, bytes) of a request in protobuf."""
    protobuf = "application/vnd.kubernetes.protobuf"
    connection = api.new_connection(60)
    headers = {"Authorization": f"Bearer {api.token}", "Accept": protobuf, **({"Content-Type": protobuf} if body else {})}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


class Other(threading.Thread):
    """Another client that writes the claims all the time: adds and changes an annotation, in protobuf as kube-controller-manager writes."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopped, self.wrote, self.lost = api, threading.Event(), 0, 0

    def run(self):
        turn = 100
        while not self.stopped.wait(0.05):
            turn += 1
            for i in range(COUNT):
                path = f"{CLAIMS}/raw-{i}"
                status, bytes_ = raw(self.api, "GET", path)
                if status != 200 or OF_OTHERS.encode() not in bytes_:
                    continue
                status, _ = raw(self.api, "PUT", path, re.sub(rb"turn-\d\d\d", b"turn-%d" % (turn % 900 + 100), bytes_))
                self.wrote += status == 200
                self.lost += status == 409


def release(api, path):
    """Removes the other finalizers as their owner would: an unknown field of equal length takes the place of each."""
    bytes_ = raw(api, "GET", path)[1]
    for name in [OF_OTHERS] + LARGE:
        length = len(name)
        finalizer = b"r" + bytes([length]) + name.encode()  # field 14
        assert bytes_.count(finalizer) == 1 or name in LARGE
        bytes_ = bytes_.replace(finalizer, b"\xba\x06" + bytes([length - 1]) + b"x" * (length - 1))
    return raw(api, "PUT", path, bytes_)[0]


def refusals(run):
    """The patches that the server refused so far, with 422."""
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in run.manager.metrics().splitlines()
               if line.startswith("rest_client_requests_total{") and 'code="422"' in line)


def freed(claims):
    """The names of all claims, if they have neither devices nor our finalizer."""
    if any(rest.devices_of(made) or PROTECTION in made["metadata"].get("finalizers", []) for made in claims):
        return None
    return {made["metadata"]["name"] for made in claims}


def lives(options, mode):
    with Run(options, nodes_of("ours", 20)) as run:
        run.api.create(CLASSES, rest.device_class())
        run.api.create(TEMPLATES, with_parameters(rest.template("blanks")))
        for i in range(COUNT):
            made = claim(f"raw-{i}")
            made["metadata"]["annotations"] = {OF_OTHERS: "turn-100"}
            run.api.create(CLAIMS, with_parameters(made))
        status, answer = run.api.request("PATCH", CLAIMS + "/raw-0", {"metadata": {"annotations": {"x": "y"}}}, MERGE)
        assert status == 422 and "field is immutable" in answer["message"], "this server keeps the parameters in patches: nothing is tested"
        if mode == "gate":
            run.schedule()
            # kube-scheduler allocates a claim for a pod that is not ours; ours join it below.
            theirs = claim("raw-stock")
            theirs["metadata"]["finalizers"] += LARGE
            run.api.create(CLAIMS, with_parameters(theirs))
            stock = pod("bind", "stock", {"resourceClaimName": "raw-stock"})
            stock["spec"].pop("schedulerName")
            run.create([stock])
            run.wait(lambda: run.bound(), 60, "kube-scheduler's pod")
            reserve = {"status": {"reservedFor": [{"resource": "pods", "name": "x", "uid": "x"}]}}
            assert run.api.request("PATCH", CLAIMS + "/raw-stock/status", reserve, MERGE)[0] == 422
        run.manage(mode, *(["--scheduler-names=ours"] if mode == "bind" else []))
        other = Other(run.api)
        other.start()
        # Two pods share each claim; others have one from the template.
        pods = [pod(mode, f"{kind}-{i}", {"resourceClaimName": f"raw-{i}"}) for i in range(COUNT) for kind in ("first", "second")]
        pods += [pod(mode, f"templated-{i}", {"resourceClaimTemplateName": "blanks"}) for i in range(COUNT)]
        run.create(pods)
        if mode == "gate":
            run.create([pod(mode, "joins", {"resourceClaimName": "raw-stock"})])
            pods += [stock, pod(mode, "joins", {})]
        run.wait(lambda: len(run.bound()) == len(pods), 60, "the pods to be bound")
        claims = run.api.items(CLAIMS)
        assert len(claims) == check_devices(run.api) == 2 * COUNT + (mode == "gate"), len(claims)
        for made in claims:
            metadata = made["metadata"]
            assert PROTECTION in metadata["finalizers"] and (MARK in metadata["annotations"] or metadata["name"] == "raw-stock"), metadata
            assert metadata["name"] != "raw-stock" or metadata["finalizers"][1:-1] == LARGE, metadata
            assert (OF_OTHERS in metadata["finalizers"]) == metadata["name"].startswith("raw"), metadata
            assert PARAMETERS.encode() in raw(run.api, "GET", f"{CLAIMS}/{metadata['name']}")[1], "the spec was changed"
        assert refusals(run) <= len(claims) + 1, f"{refusals(run)} refused patches for {len(claims)} claims"
        # The end: the other client releases them, claims and pods are deleted.
        other.stopped.set()
        other.join(timeout=60)
        assert other.wrote > 0
        run.delete([made["metadata"]["name"] for made in pods])
        held = {made["metadata"]["name"] for made in claims if made["metadata"]["name"].startswith("raw")}
        for name in held:
            assert run.api.request("DELETE", f"{CLAIMS}/{name}")[0] in (200, 202)
        run.wait(lambda: freed(run.api.items(CLAIMS)) == held, 120, "everything to be freed, and the claims with another finalizer to be left")
        for name in held:
            assert release(run.api, f"{CLAIMS}/{name}") == 200
        run.wait(lambda: not run.api.items(CLAIMS), 60, "the claims to go")
        refused(run, mode)
        assert refusals(run) <= len(claims) + 1
        print(f"{mode}: {len(pods)} pods bound with {len(claims)} claims that take no patch, all freed; {refusals(run)} patches were refused; "
              f"another client wrote them {other.wrote} times meanwhile", flush=True)


def refused(run, mode):
    """What NVIDIA's driver would refuse on the node: one event on the pod, which gets its devices all the same."""
    typo = rest.template("typo")
    typo["spec"]["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {
        "apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": {"strategy": "TimeSlicin"}}}}]
    run.api.create(TEMPLATES, typo)
    run.create([pod(mode, "typo", {"resourceClaimTemplateName": "typo"})])
    run.wait(lambda: "typo" in run.bound(), 60, "the pod with parameters that the driver refuses")
    notes = run.wait(lambda: run.notes("ParametersRefused"), 30, "the event ParametersRefused")
    assert set(notes) == {"typo"} and len(notes["typo"]) == 1, notes
    assert 'ResourceClaimTemplate "typo": spec.devices.config[0].opaque.parameters.sharing.strategy: ' in notes["typo"][0], notes
    run.delete(["typo"])
    run.wait(lambda: len(run.bound()) == 0, 60, "the pod to go")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--mode", nargs="+", choices=["gate", "bind"], default=["gate", "bind"])
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    for mode in options.mode:
        lives(options, mode)
    print("ok")


if __name__ == "__main__":
    main()
