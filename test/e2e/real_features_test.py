#!/usr/bin/env python3
"""Features of the API on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped
without them): extended resources in bind mode, with kube-scheduler's pods, and gated in gate mode; DeviceTaintRules with their gate on; devices with
binding conditions that come late, fail, or never come; invalid objects; large pods while nothing else happens.

Usage: real_features_test.py FOLDER_OF_PROGRAMS [--pods N] [--theirs N] [--gated N] [--mode extended|gated|rules|conditions|bad|large ...]
"""
import argparse
import collections
import os
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402

CORE = "/api/v1"
PODS = CORE + "/namespaces/default/pods"
NODES = CORE + "/nodes"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
SLICES = rest.RESOURCE + "/resourceslices"
CLASSES = rest.RESOURCE + "/deviceclasses"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
MERGE = "application/merge-patch+json"
GATE = "dra-controller-manager/allocation"
RESOURCE = "example.com/gpu"
DRIVER = "gpu.example.com"
DEVICES = 20  # of a node
CONTROLLERS = "serviceaccount-controller,garbage-collector-controller,resourceclaim-controller"


class Run:
    """A control plane of its own with kube-controller-manager; kube-scheduler and our manager on request."""

    def __init__(self, options, nodes):
        self.options, self.nodes, self.manager = options, nodes, None
        self.cluster = real_cluster.RealCluster(**real_cluster.features(rules=True))

    def __enter__(self):
        self.cluster.__enter__()
        self.api, self.wait = self.cluster.api("admin"), self.cluster.wait_for
        self.kubeconfig = self.cluster.kubeconfig("admin")
        self.cluster.start_controllers(CONTROLLERS)
        calls = []
        for name, side in self.nodes:
            calls += [lambda n=name, s=side: self.api.create(NODES, node(n, s)), lambda n=name: self.api.create(SLICES, slice_of(n))]
        self.api.many(calls)
        return self

    def __exit__(self, *failure):
        try:
            if failure[0] and self.manager:
                print(self.manager.log()[-6000:])
            if self.manager:
                self.manager.stop()
        finally:
            self.cluster.__exit__(*failure)

    def schedule(self):
        self.cluster.start("kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--secure-port=0", "--leader-elect=false")

    def manage(self, mode, *arguments):
        self.manager = managers.Manager(os.path.join(self.options.programs, "dra-controller-manager"), self.kubeconfig,
                                        os.path.join(self.cluster.folder, "manager.log"), ["--leader-elect=false", *arguments], plain=True)
        self.manager.arguments.append(f"--scheduling={mode}")
        self.manager.start()

    def requests(self):
        """The manager's requests to the API server so far."""
        lines = self.manager.metrics().splitlines()
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith("rest_client_requests_total{"))

    def create(self, pods):
        self.api.many([lambda p=p: self.api.create(PODS, p) for p in pods])

    def delete(self, names):
        self.api.many([lambda n=n: self.api.request("DELETE", f"{PODS}/{n}?gracePeriodSeconds=0") for n in names])

    def bound(self):
        return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in self.api.items(PODS) if p["spec"].get("nodeName")}

    def notes(self, reason):
        """The notes of events with this reason, by pod."""
        found = collections.defaultdict(list)
        for event in self.api.items(EVENTS):
            if event["reason"] == reason:
                found[event["regarding"]["name"]].append(event["note"])
        return found


def node(name, side):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "side": side}},
            "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}, "capacity": {"cpu": "64", "memory": "64Gi", "pods": "110"},
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def slice_of(name, driver=DRIVER, devices=DEVICES, **of_device):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{name}-{driver}"},
            "spec": {"driver": driver, "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"gpu-{d}", **of_device} for d in range(devices)]}}


def extended_pod(name, scheduler, side, resource=RESOURCE):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "nodeSelector": {"side": side},
                     "containers": [{"name": "c", "image": "example.test/none", "resources": {"limits": {resource: "1"}}}]}}


def template_pod(name, template="one", scheduler="ours"):
    pod = rest.pod(name, template)
    pod["spec"]["schedulerName"] = scheduler
    pod["spec"]["terminationGracePeriodSeconds"] = 0  # no kubelet ends it
    return pod


def nodes_of(side, pods):
    return [(f"{side}-{i}", side) for i in range(-(-pods // DEVICES))]


def check_devices(api):
    """Checks that no device has two claims; returns the number of devices that are held."""
    holders = collections.defaultdict(list)
    for claim in api.items(CLAIMS):
        for device in rest.devices_of(claim):
            holders[device].append(claim["metadata"]["name"])
    twice = {device: names for device, names in holders.items() if len(names) > 1}
    if twice:
        raise SystemExit(f"devices that were given twice: {twice}")
    return len(holders)


def extended(options):
    """Our pods and kube-scheduler's at the same time, each on their own nodes."""
    with Run(options, nodes_of("ours", options.pods) + nodes_of("theirs", options.theirs)) as run:
        run.api.create(CLASSES, rest.device_class("gpu", extendedResourceName=RESOURCE))
        run.schedule()
        run.manage("bind", "--scheduler-names=ours")
        pods = [extended_pod(f"ours-{i:03}", "ours", "ours") for i in range(options.pods)]
        pods += [extended_pod(f"theirs-{i:03}", "default-scheduler", "theirs") for i in range(options.theirs)]
        begin = time.monotonic()
        run.create(pods)
        run.wait(lambda: sum(n.startswith("ours") for n in run.bound()) == options.pods, 400, "our pods")
        ours_took = time.monotonic() - begin
        run.wait(lambda: len(run.bound()) == len(pods), 400, "kube-scheduler's pods")
        took = time.monotonic() - begin
        held = check_devices(run.api)
        claims = {c["metadata"]["name"]: c for c in run.api.items(CLAIMS)}
        for pod in run.api.items(PODS):
            status = pod["status"].get("extendedResourceClaimStatus")
            assert status, f"{pod['metadata']['name']} has no extendedResourceClaimStatus"
            claim = claims[status["resourceClaimName"]]
            assert claim["metadata"]["annotations"]["resource.kubernetes.io/extended-resource-claim"] == "true"
            assert [r["uid"] for r in claim["status"]["reservedFor"]] == [pod["metadata"]["uid"]]
            assert claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == [pod["spec"]["nodeName"]]
        assert held == len(pods) == len(claims), (held, len(pods), len(claims))
        begin = time.monotonic()
        run.delete([p["metadata"]["name"] for p in pods])
        run.wait(lambda: not run.api.items(CLAIMS), 300, "the claims to go")
        print(f"extended: {options.pods} pods of ours in {ours_took:.1f} s beside {options.theirs} of kube-scheduler's (all in {took:.1f} s), "
              f"{held} devices, none twice; claims gone {time.monotonic() - begin:.1f} s after the pods", flush=True)


def gated(options):
    """Gated pods that only DRA can serve stay gated with an event, and nothing creates a claim for them."""
    with Run(options, nodes_of("ours", options.gated)) as run:
        run.api.create(CLASSES, rest.device_class("gpu", extendedResourceName=RESOURCE))
        run.schedule()
        run.manage("gate")
        pods = [extended_pod(f"p-{i:03}", "default-scheduler", "ours") for i in range(options.gated)]
        for pod in pods:
            pod["spec"]["schedulingGates"] = [{"name": GATE}]
        run.create(pods)
        run.wait(lambda: len(run.notes("ExtendedResource")) == options.gated, 120, "an event for each pod")
        time.sleep(10)
        left = [p for p in run.api.items(PODS) if p["spec"].get("schedulingGates") == [{"name": GATE}] and not p["spec"].get("nodeName")]
        notes = run.notes("ExtendedResource")
        assert len(left) == options.gated, f"{len(left)} of {options.gated} pods are still gated"
        assert run.api.items(CLAIMS) == []
        assert all("bind" in note for of_pod in notes.values() for note in of_pod), notes
        assert max(len(of_pod) for of_pod in notes.values()) == 1, "a pod was notified twice"
        print(f"gated: {len(left)} of {options.gated} pods stay gated, each was notified once, no claim was made", flush=True)


def rules_path():
    return f"/apis/resource.k8s.io/{real_cluster.rules_version()}/devicetaintrules"


def rule(name, effect, driver=DRIVER, **selector):
    return {"apiVersion": f"resource.k8s.io/{real_cluster.rules_version()}", "kind": "DeviceTaintRule", "metadata": {"name": name},
            "spec": {"deviceSelector": {"driver": driver, **selector}, "taint": {"key": "example.com/broken", "effect": effect}}}


def condition_of(api, name):
    return next((c for c in api.get(f"{rules_path()}/{name}").get("status", {}).get("conditions", []) if c["type"] == "EvictionInProgress"), None)


def rules(options):
    """The simulation of a rule with effect None equals the evictions of the same rule with NoExecute."""
    count = min(options.pods, 100)
    with Run(options, nodes_of("ours", 2 * count)) as run:
        run.api.create(CLASSES, rest.device_class())
        run.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        run.manage("bind", "--scheduler-names=ours", "--device-taint-eviction=own")
        run.create([template_pod(f"p-{i:03}") for i in range(count)])
        run.wait(lambda: len(run.bound()) == count, 200, "the pods")
        victim = collections.Counter(run.bound().values()).most_common(1)[0][0]
        before = {n for n, where in run.bound().items() if where == victim}
        run.api.create(rules_path(), rule("simulated", "None", pool=victim))
        run.wait(lambda: condition_of(run.api, "simulated"), 60, "the simulation")
        said = condition_of(run.api, "simulated")
        assert (said["status"], said["reason"]) == ("False", "NoEffect"), said
        would = int(re.search(r"(\d+) pods? would be evicted", said["message"]).group(1))
        begin = time.monotonic()
        run.api.create(rules_path(), rule("real", "NoExecute", pool=victim))
        run.wait(lambda: not before & set(run.bound()), 120, "the evictions")
        took = time.monotonic() - begin
        run.wait(lambda: (condition_of(run.api, "real") or {}).get("reason") == "Completed", 60, "the end of the evictions in the rule's status")
        gone = before - {p["metadata"]["name"] for p in run.api.items(PODS)}
        assert len(gone) == would == len(before), (gone, would, before)
        assert len(run.bound()) == count - would, "a pod of another node went, too"
        run.create([template_pod(f"later-{i:03}") for i in range(10)])
        run.wait(lambda: sum(n.startswith("later") for n in run.bound()) == 10, 120, "pods after the rule")
        assert victim not in {where for n, where in run.bound().items() if n.startswith("later")}
        check_devices(run.api)
        print(f"rules: simulated {would} evictions, {len(gone)} came in {took:.1f} s; {len(run.bound())} pods untouched; later pods avoid the pool", flush=True)


class Preparer(threading.Thread):
    """The driver of devices with binding conditions: `fate(device)`: seconds until it is ready, "fail", or None for
    never."""

    def __init__(self, api, fate):
        super().__init__(daemon=True)
        self.api, self.fate, self.stopped, self.seen, self.done = api, fate, threading.Event(), {}, set()

    def run(self):
        while not self.stopped.wait(0.2):
            for claim in self.api.items(CLAIMS):
                for device in rest.devices_of(claim):
                    key = (claim["metadata"]["uid"], device)
                    fate, since = self.fate(device), self.seen.setdefault(key, time.monotonic())
                    if key in self.done or fate is None or (fate != "fail" and time.monotonic() - since < fate):
                        continue
                    condition = {"type": "example.com/failed" if fate == "fail" else "example.com/ready", "status": "True", "reason": "Driver",
                                 "message": "cable is unplugged" if fate == "fail" else "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                    status, _ = self.api.request("PATCH", f"{CLAIMS}/{claim['metadata']['name']}/status", {
                        "metadata": {"resourceVersion": claim["metadata"]["resourceVersion"]},
                        "status": {"devices": [{"driver": device[0], "pool": device[1], "device": device[2], "conditions": [condition]}]}}, MERGE)
                    if status == 200:
                        self.done.add(key)


def conditions(options):
    """Late: bound afterwards. Failing: other devices. Never: not bound, with an event; the manager does not poll meanwhile."""
    count = min(options.pods, 100)
    late = [f"late-{i}" for i in range(-(-(count + 10) // DEVICES))]
    with Run(options, []) as run:
        for name in (*late, "failing", "never"):
            run.api.create(NODES, node(name, name.split("-", maxsplit=1)[0]))
            run.api.create(SLICES, slice_of(name, devices=3 if name == "failing" else DEVICES, bindsToNode=True, bindingConditions=["example.com/ready"], bindingFailureConditions=["example.com/failed"]))
        run.api.create(CLASSES, rest.device_class())
        run.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        driver = Preparer(run.cluster.api("admin"), lambda device: {"late": 2, "failing": "fail", "never": None}[device[1].split("-")[0]])
        driver.start()
        run.manage("bind", "--scheduler-names=ours")
        pods = [template_pod(f"p-{i:03}") for i in range(count)]
        for pod in pods:  # not on the nodes where devices never get ready
            pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "side", "operator": "NotIn", "values": ["never"]}]}]}}}
        stuck = [template_pod(f"stuck-{i}") for i in range(3)]
        for pod in stuck:
            pod["spec"]["nodeSelector"] = {"side": "never"}
        begin = time.monotonic()
        run.create(pods + stuck)
        run.wait(lambda: len(run.bound()) >= count, 300, "the pods whose devices get ready")
        took = time.monotonic() - begin
        time.sleep(3)
        bound = run.bound()
        failed = run.notes("BindingConditionsFailed")
        pending = run.notes("BindingConditionsPending")
        driver.stopped.set()
        driver.join()
        quiet = run.requests()
        time.sleep(30)
        asked = run.requests() - quiet
        assert asked <= 10, f"{asked} requests in 30 s while three pods wait and nothing happens"
        assert set(bound) == {p["metadata"]["name"] for p in pods}, sorted(bound)
        assert set(bound.values()) <= set(late), collections.Counter(bound.values())
        assert all(f"stuck-{i}" in pending for i in range(3)), sorted(pending)
        assert all("unplugged" in note for notes in failed.values() for note in notes), failed
        held = check_devices(run.api)
        assert held == count + 3, (held, count)
        run.delete([p["metadata"]["name"] for p in pods + stuck])
        run.wait(lambda: not run.api.items(CLAIMS), 120, "the claims to go")
        print(f"conditions: {count} pods bound in {took:.1f} s, {len(failed)} of them after a device had failed; 3 wait and were notified, with {asked} "
              f"requests in 30 s, {quiet} in all; {held} devices held, none leaked", flush=True)


def bad(options):
    """Invalid objects lead to a named reason and a stable state."""
    with Run(options, nodes_of("ours", 2 * DEVICES)) as run:
        # Two classes of one extended name: the newer one counts, as with kube-scheduler (or the first by name).
        run.api.create(CLASSES, rest.device_class("a", extendedResourceName=RESOURCE))
        time.sleep(1.1)
        run.api.create(CLASSES, rest.device_class("b", extendedResourceName=RESOURCE))
        run.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one", device_class="a"))
        run.manage("bind", "--scheduler-names=ours", "--device-taint-eviction=own")
        run.create([extended_pod("equal-names", "ours", "ours"), template_pod("plain")])
        run.wait(lambda: len(run.bound()) == 2, 60, "two pods")
        claim = next(c for c in run.api.items(CLAIMS) if c["metadata"].get("annotations", {}).get("resource.kubernetes.io/extended-resource-claim"))
        assert claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "b", claim["spec"]
        # Rules without a selector select nothing; the server refuses unknown effects.
        without = rule("without-selector", "NoExecute")
        del without["spec"]["deviceSelector"]
        run.api.create(rules_path(), without)
        status, answer = run.api.request("POST", rules_path(), rule("unknown-effect", "Explode"))
        assert status == 422 and "supported values" in answer["message"], (status, answer)
        run.wait(lambda: condition_of(run.api, "without-selector"), 60, "a status of the rule without selector")
        assert condition_of(run.api, "without-selector")["status"] == "False"
        # Forged status entries: another pod's claim under the name of the pod's own entry.
        victim = next(c["metadata"]["name"] for c in run.api.items(CLAIMS) if c is not claim and c["metadata"]["name"] != claim["metadata"]["name"])
        thief = template_pod("thief")
        thief["spec"]["schedulerName"] = "nobody"
        run.api.create(PODS, thief)
        run.wait(lambda: run.api.get(f"{PODS}/thief")["status"].get("resourceClaimStatuses"), 60, "the thief's own claim")
        status, _ = run.api.request("PATCH", f"{PODS}/thief/status", {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": victim}]}}, MERGE)
        assert status == 200
        time.sleep(5)
        stolen = run.api.get(f"{CLAIMS}/{victim}")
        assert [r["name"] for r in stolen["status"]["reservedFor"]] == ["plain"], stolen["status"]["reservedFor"]
        assert set(run.bound()) == {"equal-names", "plain"}, run.bound()
        print("bad: the newer of two classes counts, a rule without selector evicts nobody, a forged claim name reserves nothing", flush=True)


def large(options):
    """A pod of 10 or 40 KB is bound as soon as a small one, although no other traffic follows its event."""
    with Run(options, nodes_of("ours", DEVICES)) as run:
        run.api.create(CLASSES, rest.device_class())
        run.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        run.manage("bind", "--scheduler-names=ours")
        longest = 0
        for i, kilobytes in enumerate((1, 10, 40, 10, 40)):
            time.sleep(3)  # until nothing is under way
            pod = template_pod(f"large-{i}")
            pod["spec"]["schedulerName"] = "ours"
            pod["spec"]["containers"][0]["env"] = [{"name": f"E{k}", "value": "v" * 90} for k in range(10 * kilobytes)]
            begin = time.monotonic()
            run.api.create(PODS, pod)
            run.wait(lambda: run.api.get(f"{PODS}/large-{i}")["spec"].get("nodeName"), 90, "a node")  # noqa: B023
            longest = max(longest, time.monotonic() - begin)
        assert longest < 5, f"a large pod waited {longest:.1f} s"
        print(f"large: pods of 1 to 40 KB, each alone, are bound after {longest:.2f} s at most", flush=True)


MODES = {"extended": extended, "gated": gated, "rules": rules, "conditions": conditions, "bad": bad, "large": large}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--theirs", type=int, default=200)
    parser.add_argument("--gated", type=int, default=50)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES))
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    for mode in options.mode:
        if mode in ("rules", "bad") and real_cluster.release() < 35:
            print(f"{mode}: not run, because DeviceTaintRules have a status since 1.35")
            continue
        MODES[mode](options)
    print("ok")


if __name__ == "__main__":
    main()
