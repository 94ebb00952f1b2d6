#!/usr/bin/env python3
"""The worst annotations for pairs and rails, on the worst slices, while pods of another namespace are placed: 100 pods of 8 claims with 32 devices each, 8
entries of 8 terms over them, 32 as a number; groups with as many rails; texts of 1,024 bytes that cannot be followed. The embedded API server stores no
lists of values; with $KUBEBUILDER_ASSETS (etcd, kube-apiserver) the same follows on a real one, with lists as long as it stores on each device.

Usage: pairs_test.py FOLDER_OF_PROGRAMS [--long] [--seed N] [--only NAME]
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import under_attack  # noqa: E402
from under_attack import CLAIMS, PODS, claim, exactly, of_class, pod, rest  # noqa: E402
import real_cluster  # noqa: E402  (of test/e2e)

PAIRS = "dra-controller-manager/pairs"
RAILS = "dra-controller-manager/same-across-members"
WISHED = RAILS + "-preferred"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/{}/podgroups"
SLICES = rest.RESOURCE + "/resourceslices"
DRIVER = "wide.example.com"
NODES, SLICES_OF_NODE, DEVICES = 4, 5, 64
ATTRIBUTES, VALUES, REQUESTS, COUNT = 8, 64, 8, 32
MOST_OF_A_LIST = 48 - (ATTRIBUTES - 1)  # kube-apiserver 1.36.2 stores 48 values of a device, over all of its attributes
ATTACKERS = 100
LIST_GATE = "DRAListTypeAttributes=true"


class PairsTest(under_attack.UnderAttack):
    lists = False

    def __init__(self, box, programs, flags):
        super().__init__(box, programs, flags)
        self.random = random.Random(flags.seed)

    def value(self):
        if not self.lists:
            return {"int": self.random.randrange(VALUES)}
        return {"ints": self.random.sample(range(VALUES), MOST_OF_A_LIST)}

    def slices(self):
        """Of these nodes, 320 devices each; the pods ask for 256."""
        self.api.request("POST", "/api/v1/namespaces/tenant/serviceaccounts", {"metadata": {"name": "default"}})
        self.api.create(rest.RESOURCE + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "wide"}, "spec": {
            "selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}})
        for node in range(NODES):
            for number in range(SLICES_OF_NODE):
                # A device of the last attributes has one value only, so that counting has something to do.
                devices = [{"name": f"d{number}-{d}", "attributes": {f"a{a}.example.com/r": self.value() if a == 0 else {"int": self.random.randrange(4 + 8 * a)}
                                                                     for a in range(ATTRIBUTES)}} for d in range(DEVICES)]
                self.api.create(SLICES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"wide-{node}-{number}"},
                                         "spec": {"driver": DRIVER, "nodeName": f"node-{node}", "devices": devices,
                                                  "pool": {"name": f"wide-{node}", "generation": 1, "resourceSliceCount": SLICES_OF_NODE}}})

    def claims_of(self, name, count=COUNT, annotations=None):
        names = [f"{name}-{r}" for r in range(REQUESTS)]
        for one in names:
            made = claim(one, [of_class("wide", exactly("r", [f'!("{name}" in ["x"])'], count=count))])
            made["metadata"]["annotations"] = annotations or {}
            self.make(CLAIMS, made)
        return names

    def entry(self, numbers, attribute):
        terms = [f"d{r}/r" + (f"*{numbers()}" if numbers else "") for r in range(REQUESTS)]
        self.random.shuffle(terms)
        return f"{'+'.join(terms)} by a{attribute}.example.com/r"

    def pairs(self):
        """Every pod asks something else, so that no answer serves two."""
        def one(i):
            name = f"pairs-{i}"
            kinds = (lambda: 1, lambda: self.random.randint(1, 3), lambda: self.random.choice((1, 2, 4, 8, 16, 32)))
            annotation = ", ".join(self.entry(kinds[i % 3], a if i % 2 else 0) for a in range(ATTRIBUTES))
            self.make(PODS, pod(name, self.claims_of(name), annotations={PAIRS: annotation}))
        self.api.many([lambda i=i: one(i) for i in range(ATTACKERS)], threads=4)

    def pairs_of_claims(self):
        """On the claims, of two requests each; with a constraint over all of them."""
        def one(i):
            name = f"claims-{i}"
            requests = [of_class("wide", exactly(f"r{r}", count=4)) for r in range(REQUESTS)]
            terms = "+".join(f"r{r}*{1 + (i + r) % 4}" for r in range(REQUESTS))
            made = claim(name, requests, constraints=[{"matchAttribute": f"a{1 + i % 7}.example.com/r"}])
            made["metadata"]["annotations"] = {PAIRS: ", ".join(f"{terms} by a{a}.example.com/r" for a in range(ATTRIBUTES))}
            self.make(CLAIMS, made)
            self.make(PODS, pod(name, [name]))
        self.api.many([lambda i=i: one(i) for i in range(ATTACKERS)], threads=4)

    def rails(self):
        """Groups of 10 with every attribute hard, and the others as wishes."""
        def group(g):
            self.api.create(GROUPS.format("tenant"), {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": f"rails-{g}"},
                                                      "spec": {"schedulingPolicy": {"gang": {"minCount": 10}}}})
            for i in range(10):
                name = f"rails-{g}-{i}"
                annotations = {RAILS if g % 2 else WISHED: ", ".join(self.entry(None, a) for a in range(ATTRIBUTES))}
                made = pod(name, self.claims_of(name, count=4 + (i + g) % 4), annotations=annotations)
                made["spec"]["schedulingGroup"] = {"podGroupName": f"rails-{g}"}
                self.make(PODS, made)
        self.api.many([lambda g=g: group(g) for g in range(ATTACKERS // 10)], threads=4)

    def texts(self):
        """Of 1,024 bytes and more; they are read at every look at their pods."""
        texts = ["+" * 1024, "d0/r+" * 204, ",".join(["d0/r*2 by a0.example.com/r"] * 37), "d0/r*2" + " " * 1000 + "by a/b", "d0/r*" + "9" * 1000, "x" * 100_000,
                 "d0/r+" + "é" * 500 + " by a/b", "d0/" + "r" * 1000 + "*2 by a/b"]

        def one(i):
            name = f"texts-{i}"
            key = (PAIRS, RAILS, WISHED)[i % 3]
            self.make(CLAIMS, claim(name, [of_class("wide", exactly("r"))]))
            self.make(PODS, pod(name, [name], annotations={key: texts[i % len(texts)]}))
        self.api.many([lambda i=i: one(i) for i in range(ATTACKERS)], threads=4)
        self.expect_event("texts-0", "annotation " + PAIRS)

    def churn(self):
        """The slices change while all wait: every waiting pod is looked at again."""
        self.pairs()
        for i in range(40 if self.flags.long else 10):
            path = f"{SLICES}/wide-{i % NODES}-0"
            body = self.api.get(path)
            body["spec"]["devices"][0]["attributes"]["a0.example.com/r"] = self.value()
            status, answer = self.api.request("PUT", path, body)
            if status != 200:
                self.wrong.append(f"PUT {path}: {answer.get('message')}")

    def attacks(self):
        self.slices()
        what = f"lists of {MOST_OF_A_LIST} values: " if self.lists else ""
        self.attack((what + "pairs over 8 claims", self.pairs))
        self.attack((what + "pairs of claims", self.pairs_of_claims))
        self.attack((what + "rails of groups", self.rails))
        self.attack((what + "slices change", self.churn))
        if not self.lists:
            self.attack(("malformed texts", self.texts))


class ListsTest(PairsTest):
    """On a real server, with a fleet of its own."""
    lists = True
    ARGUMENTS = ("--feature-gates=" + LIST_GATE, "--leader-elect=false")

    @staticmethod
    def client_of(box):
        return box.cluster.api("admin")


class RealBox:
    """What UnderAttack needs of a sandbox."""

    def __init__(self, cluster):
        self.cluster, self.folder, self.kubeconfig, self.wait_for = cluster, cluster.folder, cluster.kubeconfig("admin"), cluster.wait_for


def on_a_real_server(flags):
    with real_cluster.RealCluster(server_flags=["--feature-gates=GenericWorkload=true," + LIST_GATE,
                                                "--runtime-config=scheduling.k8s.io/v1alpha2=true"]) as cluster:
        api = cluster.api("admin")
        api.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        api.create(rest.RESOURCE + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {
            "selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}})
        room = {"cpu": "64000", "memory": "256000Gi", "pods": "10000"}
        for i in range(2 * NODES):
            name = f"node-{i}"
            api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {},
                                         "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}})
            api.create(SLICES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"gpus-{i}"},
                                "spec": {"driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                                         "devices": [{"name": f"gpu-{d}"} for d in range(128)]}})
        return ListsTest(RealBox(cluster), flags.programs, flags).run()


def main():
    status = under_attack.main(PairsTest, __doc__)
    if status or not real_cluster.RealCluster.available():
        return status
    return on_a_real_server(under_attack.flags_of(__doc__))


if __name__ == "__main__":
    sys.exit(main())
