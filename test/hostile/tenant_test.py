#!/usr/bin/env python3
"""A tenant with the rights of `edit` in one namespace against the manager: claims and pods as large and as many as an API server accepts. Meanwhile
/livez answers, the lease is kept, another namespace's pod gets its device and node within a second, memory stays within 64 MiB of
what it was in each attack, and most of that is freed when its objects are gone.

  tenant_test.py PROGRAMS_FOLDER [--long] [--seed N]

The long form creates 200 claims and crowds of 5,000 pods, and needs an otherwise idle machine; the short one, for CI, 21 and 200, with bounds that only
catch hangs: the sandbox, the manager and this program share its cores. --only runs the phases whose names contain the text."""
import os
import random
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import under_attack  # noqa: E402
from under_attack import ATTRIBUTES, CLAIMS, PARTS, PODS, TEMPLATES, claim, exactly, first_available, nested_loops, of_class, pod  # noqa: E402

KEEP = "dra-controller-manager/keep-devices"


class Tenant:
    """Claims that differ in every selector, so that no evaluation or plan serves two of them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.serial = 0

    def number(self):
        self.serial += 1
        return self.serial

    def loops(self, name):
        body = nested_loops(20, f'{ATTRIBUTES}.uuid != "x"')
        return claim(name, [exactly(f"r{r}", [f"{body} || {self.number()} == 0" + ("" if s < 31 else " && false") for s in range(32)])
                            for r in range(8)])

    def reads_all(self, name):
        return claim(name, [exactly(f"r{r}", [f'({ATTRIBUTES}.exists(k, k == "uuid") || {self.number()} == 0)' + ("" if s < 31 else " && false")
                                              for s in range(32)]) for r in range(8)])

    def alternatives(self, name):
        return claim(name, [first_available(f"r{r}", [[f"{ATTRIBUTES}.index > {self.number()}000"] for _ in range(8)]) for r in range(32)],
                     constraints=[{"matchAttribute": f"gpu.example.com/a{c}"} for c in range(32)])

    def last_alternative(self, name):
        return claim(name, [first_available(f"r{r}", [[f"{ATTRIBUTES}.index {'<' if a < 7 else '>'} -{self.number()}"] for a in range(8)])
                            for r in range(32)])

    def everything(self, name):
        return claim(name, [exactly("all", [f"{ATTRIBUTES}.index > -{self.number()}"], allocationMode="All")])

    def puzzle(self, name):
        half = self.random.randint(8, 15)
        return claim(name, [exactly(f"r{r}", [f"{ATTRIBUTES}.index % {half} != {r % half} || {self.number()} == 0"], count=2) for r in range(16)],
                     constraints=[{"matchAttribute": "gpu.example.com/uuid"}])

    def missing_class(self, name):
        made = self.alternatives(name)
        made["spec"]["devices"]["requests"][-1]["firstAvailable"][-1]["deviceClassName"] = f"none-{self.number()}"
        return made

    def all_parts(self, name):
        """Devices that share counters, so that no node can ever give all of them."""
        return claim(name, [of_class("slice", exactly("all", [f"{PARTS}.index > -{self.number()}"], allocationMode="All"))])

    def mixed_parts(self, name):
        """One part more than any node has, in sizes that leave gaps."""
        sizes = self.random.sample(["one", "one", "two", "four"], 4)
        return claim(name, [of_class("slice", exactly(f"r{r}", [f'{PARTS}.profile == "{size}" || {self.number()} == 0'], count=8)) for r, size in enumerate(sizes)])

    def parts_and_all(self, name):
        return claim(name, [of_class("slice", exactly("one", [f'{PARTS}.profile == "one"'], count=self.random.randint(1, 20))),
                            of_class("slice", exactly("all", [f'{PARTS}.index == {self.random.randint(0, 7)}'], allocationMode="All"))])

    def kinds(self):
        return [self.loops, self.reads_all, self.alternatives, self.last_alternative, self.everything, self.puzzle, self.missing_class]


class TenantTest(under_attack.UnderAttack):
    def __init__(self, box, programs, flags):
        super().__init__(box, programs, flags)
        self.tenant = Tenant(flags.seed)
        self.claims, self.crowd = (200, 5000) if flags.long else (21, 200)

    def create_generated(self, kinds, prefix, count):
        for i in range(count):
            self.make(CLAIMS, kinds[i % len(kinds)](f"{prefix}-{i}"))
            self.make(PODS, pod(f"{prefix}-{i}", [f"{prefix}-{i}"]))

    def generated(self):
        self.create_generated(self.tenant.kinds(), "claim", self.claims)
        for name, count in (("many", 40), ("too-many", 100)):
            self.make(PODS, pod(name, [f"claim-{i % self.claims}" for i in range(min(count, self.claims))]))

    def counters(self):
        self.create_generated([self.tenant.all_parts, self.tenant.mixed_parts, self.tenant.parts_and_all], "parts", self.claims)

    def one_group_label(self):
        """Without a PodGroup of that name."""
        count = 6000 if self.flags.long else 400
        self.api.many([lambda i=i: self.make(PODS, pod(f"grouped-{i}", [], labels={"scheduling.x-k8s.io/pod-group": "one"}))
                       for i in range(count)], threads=4)

    def many_terms(self):
        def terms(i):
            return [{"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {},
                     "labelSelector": {"matchExpressions": [{"key": "index", "operator": "NotIn", "values": [f"x{i}-{t}"]}]}} for t in range(220)]

        def one(i):
            made = pod(f"terms-{i}", [])
            made["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms(i)}}
            self.make(PODS, made)
        self.api.many([lambda i=i: one(i) for i in range(200 if self.flags.long else 20)], threads=4)

    def groups_by_name(self):
        """Each of the members names a claim of its own."""
        count = 1000 if self.flags.long else 60
        for group in range(3):
            self.api.create("/apis/scheduling.k8s.io/v1alpha2/namespaces/tenant/podgroups",
                            {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": f"group-{group}"},
                             "spec": {"schedulingPolicy": {"gang": {"minCount": count}}}})

        def one(name, group):
            self.make(CLAIMS, claim(name, [exactly("r")]))
            made = pod(name, [name])
            made["spec"]["schedulingGroup"] = {"podGroupName": group}
            self.make(PODS, made)
        self.api.many([lambda g=g, i=i: one(f"member-{g}-{i}", f"group-{g}") for g in range(3) for i in range(count)], threads=4)

    def large_labels(self):
        labels = {f"l{i}.example.com/{'k' * 50}{i}": "v" * 60 for i in range(1600)}
        self.many_pods("labels", lambda name: pod(name, [], labels=labels))

    def large_lists(self):
        """A pod of 250 KB whose resource names would take 1.5 MB in memory, and one of 10,000 containers."""
        resources = {f"example.com/r{i}": "0" for i in range(5000)}

        def one(name):
            made = pod(name, [])
            if int(name.split("-")[1]) % 8 == 0:
                made["spec"]["containers"] = [{"name": f"c{i}", "image": "x"} for i in range(3000)]
            else:
                made["spec"]["containers"][0]["resources"] = {"requests": resources, "limits": resources}
            return made
        self.many_pods("lists", one)

    def large_rules(self):
        selector = {f"l{i}.example.com/{'k' * 50}{i}": "v" * 60 for i in range(1600)}

        def one(name):
            made = pod(name, [])
            made["spec"]["nodeSelector"] = selector
            return made
        self.many_pods("rules", one)

    def many_claims(self):
        """Pods whose lists of claims are too large to be kept."""
        count = 300

        def one(name):
            return pod(name, [f"{name}-{'c' * 200}-{i}"[:240] for i in range(count)])
        name = "entries-0"
        for i in range(count):
            self.make(CLAIMS, claim(f"{name}-{'c' * 200}-{i}"[:240], [exactly("r", count=1)]))
        self.many_pods("entries", one)
        self.expect_event(name, "KiB are checked")
        if self.api.get(PODS.format("tenant") + "/" + name)["spec"].get("nodeName"):
            self.wrong.append(f"{name} was bound, although not all of its claims are known")

    def large_finalizers(self):
        """Written after their pods, so that nothing is in the way of looking at the claims."""
        def one(i):
            self.make(PODS, pod(f"finalizers-{i}", [f"finalizers-{i}"]))
            body = claim(f"finalizers-{i}", [exactly("r")])
            body["metadata"]["finalizers"] = [f"example.com/{'f' * 40}-{k}" for k in range(4000)]
            self.make(CLAIMS, body)
        self.api.many([lambda i=i: one(i) for i in range(400 if self.flags.long else 40)], threads=4)
        self.expect_event("finalizers-0", "KiB of finalizers")

    def end_finalizers(self):
        for i in range(400 if self.flags.long else 40):
            self.api.request("PATCH", CLAIMS.format("tenant") + f"/finalizers-{i}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")

    def large_templates(self):
        """Claims are made of small ones only; the pods of the others wait."""
        def one(i):
            config = [{"opaque": {"driver": f"d{k}.example.com", "parameters": {"x": f"{i}-" + "y" * 9900}}} for k in range(32)]
            self.make(TEMPLATES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": f"template-{i}"},
                                  "spec": {"spec": claim("", [exactly("r")], config=config)["spec"]}})
            made = pod(f"template-{i}", ["c"])
            made["spec"]["resourceClaims"] = [{"name": "d0", "resourceClaimTemplateName": f"template-{i}"}]
            self.make(PODS, made)
        self.api.many([lambda i=i: one(i) for i in range(200 if self.flags.long else 20)], threads=4)
        self.expect_event("template-0", "KiB are copied into a claim")

    def changing_claim(self):
        """Every change of a claim concerns all pods that name it."""
        self.make(CLAIMS, claim("of-all", [exactly("r", [f"{ATTRIBUTES}.index > 1000"])]))
        self.api.many([lambda i=i: self.make(PODS, pod(f"sharer-{i}", ["of-all"])) for i in range(2000 if self.flags.long else 400)], threads=4)
        for i in range(400 if self.flags.long else 60):
            self.api.request("PATCH", CLAIMS.format("tenant") + "/of-all", {"metadata": {"annotations": {"note": str(i)}}}, "application/merge-patch+json")
            time.sleep(0.02)

    def large_config(self):
        """These claims are allocated, with every parameter as it was written."""
        count = 200 if self.flags.long else 20

        def config(i):
            return [{"opaque": {"driver": f"d{k}.example.com", "parameters": {"kind": "x", "apiVersion": "x/v1", "x": f"{i}-" + "y" * 9900}}}
                    for k in range(32)]

        def one(i):
            self.make(CLAIMS, claim(f"config-{i}", [exactly("r")], config=config(i)))
            self.make(PODS, pod(f"config-{i}", [f"config-{i}"]))
        self.api.many([lambda i=i: one(i) for i in range(count)], threads=4)

        def allocated(i):
            return self.api.get(CLAIMS.format("tenant") + f"/config-{i}").get("status", {}).get("allocation")
        self.box.wait_for(lambda: allocated(count - 1) and allocated(0), 60, "claims with large parameters to be allocated")
        for i in (0, count - 1):
            got = [{"opaque": c["opaque"]} for c in allocated(i)["devices"]["config"] if c["source"] == "FromClaim"]
            if got != config(i):
                self.wrong.append(f"config-{i}: the allocation has other parameters than the claim")

    def crowd_of(self, name, selectors):
        def one(i):
            self.make(CLAIMS, claim(f"{name}-{i}", [exactly("r", selectors(i))]))
            self.make(PODS, pod(f"{name}-{i}", [f"{name}-{i}"], labels={"index": str(i)}))
        self.api.many([lambda i=i: one(i) for i in range(self.crowd)], threads=4)

    def one_shape(self):
        self.crowd_of("alike", lambda i: [f"{ATTRIBUTES}.index > 1000"])

    def many_shapes(self):
        self.crowd_of("unlike", lambda i: [f"{ATTRIBUTES}.index > {1000 + i}"])

    def annotations(self):
        """Every change of an object is an event for the manager."""
        def change(i):
            body = {"metadata": {"annotations": {"dra-controller-manager/proven": "forged", "note": "x" * (200_000 if self.flags.long else 20_000) + str(i)}}}
            self.api.request("PATCH", PODS.format("tenant") + f"/alike-{i % 20}", body, "application/merge-patch+json")
        self.api.many([lambda i=i: change(i) for i in range(self.crowd)], threads=4)

    def keeping(self):
        """Claims that keep their devices (keep-devices), with each time that can be written, changed while pods use them."""
        times = ("24h", "1s", "0s", "-1m", "10m", "99999999999999999999h", "", "x" * 10_000, None)

        def one(i):
            name = f"keeps-{i}"
            made = claim(name, [exactly("r")])
            made["metadata"]["annotations"] = {KEEP: "24h"}
            self.make(CLAIMS, made)
            self.make(PODS, pod(name, [name]))
            for k in range(8):
                self.api.request("PATCH", CLAIMS.format("tenant") + f"/{name}", {"metadata": {"annotations": {KEEP: times[(i + k) % len(times)]}}},
                                 "application/merge-patch+json")
            self.api.request("DELETE", PODS.format("tenant") + f"/{name}", {"gracePeriodSeconds": 0}, parse=False)
        self.api.many([lambda i=i: one(i) for i in range(self.crowd)], threads=4)

    def large_patches(self):
        """Pods near the API server's limit of 1.5 MB, patched again and again: each patch is an event with all of the pod."""
        count = 20 if self.flags.long else 4
        for i in range(count):
            body = pod(f"patched-{i}", [])
            body["spec"]["containers"][0]["env"] = [{"name": "X", "value": "x" * 1_000_000}]
            self.make(PODS, body)

        def change(i):
            path = PODS.format("tenant") + f"/patched-{i % count}"
            status, _ = self.api.request("PATCH", path, {"metadata": {"annotations": {"note": str(i)}}}, "application/merge-patch+json", parse=False)
            if status != 200:
                self.wrong.append(f"a patch of {path} was answered with {status}")
        self.api.many([lambda i=i: change(i) for i in range(400 if self.flags.long else 40)], threads=4)

    def largest_objects(self):
        """As many entries as an API server stores of one object: each of these takes tens of milliseconds to decode."""
        def labelled(made):
            made["metadata"]["labels"] = {f"l{i}/a": "v" for i in range(60_000)}

        def tolerant(made):
            made["spec"]["tolerations"] = [{"key": f"k{i}", "operator": "Exists"} for i in range(40_000)]

        def crowded(made):
            made["spec"]["containers"] = [{"name": f"c{i}", "image": "x"} for i in range(15_000)]

        def variables(made):
            made["spec"]["containers"][0]["env"] = [{"name": f"c{i}", "value": "x"} for i in range(60_000)]

        for i in range(10 if self.flags.long else 1):
            for name, fill in (("labelled", labelled), ("tolerant", tolerant), ("crowded", crowded), ("variables", variables)):
                made = pod(f"{name}-{i}", [])
                fill(made)
                self.make(PODS, made)
            made = claim(f"annotated-{i}", [exactly("r")])
            made["metadata"]["annotations"] = {f"a{k}": "x" for k in range(15_000)}
            self.make(CLAIMS, made)
            self.make(PODS, pod(f"annotated-{i}", [f"annotated-{i}"]))

    def large_answers(self):
        """One request for all pods of 700 KB: a list in each form, a watch that selects none of them, and their deletion."""
        def large(name):
            made = pod(name, [])
            made["spec"]["containers"][0]["env"] = [{"name": "X", "value": "x" * 700_000}]
            return made
        self.many_pods("answers", large)
        path = PODS.format("tenant")
        table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        for query, accept in (("", "application/json"), ("", "application/vnd.kubernetes.protobuf"), ("includeObject=Object", table),
                              ("", "application/yaml"), ("pretty=true", "application/json"), ("labelSelector=a=b", "application/json"),
                              ("watch=true&labelSelector=a=b&timeoutSeconds=2", "application/json"),
                              ("watch=true&timeoutSeconds=4", "application/json")):
            status, _ = self.api.request("GET", f"{path}?{query}", accept=accept, parse=False)
            if status != 200:
                self.wrong.append(f"GET {path}?{query} as {accept} was answered with {status}")
        status, _ = self.api.request("DELETE", path, {"gracePeriodSeconds": 0}, parse=False)
        if status != 200:
            self.wrong.append(f"DELETE {path} was answered with {status}")

    def attacks(self):
        self.attack(("generated claims", self.generated))
        self.attack(("a crowd of one shape", self.one_shape), ("large annotations", self.annotations))
        self.attack(("a crowd of many shapes", self.many_shapes))
        self.attack(("kept devices", self.keeping))
        self.attack(("shared counters", self.counters))
        self.attack(("one group label", self.one_group_label))
        self.attack(("many terms", self.many_terms))
        self.attack(("large labels", self.large_labels), ("large lists", self.large_lists), ("large rules", self.large_rules))
        self.attack(("large parameters", self.large_config))
        self.attack(("groups by name", self.groups_by_name))
        self.attack(("patches of 1 MB", self.large_patches))
        # The embedded API server handles one request at a time, and each of these takes it a tenth of a second and more.
        self.attack(("largest objects", self.largest_objects), beside_server=True)
        self.attack(("large answers", self.large_answers))
        self.attack(("many claims", self.many_claims), ("large templates", self.large_templates),
                    ("large finalizers", self.large_finalizers), ("large finalizers go", self.end_finalizers),
                    ("a claim of all pods that changes", self.changing_claim))


if __name__ == "__main__":
    sys.exit(under_attack.main(TenantTest, __doc__))
