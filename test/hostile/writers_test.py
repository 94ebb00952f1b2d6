#!/usr/bin/env python3
"""Writers with more than `edit` in one namespace attack the manager: somebody with a hundred namespaces, a controller that writes any claim status, and
whoever deletes a namespace with everything in it. What must hold is what tenant_test.py says.

  writers_test.py PROGRAMS_FOLDER [--long] [--seed N] [--only TEXT]

The long form needs an otherwise idle machine."""
import os
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import under_attack  # noqa: E402
from under_attack import ATTRIBUTES, CLAIMS, PODS, TEMPLATES, claim, exactly, nested_loops, pod  # noqa: E402

MERGE = "application/merge-patch+json"
NEVER = f"{ATTRIBUTES}.index > 1000"


def result(i, device, pool="slices-0", driver="slice.example.com"):
    return {"request": f"r{i}", "driver": driver, "pool": pool, "device": device}


class WritersTest(under_attack.UnderAttack):
    def count(self, long, short):
        return long if self.flags.long else short

    def namespaces(self, prefix, count):
        names = [f"{prefix}-{i}" for i in range(count)]
        self.api.many([lambda n=n: self.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}})
                       for n in names], threads=4)
        return names

    def many_namespaces(self):
        """Each has its own turn, with claims whose selectors are costly for every device."""
        loops = nested_loops(20, f'{ATTRIBUTES}.uuid != "x"')

        def one(namespace, i):
            selectors = [f'{loops} || "{namespace}-{i}-{s}" == ""' + ("" if s < 7 else " && false") for s in range(8)]
            self.make(CLAIMS, claim(f"costly-{i}", [exactly("r", selectors)]), namespace)
            self.make(PODS, pod(f"costly-{i}", [f"costly-{i}"]), namespace)
        self.api.many([lambda n=n, i=i: one(n, i) for n in self.namespaces("many", self.count(100, 8)) for i in range(self.count(10, 2))], threads=4)

    def write_status(self, name, status):
        path = CLAIMS.format("tenant") + f"/{name}/status"
        code, answer = self.api.request("PATCH", path, {"status": status}, MERGE)
        if code != 200:
            raise SystemExit(f"PATCH {path}: HTTP {code}: {answer.get('message')}")

    def forged_allocations(self):
        """All of the same devices, or of some that do not exist."""
        def one(i):
            name = f"forged-{i}"
            self.make(CLAIMS, claim(name, [exactly(f"r{k}") for k in range(32)]))
            same = i % 4 != 0
            results = [result(k, f"whole-{k % 8}" if same else f"none-{i}-{k}", f"slices-{k % 20}" if same else f"none-{i}-{k}") for k in range(32)]
            self.write_status(name, {"allocation": {"devices": {"results": results}}})
            self.make(PODS, pod(name, [name]))
        self.api.many([lambda i=i: one(i) for i in range(self.count(1500, 40))], threads=4)

    def forged_consumers(self):
        """Pods that do not exist, nodes that do not exist, and parameters that nobody wrote into the claim."""
        config = [{"source": "FromClaim", "opaque": {"driver": f"d{k}.example.com", "parameters": {"x": "y" * 9900}}} for k in range(32)]

        def one(i):
            name = f"consumed-{i}"
            self.make(CLAIMS, claim(name, [exactly(f"r{k}") for k in range(32)]))
            terms = [{"matchExpressions": [{"key": f"example.com/k{t}", "operator": "In", "values": [f"{i}-{t}-{v}" for v in range(200)]}]} for t in range(10)]
            pods = [{"resource": "pods", "name": f"none-{i}-{k}", "uid": f"00000000-0000-4000-{i:04}-{k:012}"} for k in range(256)]
            self.write_status(name, {"allocation": {"devices": {"results": [result(0, f"none-{i}")], "config": config},
                                                    "nodeSelector": {"nodeSelectorTerms": terms}}, "reservedFor": pods})
        self.api.many([lambda i=i: one(i) for i in range(self.count(200, 20))], threads=4)

    def large_node_selectors(self):
        """Of allocations, and the API server limits neither terms nor requirements nor values."""
        values = [f"n{v}" for v in range(2000)]

        def one(i):
            name = f"selected-{i}"
            self.make(CLAIMS, claim(name, [exactly("r")]))
            terms = [{"matchExpressions": [{"key": f"example.com/k{t}-{i}", "operator": "In", "values": values}]} for t in range(60)]
            self.write_status(name, {"allocation": {"devices": {"results": [{**result(0, f"none-{i}"), "request": "r"}]},
                                                    "nodeSelector": {"nodeSelectorTerms": terms}}})
            self.make(PODS, pod(name, [name]))
        self.api.many([lambda i=i: one(i) for i in range(self.count(200, 40))], threads=4)
        self.expect_event("selected-0", "KiB, and at most 64 KiB are checked")

    def large_device_status(self):
        """What a driver says about the devices of a claim: the most that the API takes, and again with every change."""
        def one(i):
            name = f"said-{i}"
            self.make(CLAIMS, claim(name, [exactly(f"r{k}") for k in range(32)]))
            results = [result(k, f"said-{i}-{k}", "said") for k in range(32)]
            self.write_status(name, {"allocation": {"devices": {"results": results}}})
            for turn in range(3):
                devices = [{"driver": "slice.example.com", "pool": "said", "device": f"said-{i}-{k}", "data": {"x": f"{turn}" + "z" * 9900},
                            "conditions": [{"type": f"C{c}", "status": "True", "reason": "Said", "message": "m" * 2000,
                                            "lastTransitionTime": "2026-01-01T00:00:00Z"} for c in range(8)],
                            "networkData": {"interfaceName": "eth0", "hardwareAddress": "00:00:00:00:00:00", "ips": [f"10.0.0.{n}/32" for n in range(16)]}}
                           for k in range(32)]
                self.write_status(name, {"devices": devices})
        self.api.many([lambda i=i: one(i) for i in range(self.count(200, 10))], threads=4)

    def owners(self):
        """Lists that no controller writes so long, on pods and claims."""
        references = [{"apiVersion": "example.com/v1", "kind": "Thing", "name": f"thing-{i}-{'n' * 100}", "uid": f"uid-{i}-{'u' * 100}"} for i in range(2000)]

        def one(i):
            made = claim(f"owned-{i}", [exactly("r", [NEVER])])
            made["metadata"]["ownerReferences"] = references
            self.make(CLAIMS, made)
            self.make(PODS, pod(f"owned-{i}", [f"owned-{i}"], ownerReferences=references))
        self.api.many([lambda i=i: one(i) for i in range(self.count(300, 20))], threads=4)

    def one_claim_of_many_pods(self):
        """More pods than a claim can have consumers, and pods with 128 claims that others use too."""
        self.make(CLAIMS, claim("of-many", [exactly("r")]))
        self.api.many([lambda i=i: self.make(PODS, pod(f"one-of-many-{i}", ["of-many"])) for i in range(self.count(2000, 300))], threads=4)
        names = [f"of-some-{'n' * 200}-{i}" for i in range(128)]
        self.api.many([lambda n=n: self.make(CLAIMS, claim(n, [exactly("r")])) for n in names], threads=4)
        self.api.many([lambda i=i: self.make(PODS, pod(f"of-some-{i}", names)) for i in range(self.count(200, 10))], threads=4)

    def changing_templates(self):
        """Deleted and made again with another spec while claims are made from them."""
        def template(i):
            return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "changes"},
                    "spec": {"spec": claim("", [exactly("r", [f"{ATTRIBUTES}.index >= {i % 3}"], count=1 + i % 2)])["spec"]}}

        def one(i):
            made = pod(f"changes-{i}", ["c"])
            made["spec"]["resourceClaims"] = [{"name": "d0", "resourceClaimTemplateName": "changes"}]
            self.make(PODS, made)
            path = TEMPLATES.format("tenant")
            self.api.request("DELETE", f"{path}/changes", parse=False)
            self.api.request("POST", path, template(i), parse=False)
            if i % 3 == 0:
                self.api.request("DELETE", f"{PODS.format('tenant')}/changes-{i}", {"gracePeriodSeconds": 0}, parse=False)
        self.api.many([lambda i=i: one(i) for i in range(self.count(1500, 60))], threads=4)
        self.made.append((TEMPLATES, f"{TEMPLATES.format('tenant')}/changes"))

    def deleted_namespace(self):
        """With everything in it, while more comes: what cannot be made any more is refused."""
        count = self.count(3000, 100)
        namespace = self.namespaces("gone", 1)[0]

        def one(i):
            for kind, body in ((CLAIMS, claim(f"gone-{i}", [exactly("r", [] if i % 10 == 0 else [NEVER])])), (PODS, pod(f"gone-{i}", [f"gone-{i}"]))):
                self.api.request("POST", kind.format(namespace), body, parse=False)
        self.api.many([lambda i=i: one(i) for i in range(count)], threads=4)
        self.api.request("DELETE", f"/api/v1/namespaces/{namespace}", parse=False)
        self.api.many([lambda i=i: one(i) for i in range(count, count + 200)], threads=4)

        def is_gone():
            return self.api.request("GET", f"/api/v1/namespaces/{namespace}")[0] == 404
        end = time.monotonic() + 60
        while not is_gone() and time.monotonic() < end:
            time.sleep(0.5)
        if not is_gone():
            self.wrong.append(f"namespace {namespace} is still there 60 s after it was deleted")

    def attacks(self):
        self.attack(("many namespaces", self.many_namespaces))
        self.attack(("forged allocations", self.forged_allocations))
        self.attack(("forged consumers", self.forged_consumers))
        self.attack(("large node selectors", self.large_node_selectors))
        self.attack(("large device status", self.large_device_status))
        self.attack(("owners", self.owners))
        self.attack(("one claim of many pods", self.one_claim_of_many_pods))
        self.attack(("changing templates", self.changing_templates))
        self.attack(("a deleted namespace", self.deleted_namespace))


if __name__ == "__main__":
    sys.exit(under_attack.main(WritersTest, __doc__))
