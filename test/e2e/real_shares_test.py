#!/usr/bin/env python3
"""Devices that several claims share, on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager; skipped without them): the
annotation dra-controller-manager/shares of a class holds between two namespaces while their pods come at once, its words are in the events of those that wait, what
one gives back goes to the next, and --shared-device-requests=never gives two requests of a claim different devices or none.

Usage: real_shares_test.py FOLDER_OF_PROGRAMS
"""
import argparse
import collections
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
from real_features_test import CLASSES, DRIVER, Run, SLICES, slice_of  # noqa: E402

NAMESPACES = ("default", "other")
DEVICES, SHARERS, OF_A_NAMESPACE, MEMORY, ASKED = 2, 3, 2, 80, 10


def path(ns, kind):
    return f"/api/v1/namespaces/{ns}/pods" if kind == "pods" else f"{rest.RESOURCE}/namespaces/{ns}/{kind}"


def request(name):
    return {"name": name, "exactly": {"deviceClassName": "shared", "capacity": {"requests": {"memory": f"{ASKED}Gi"}}}}


def template(name, requests):
    made = rest.template(name)
    made["spec"]["spec"]["devices"]["requests"] = [request(f"gpu-{i}") for i in range(requests)]
    return made


def pod(name, of):
    made = rest.pod(name, of)
    made["spec"].update(schedulerName="ours", terminationGracePeriodSeconds=0)
    return made


def shares(run):
    """The shares of each device, as (namespace, claim)."""
    found = collections.defaultdict(list)
    for ns in NAMESPACES:
        for claim in run.api.items(path(ns, "resourceclaims")):
            for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
                assert result["shareID"] and result["consumedCapacity"]["memory"] == f"{ASKED}Gi", result
                found[result["device"]].append((ns, claim["metadata"]["name"]))
    return found


def check(run):
    """That what is held is allowed; how many shares there are."""
    found = shares(run)
    for device, held in found.items():
        assert len(held) <= SHARERS and len(held) * ASKED <= MEMORY, (device, held)
        for ns in NAMESPACES:
            assert sum(one[0] == ns for one in held) <= OF_A_NAMESPACE, (device, held)
        assert len(set(held)) == len(held), f"a claim has {device} twice: {held}"
    return sum(map(len, found.values()))


def bound(run, ns):
    return sorted(p["metadata"]["name"] for p in run.api.items(path(ns, "pods")) if p["spec"].get("nodeName"))


def says(run, ns, words):
    return any(words in event["note"] for event in run.api.items(f"/apis/events.k8s.io/v1/namespaces/{ns}/events"))


def policies(run):
    for ns in NAMESPACES:
        run.api.create(path(ns, "resourceclaimtemplates"), template("one", 1))
    run.api.many([lambda i=i: run.api.create(path("default", "pods"), pod(f"p{i}", "one")) for i in range(6)])
    run.wait(lambda: len(bound(run, "default")) == DEVICES * OF_A_NAMESPACE, 60, "two shares of each device for the first namespace")
    run.wait(lambda: says(run, "default", "per-namespace=2"), 60, "an event that quotes per-namespace=2")
    run.api.many([lambda i=i: run.api.create(path("other", "pods"), pod(f"p{i}", "one")) for i in range(4)])
    run.wait(lambda: len(bound(run, "other")) == DEVICES * (SHARERS - OF_A_NAMESPACE), 60, "the third share of each device for the second namespace")
    run.wait(lambda: says(run, "other", "sharers=3"), 60, "an event that quotes sharers=3")
    assert check(run) == DEVICES * SHARERS
    gone = bound(run, "other")[0]
    run.api.request("DELETE", path("other", "pods") + f"/{gone}?gracePeriodSeconds=0")
    run.wait(lambda: len(bound(run, "other")) == DEVICES * (SHARERS - OF_A_NAMESPACE) and gone not in bound(run, "other"), 60, "the next pod gets the share")
    assert check(run) == DEVICES * SHARERS
    print(f"{DEVICES} devices: {check(run)} shares in two namespaces, none more than the class allows")


def requests_of_one_claim(run):
    for ns in NAMESPACES:
        for one in run.api.items(path(ns, "pods")):
            run.api.request("DELETE", path(ns, "pods") + f"/{one['metadata']['name']}?gracePeriodSeconds=0")
    run.wait(lambda: check(run) == 0, 90, "all shares are given back")
    for requests in (2, 3):
        run.api.create(path("default", "resourceclaimtemplates"), template(f"of-{requests}", requests))
    run.api.create(path("default", "pods"), pod("three", "of-3"))
    run.wait(lambda: says(run, "default", "refuses two requests of one claim on one shared device"), 60, "an event about the driver that refuses")
    run.api.create(path("default", "pods"), pod("two", "of-2"))
    run.wait(lambda: bound(run, "default") == ["two"], 60, "a pod whose claim has two devices")
    assert {device: len(held) for device, held in shares(run).items()} == {"gpu-0": 1, "gpu-1": 1}
    print("two requests of one claim have two devices; three wait")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with a control plane")
        sys.exit(77)
    with Run(options, [("n0", "ours")]) as run:
        run.api.request("DELETE", f"{SLICES}/n0-{DRIVER}")
        policy = {"default": f"{ASKED}Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
        run.api.create(SLICES, slice_of("n0", devices=DEVICES, allowMultipleAllocations=True,
                                        capacity={"memory": {"value": f"{MEMORY}Gi", "requestPolicy": policy}}))
        made = rest.device_class("shared")
        made["metadata"]["annotations"] = {"dra-controller-manager/shares": f"sharers={SHARERS} per-namespace={OF_A_NAMESPACE} order=pack"}
        run.api.create(CLASSES, made)
        run.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        run.wait(lambda: run.api.request("GET", "/api/v1/namespaces/other/serviceaccounts/default")[0] == 200, 60, "the service account")
        run.manage("bind", "--scheduler-names=ours", f"--shared-device-requests={DRIVER}=never")
        policies(run)
        requests_of_one_claim(run)
    print("Devices that are shared are given out as class and driver say.")


if __name__ == "__main__":
    main()
