#!/usr/bin/env python3
"""A tenant with the rights of `edit` in one namespace against the manager: claims and pods as large and as many as an API server accepts. Meanwhile
/livez answers, the lease is kept, another namespace's pod gets its device and node within a second, memory stays within 64 MiB of
what it was in each attack, and most of that is freed when its objects are gone.

  tenant_test.py PROGRAMS_FOLDER [--long] [--seed N]

The long form creates 200 claims and crowds of 5,000 pods, and needs an otherwise idle machine; the short one, for CI, 21 and 200, with bounds that only
catch hangs: the sandbox, the manager and this program share its cores. --only runs the phases whose names contain the text."""
import argparse
import multiprocessing
import os
import random
import re
import sys
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/e2e")]
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

FLEET = """
kind: Fleet
deviceClasses:
- name: gpu
  selectors: ['device.driver == "gpu.example.com"']
- name: slice
  selectors: ['device.driver == "slice.example.com"']
models:
  gpu:
    driver: gpu.example.com
    name: gpu-{device}
    attributes: {type: gpu, uuid: "GPU-{uuid}", index: {int: "{device}"}}
    capacity: {memory: 80Gi}
  slice:
    driver: slice.example.com
    name: whole-{device}
    attributes: {type: whole, index: {int: "{device}"}}
    capacity: {memory: 40Gi}
    partitions:
      name: part-{device}-{id}-{start}
      counterSet: set-{device}
      memorySlices: 8
      attributes: {type: part, index: {int: "{device}"}, profile: "{profile}"}
      profiles:
      - {name: one, id: 1, size: 1, starts: [0, 1, 2, 3, 4, 5, 6], capacity: {memory: 5Gi}}
      - {name: two, id: 2, size: 2, starts: [0, 2, 4], capacity: {memory: 10Gi}}
      - {name: four, id: 4, size: 4, starts: [0, 4], capacity: {memory: 20Gi}}
nodes:
- name: node-{index}
  count: 79
  capacity: {cpu: "64000", memory: 256000Gi}
  devices: [{model: gpu, count: 127}]
- name: slices-{index}
  count: 20
  capacity: {cpu: "64000", memory: 256000Gi}
  devices: [{model: slice, count: 8}]
"""
ATTRIBUTES = 'device.attributes["gpu.example.com"]'
PARTS = 'device.attributes["slice.example.com"]'
CLAIMS = rest.RESOURCE + "/namespaces/{}/resourceclaims"
TEMPLATES = rest.RESOURCE + "/namespaces/{}/resourceclaimtemplates"
PODS = "/api/v1/namespaces/{}/pods"
MOST_MIB = 64
MOST_MIB_LEFT = 40
REQUESTS_OF_A_POD = 6  # it is created, its claim allocated and proven, the pod bound, and read until it has its node


def claim(name, requests, **spec):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": {"devices": {"requests": requests, **spec}}}


def wish(selectors=(), **fields):
    return {"deviceClassName": "gpu", **fields, "selectors": [{"cel": {"expression": s}} for s in selectors]}


def exactly(name, selectors=(), **fields):
    return {"name": name, "exactly": wish(selectors, **fields)}


def of_class(device_class, request):
    request["exactly"]["deviceClassName"] = device_class
    return request


def first_available(name, alternatives):
    return {"name": name, "firstAvailable": [{"name": f"a{i}", **wish(s)} for i, s in enumerate(alternatives)]}


def pod(name, claims, **metadata):
    refs = [f"d{i}" for i in range(len(claims))]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"schedulerName": "dra", "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": r} for r in refs]}}],
                     "resourceClaims": [{"name": r, "resourceClaimName": c} for r, c in zip(refs, claims)]}}


def nested_loops(width, inner):
    numbers = ",".join(str(i) for i in range(width))
    for variable in "cba":
        inner = f"[{numbers}].all({variable}, {inner})"
    return inner


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


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


class Prober:
    """Polls /livez; records the longest wait and the most memory of each phase. A process of its own, which nothing else in this test delays."""

    def __init__(self, port, pid):
        self.longest, self.most = multiprocessing.Value("d", 0.0), multiprocessing.Value("d", 0.0)
        self.process = multiprocessing.Process(target=self.poll, args=(f"http://127.0.0.1:{port}/livez", pid), daemon=True)
        self.process.start()

    def poll(self, url, pid):
        while True:
            start = time.monotonic()
            urllib.request.urlopen(url, timeout=60).read()
            self.longest.value = max(self.longest.value, time.monotonic() - start)
            self.most.value = max(self.most.value, resident_mib(pid))
            time.sleep(0.02)

    def take(self):
        longest, most, self.longest.value, self.most.value = self.longest.value, self.most.value, 0.0, 0.0
        return longest, most

    def end(self):
        """False: it ended before, since a request failed."""
        alive = self.process.is_alive()
        self.process.kill()
        self.process.join()
        return alive


class Test:
    def __init__(self, box, programs, flags):
        self.box, self.flags = box, flags
        self.api = rest.Api(box.kubeconfig)
        self.tenant = Tenant(flags.seed)
        self.manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log"),
                                        ["--scheduler-names=dra"]).start()
        self.claims, self.crowd = (200, 5000) if flags.long else (21, 200)
        self.most_seconds = 1.0 if flags.long else 3.0  # until another namespace's pod has its node
        self.most_probe = 0.1 if flags.long else 1.0
        self.ordinary = self.ordinary_gone = 0
        self.made = []  # the tenant's objects: kind and name
        self.wrong = []

    def seconds_to_a_node(self):
        name = f"ordinary-{self.ordinary}"
        self.ordinary += 1
        self.api.create(CLAIMS.format("default"), claim(name, [exactly("r")]))
        start = time.monotonic()
        self.api.create(PODS.format("default"), pod(name, [name]))
        path = PODS.format("default") + "/" + name
        self.box.wait_for(lambda: self.api.get(path)["spec"].get("nodeName"), 120, f"pod {name} to get its node")
        return time.monotonic() - start

    def seconds_of_the_server(self):
        """What the API server alone takes for as many requests as such a pod needs, one after the other."""
        start = time.monotonic()
        for _ in range(REQUESTS_OF_A_POD):
            self.api.request("PATCH", "/api/v1/namespaces/default", {"metadata": {"annotations": {"count": str(time.monotonic())}}},
                             "application/merge-patch+json")
        return time.monotonic() - start

    def long_tasks(self):
        """The number of tasks of the manager's main thread above each limit in seconds."""
        counts = {match[1]: int(match[2]) for match in
                  re.finditer(r'^dra_reactor_task_seconds_bucket\{le="([^"]+)"\} (\d+)', self.manager.metrics(), re.MULTILINE)}
        return {limit: counts["+Inf"] - counts[limit] for limit in ("0.02", "0.05", "0.1", "0.2", "1")}

    def phase(self, name, attack, seconds):
        """Runs the attack while ordinary pods are created, and for some seconds after it."""
        self.prober.take()
        before = self.long_tasks()
        thread = threading.Thread(target=attack)
        thread.start()
        waits, of_the_server, end = [], [self.seconds_of_the_server()], time.monotonic() + seconds
        while thread.is_alive() or time.monotonic() < end:
            waits.append(self.seconds_to_a_node())
            of_the_server.append(self.seconds_of_the_server())
            time.sleep(0.2)
        thread.join()
        # Where the two share the processors with this program, only what the manager adds counts.
        counted = max(waits) if self.flags.long else max(wait - max(of_the_server[i:i + 2]) for i, wait in enumerate(waits))
        longest, most = self.prober.take()
        print(f"{name}: of {len(waits)} pods of another namespace the longest waited {max(waits):.3f} s, median {sorted(waits)[len(waits) // 2]:.3f} s "
              f"(the API server alone {max(of_the_server):.3f} s, median {sorted(of_the_server)[len(of_the_server) // 2]:.3f} s); "
              f"/livez at most {longest:.3f} s; memory {most - self.before:+.0f} MiB; tasks longer than "
              + ", ".join(f"{limit} s: {count - before[limit]}" for limit, count in self.long_tasks().items()), flush=True)
        if counted > self.most_seconds:
            self.wrong.append(f"{name}: a pod of another namespace waited {counted:.3f} s"
                              + ("" if self.flags.long else " longer than the API server alone takes"))
        if longest > self.most_probe:
            self.wrong.append(f"{name}: /livez took {longest:.3f} s")
        if most - self.before > MOST_MIB:
            self.wrong.append(f"{name}: memory grew by {most - self.before:.0f} MiB")

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
        self.expect_event(name, "KiB are looked at")
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

    def expect_event(self, name, text):
        notes, end = [], time.monotonic() + 20
        while time.monotonic() < end:
            events = self.api.get("/apis/events.k8s.io/v1/namespaces/tenant/events")["items"]
            notes = [e["note"] for e in events if e["regarding"].get("name") == name]
            if any(text in note for note in notes):
                return
            time.sleep(0.2)
        self.wrong.append(f"no event about {name} says \"{text}\": {[note[:300] for note in notes[-3:]]}")

    def many_pods(self, prefix, make):
        self.api.many([lambda i=i: self.make(PODS, make(f"{prefix}-{i}")) for i in range(400 if self.flags.long else 40)], threads=4)

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

    def make(self, kind, body):
        self.api.create(kind.format("tenant"), body)
        self.made.append((kind, body["metadata"]["name"]))

    def deletion(self):
        """Without reading the objects, which would keep this process busy for seconds."""
        made, self.made = self.made, []
        for kind in (PODS, CLAIMS, TEMPLATES):
            path = kind.format("tenant")
            self.api.many([lambda n=n, p=path: self.api.request("DELETE", f"{p}/{n}", {"gracePeriodSeconds": 0}, parse=False)
                           for k, n in made if k is kind], threads=4)

    def remove_ordinary(self):
        """The pods that waited during the attack: what is kept of them is not the attack's."""
        for path in (PODS, CLAIMS):
            for i in range(self.ordinary_gone, self.ordinary):
                self.api.request("DELETE", f"{path.format('default')}/ordinary-{i}", {"gracePeriodSeconds": 0}, parse=False)
        self.ordinary_gone = self.ordinary

    def attack(self, settle, *phases):
        """The phases, then the deletion of their objects."""
        phases = [(name, attack) for name, attack in phases if not self.flags.only or self.flags.only in name]
        for name, attack in phases:
            self.phase(name, attack, settle)
        if phases:
            self.phase("deletion of these", self.deletion, 1)
            self.remove_ordinary()
            self.recovered()

    def recovered(self):
        """Most of the attack's memory is freed within 20 s."""
        end = time.monotonic() + 20
        while (more := resident_mib(self.manager.process.pid) - self.before) > MOST_MIB_LEFT and time.monotonic() < end:
            time.sleep(0.5)
        print(f"memory {more:+.0f} MiB once the objects are gone", flush=True)
        if more > MOST_MIB_LEFT:
            self.wrong.append(f"memory stays {more:.0f} MiB above what it was")

    def run(self):
        try:
            self.box.wait_for(self.manager.metrics_port, 20, "the manager to listen")
            self.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant"}})
            idle = [self.seconds_to_a_node() for _ in range(3)]
            self.before = resident_mib(self.manager.process.pid)
            print(f"idle: a pod waits {min(idle):.3f} s, memory {self.before:.0f} MiB, seed {self.flags.seed}", flush=True)
            self.prober = Prober(self.manager.metrics_port(), self.manager.process.pid)
            settle = 20 if self.flags.long else 2
            self.attack(settle, ("generated claims", self.generated))
            self.attack(settle, ("a crowd of one shape", self.one_shape), ("large annotations", self.annotations))
            self.attack(settle, ("a crowd of many shapes", self.many_shapes))
            self.attack(settle, ("shared counters", self.counters))
            self.attack(settle, ("one group label", self.one_group_label))
            self.attack(settle, ("many terms", self.many_terms))
            self.attack(settle, ("large labels", self.large_labels), ("large lists", self.large_lists), ("large rules", self.large_rules))
            self.attack(settle, ("large parameters", self.large_config))
            self.attack(settle, ("groups by name", self.groups_by_name))
            self.attack(settle, ("patches of 1 MB", self.large_patches))
            self.attack(settle, ("many claims", self.many_claims), ("large templates", self.large_templates),
                        ("large finalizers", self.large_finalizers), ("large finalizers go", self.end_finalizers),
                        ("a claim of all pods that changes", self.changing_claim))
            self.phase("afterwards", lambda: None, settle)
            if not self.prober.end():
                self.wrong.append("/livez was not answered")
            if self.manager.process.poll() is not None:
                self.wrong.append(f"the manager ended with {self.manager.process.returncode}")
            for line in re.findall(r".*Stopped leading.*", self.manager.log()):
                self.wrong.append("the lease: " + line)
        finally:
            self.manager.kill()
        for line in self.wrong:
            print(line)
        return 1 if self.wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    flags = parser.parse_args()
    fleet = os.path.join(flags.programs, "tenant-fleet.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(FLEET)
    try:
        with sandbox.Sandbox(os.path.join(flags.programs, "dra-sandbox"), ["--fleet", fleet, "--without-manager"]) as box:
            return Test(box, flags.programs, flags).run()
    finally:
        os.remove(fleet)


if __name__ == "__main__":
    sys.exit(main())
