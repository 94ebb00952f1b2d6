#!/usr/bin/env python3
"""Compares the answer of `kubectl dra whatif` with what then happens in the sandbox: random pods and Deployments on three nodes, a random change, the answer, the
change itself; the same pods must run afterwards, and as many of each Deployment. Changes are of every verb: delete (a pod, a Deployment, a claim),
drain, cordon, taint (a device or all of a node; NoExecute or NoSchedule), add-node and scale. In half of the worlds, half of the pods also have volumes:
unbound claims and fewer local volumes than claims, so that pods compete for them; some pods share a claim. Half of the worlds have
a Job whose pods are a group: they start together or not at all, and a deleted one is recreated; `kubectl dra fits` says first whether they fit.

Usage: whatif_test.py FOLDER_OF_PROGRAMS [--worlds N] [--seed S]
"""
import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
KEPT = 33.0  # seconds: how long the devices of a deleted member may be kept for its group (--gang-hold-timeout)
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
MERGE = "application/merge-patch+json"
NODES, DEVICES = 3, 4
VOLUMES, VOLUME_CLAIMS = "/api/v1/persistentvolumes", "/api/v1/namespaces/default/persistentvolumeclaims"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
SLICES = rest.RESOURCE + "/resourceslices"
NEW = "-new-"  # in the name of an added node: no kubelet is simulated there, so its pods are bound and never start


def alive(pod):
    return "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Succeeded", "Failed")


def workload_of(pod):
    """A Deployment's or a Job's name, or the pod's own."""
    owners = pod["metadata"].get("ownerReferences", [])
    return owners[0]["name"].rsplit("-", 1)[0] if owners else pod["metadata"]["name"]


class World:
    def __init__(self, box, programs, seed):
        self.box, self.programs, self.seed = box, programs, seed
        self.api = rest.Api(box.kubeconfig)
        self.random = random.Random(seed)
        self.bare, self.deployments, self.jobs, self.volume_claims = [], {}, {}, []

    def fill(self):
        count = self.random.randint(2, 5)
        volumes = self.random.randint(1, count) if self.seed % 2 else 0
        for i in range(volumes):
            node = self.random.randrange(NODES)
            terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [f"node-{node}"]}]}]
            self.api.create(VOLUMES, {"metadata": {"name": f"local-{i}"}, "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                            "storageClassName": "local", "persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/data"},
                            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}})
        for i in range(count):
            self.bare.append(f"pod-{i}")
            pod = rest.pod(f"pod-{i}", f"take-{self.random.randint(1, 4)}")
            if volumes and self.random.random() < 0.6:
                claim = self.volume_claim()
                pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
            self.api.create(PODS, pod)
            time.sleep(1.05)  # ages are seconds, and the older pod comes first
        for i in range(self.random.randint(0, 2)):
            name = f"app{i}"
            template = rest.pod("x", f"take-{self.random.randint(1, 3)}")
            self.deployments[name] = self.random.randint(1, 3)
            self.api.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": {"replicas": self.deployments[name], "selector": {"matchLabels": {"app": name}},
                            "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]}}})
            self.settle()
        if self.seed // 2 % 2 == 1:
            self.add_group("job0", self.random.randint(2, 4), self.random.randint(1, 3))

    def add_group(self, name, members, devices):
        template = rest.pod("x", f"take-{devices}")
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
            "parallelism": members, "completions": members, "backoffLimit": 100, "template": {
                "metadata": {"annotations": {"dra-controller-manager/group": str(members)}}, "spec": {**template["spec"], "restartPolicy": "Never"}}}}
        job["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "9999"]
        objects = [job]
        if self.random.random() < 0.5:  # the group of a PodGroup instead
            job["spec"]["template"].pop("metadata")
            job["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": name}
            objects.insert(0, {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": name},
                               "spec": {"schedulingPolicy": {"gang": {"minCount": members}}}})
        program = os.path.join(self.programs, "kubectl-dra")
        answer = subprocess.run([program, "fits", "-f", "-", "--kubeconfig", self.box.kubeconfig, "-o", "json"],
                                input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), capture_output=True, text=True, timeout=60)
        fits = json.loads(answer.stdout)["fits"][0]
        self.jobs[name] = members
        if len(objects) > 1:
            self.api.create(GROUPS, objects[0])
        self.api.create(JOBS, job)
        self.settle()
        running = self.running()[name]
        expected = members if fits["fits"] == "now" else 0
        if running != expected or fits["placed"] != expected:
            raise SystemExit(f"seed {self.seed}: fits says {fits}, and {running} of {members} members run")

    def volume_claim(self):
        """The name of a claim: a new one, or the last one created."""
        if not self.volume_claims or self.random.random() < 0.75:
            self.volume_claims.append(f"data-{len(self.volume_claims)}")
            self.api.create(VOLUME_CLAIMS, {"metadata": {"name": self.volume_claims[-1]}, "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}})
        return self.volume_claims[-1]

    def pods(self):
        return [pod for pod in self.api.items(PODS) if alive(pod)]

    def expected_pods(self):
        return len(self.bare) + sum(self.deployments.values()) + sum(self.jobs.values())

    def state(self):
        pods, claims = self.api.items(PODS), self.api.items(CLAIMS)
        return sorted((p["metadata"]["name"], p["spec"].get("nodeName"), p["status"].get("phase"), alive(p)) for p in pods), len(claims)

    def settle(self):
        """Waits until nothing changed for a second, no pod is being deleted, and the number of pods is right."""
        seen, since = None, time.monotonic()
        end = since + 60
        while time.monotonic() < end:
            now = self.state()
            started = all(phase == "Running" or NEW in node for _, node, phase, _ in now[0] if node)
            if now != seen or not started or len(now[0]) != self.expected_pods():
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > (KEPT if self.group_is_short() else 1.0):
                return
            time.sleep(0.1)
        raise SystemExit(f"seed {self.seed}: the sandbox does not settle: {self.state()}, {self.expected_pods()} pods expected")

    def group_is_short(self):
        """Whether some member of a group runs and another one does not."""
        running = self.running()
        return any(0 < running[name] < members for name, members in self.jobs.items())

    def running(self):
        """How many pods of each workload are on nodes."""
        counts = {name: 0 for name in [*self.bare, *self.deployments, *self.jobs]}
        for pod in self.pods():
            if pod["spec"].get("nodeName"):
                counts[workload_of(pod)] = counts.get(workload_of(pod), 0) + 1
        return counts

    def ask(self, words):
        program = os.path.join(self.programs, "kubectl-dra")
        answer = subprocess.run([program, "whatif", *words, "--kubeconfig", self.box.kubeconfig, "-o", "json"], capture_output=True, text=True, timeout=60)
        if answer.returncode not in (0, 1):
            raise SystemExit(f"seed {self.seed}: whatif {' '.join(words)}: status {answer.returncode}: {answer.stderr}")
        return json.loads(answer.stdout)["pods"]

    def predicted(self, before, fates):
        after = dict(before)
        for fate in fates:
            name = fate["pod"].split("/", 1)[1]
            workload = name if name in self.bare else next(d for d in [*self.deployments, *self.jobs] if name.startswith(d + "-"))
            if fate["what"] in ("waits", "gone") and fate["from"]:
                after[workload] -= 1
            elif fate["what"] in ("starts", "starts anyway"):
                after[workload] += 1
        return after

    def change(self):
        """(words for whatif, a function that does it)."""
        kinds = ["drain", "delete", "taint", "cordon", "add-node", "delete-claim"] + (["scale", "delete-deployment"] if self.deployments else [])
        members = [pod["metadata"]["name"] for pod in self.pods() if workload_of(pod) in self.jobs and pod["spec"].get("nodeName")]
        kinds += ["delete-member"] * 3 if members else []
        kind = self.random.choice(kinds)
        if kind == "cordon":
            node = f"node-{self.random.randrange(NODES)}"
            return ["cordon", node], lambda: self.cordon(node)
        if kind == "delete-member":
            name = self.random.choice(sorted(members))
            return ["delete", "pod/" + name], lambda: self.api.request("DELETE", f"{PODS}/{name}")
        if kind == "add-node":
            like, count = f"node-{self.random.randrange(NODES)}", self.random.randint(1, 2)
            return ["add-node", "like", like, str(count)], lambda: self.add_nodes(like, count)
        if kind == "delete-claim":
            name = self.random.choice(sorted(claim["metadata"]["name"] for claim in self.api.items(CLAIMS)))
            return ["delete", "claim/" + name], lambda: self.api.request("DELETE", f"{CLAIMS}/{name}")
        if kind == "delete-deployment":
            name = self.random.choice(sorted(self.deployments))
            if any(workload_of(pod) == name for pod in self.pods()):
                return ["delete", "deployment/" + name], lambda: self.delete_deployment(name)
            kind = "delete"
        if kind == "delete":
            name = self.random.choice(self.bare)
            return ["delete", "pod/" + name], lambda: self.delete([name])
        if kind == "scale":
            name = self.random.choice(sorted(self.deployments))
            count = self.random.randint(0, 4)
            if not any(workload_of(pod) == name for pod in self.pods()):
                return ["cordon", "node-0"], lambda: self.cordon("node-0")
            return ["scale", "deployment/" + name, str(count)], lambda: self.scale(name, count)
        node = f"node-{self.random.randrange(NODES)}"
        if kind == "taint":
            device = self.random.choice([None, *(f"gpu-{i}" for i in range(DEVICES))])
            effect = self.random.choice(["NoExecute", "NoExecute", "NoSchedule"])
            target = node if device is None else f"{node}/{device}"
            return ["taint", target, "example.com/ecc=bad:" + effect], lambda: self.taint(node, device, effect)
        return ["drain", node], lambda: self.drain(node)

    def taint(self, node, device, effect):
        for claim in self.api.items(CLAIMS) if effect == "NoExecute" else []:
            if any(pool == node and device in (None, name) for _, pool, name in rest.devices_of(claim)):
                for consumer in claim["status"].get("reservedFor", []):
                    if consumer["name"] in self.bare:
                        self.bare.remove(consumer["name"])
        selector = {"driver": "gpu.example.com", "pool": node, **({"device": device} if device else {})}
        self.api.create(RULES, {"metadata": {"name": "ecc"}, "spec": {
            "deviceSelector": selector, "taint": {"key": "example.com/ecc", "value": "bad", "effect": effect}}})

    def add_nodes(self, like, count):
        model = self.api.get(f"/api/v1/nodes/{like}")
        slices = [s for s in self.api.items(SLICES) if s["spec"].get("nodeName") == like]
        for i in range(1, count + 1):
            name = f"{like}{NEW}{i}"
            labels = {key: name if value == like else value for key, value in model["metadata"].get("labels", {}).items()}
            for one in slices:
                spec = {**one["spec"], "nodeName": name, "pool": {**one["spec"]["pool"], "name": name}}
                self.api.create(SLICES, {"metadata": {"name": one["metadata"]["name"] + NEW + str(i)}, "spec": spec})
            self.api.create("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "status": model["status"]})

    def delete_deployment(self, name):
        # Like kubectl and the garbage collector, which the sandbox has only for pods.
        self.scale(name, 0)

    def delete(self, names):
        for name in names:
            self.bare.remove(name)
            self.api.request("DELETE", f"{PODS}/{name}")

    def scale(self, name, count):
        self.deployments[name] = count
        self.api.request("PATCH", f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": count}}, MERGE)

    def cordon(self, node, value=True):
        self.api.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": value}}, MERGE)

    def drain(self, node):
        self.cordon(node)
        for pod in self.pods():
            if pod["spec"].get("nodeName") == node:
                if pod["metadata"]["name"] in self.bare:
                    self.bare.remove(pod["metadata"]["name"])
                self.api.request("DELETE", f"{PODS}/{pod['metadata']['name']}")

    def clean(self):
        for name in list(self.deployments):
            self.scale(name, 0)
        for name in self.jobs:
            self.api.request("DELETE", f"{JOBS}/{name}?propagationPolicy=Background")
            self.api.request("DELETE", f"{GROUPS}/{name}")
        for pod in self.api.items(PODS):
            if NEW in pod["spec"].get("nodeName", ""):
                self.api.request("DELETE", f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
        for path in (SLICES, "/api/v1/nodes"):
            for one in self.api.items(path):
                if NEW in one["metadata"]["name"]:
                    self.api.request("DELETE", f"{path}/{one['metadata']['name']}")
        self.settle_empty_deployments()
        for name in self.deployments:
            self.api.request("DELETE", f"{DEPLOYMENTS}/{name}")
        for name in list(self.bare):
            self.api.request("DELETE", f"{PODS}/{name}")
        for i in range(NODES):
            self.cordon(f"node-{i}", False)
        self.bare, self.deployments, self.jobs = [], {}, {}
        for pod in self.api.items(PODS):
            self.api.request("DELETE", f"{PODS}/{pod['metadata']['name']}")
        self.api.request("DELETE", RULES + "/ecc")
        for name in self.volume_claims:
            self.api.request("DELETE", f"{VOLUME_CLAIMS}/{name}")
        self.box.wait_for(lambda: not self.api.items(VOLUME_CLAIMS) or self.api.items(PODS), 30, f"seed {self.seed}: claims of volumes to go")
        for volume in self.api.items(VOLUMES):
            self.api.request("DELETE", f"{VOLUMES}/{volume['metadata']['name']}")
        self.volume_claims = []
        self.box.wait_for(lambda: not self.api.items(PODS) and not self.api.items(CLAIMS), 30, f"seed {self.seed}: an empty cluster")

    def settle_empty_deployments(self):
        self.box.wait_for(lambda: all(workload_of(p) not in self.deployments for p in self.api.items(PODS)), 30, "Deployments without pods")


def run_world(box, programs, seed):
    """Whether the answer was right."""
    world = World(box, programs, seed)
    world.fill()
    world.settle()
    before = world.running()
    names = sorted(before)
    words, act = world.change()
    fates = world.ask(words)
    predicted = world.predicted(before, fates)
    act()
    world.settle()
    after = world.running()
    right = all(predicted.get(name, 0) == after.get(name, 0) for name in names)
    if not right:
        print(f"seed {seed}: whatif {' '.join(words)}: before {before}, predicted {predicted}, then {after}\n{json.dumps(fates, indent=1)}")
    world.clean()
    return right


def main():
    programs = sys.argv[1]
    worlds = int(sys.argv[sys.argv.index("--worlds") + 1]) if "--worlds" in sys.argv else 2
    first = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 1
    fleet = os.path.join(HERE, "..", "..", "build", f"whatif-fleet-{os.getpid()}.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(rest.fleet(NODES, DEVICES))
    try:
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet]) as box:
            rest.Api(box.kubeconfig).create(STORAGE_CLASSES, {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner",
                                            "volumeBindingMode": "WaitForFirstConsumer"})
            for count in range(1, 5):
                rest.Api(box.kubeconfig).create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template(f"take-{count}", count=count))
            wrong = [seed for seed in range(first, first + worlds) if not run_world(box, programs, seed)]
    finally:
        os.remove(fleet)
    print(f"{worlds - len(wrong)} passed, {len(wrong)} failed" + (f": seeds {wrong}" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
