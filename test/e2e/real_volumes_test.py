#!/usr/bin/env python3
"""Volumes on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without them).

Pods with devices and a mix of volumes (local, created for the first consumer by a simulated provisioner, bound in a zone), spreading, anti-affinity,
host ports, tainted nodes and too little CPU. Bind mode: every pod is on a node that kube-scheduler would accept, and kube-scheduler places none
of the remaining pods; each volume is bound once. A run with kube-scheduler alone and the same seed gives the number to compare with. Gate mode: no
pod stays pinned to a node that kube-scheduler refuses.

Usage: real_volumes_test.py FOLDER_OF_PROGRAMS [--pods N] [--gated N] [--seed N] [--mode others|pinned|jobs|bind|gate|recreate|faults|permissions ...]
"""
import argparse
import collections
import os
import random
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
CLAIMS = CORE + "/namespaces/default/persistentvolumeclaims"
VOLUMES = CORE + "/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
ZONE, HOST, SELECTED = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "volume.kubernetes.io/selected-node"
NODES, ZONES, CPUS, DEVICES = 24, 3, 8, 16
MERGE = "application/merge-patch+json"
CONTROLLERS = "replicaset-controller,job-controller,pod-garbage-collector-controller,persistentvolume-binder-controller,ephemeral-volume-controller,garbage-collector-controller,serviceaccount-controller"


class Provisioner(threading.Thread):
    """Creates a volume for each claim of class "fast" that has a node; if `refuse(claim, node)` it rejects the node instead, like a driver
    without space there; `silent`: never answers."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.stopped, self.silent, self.refuse, self.made = api, threading.Event(), False, lambda claim, node: False, collections.Counter()

    def run(self):
        while not self.stopped.wait(0.2):
            for claim in [] if self.silent else self.api.items(CLAIMS):
                node = claim["metadata"].get("annotations", {}).get(SELECTED)
                if claim["spec"].get("storageClassName") != "fast" or claim["spec"].get("volumeName") or not node:
                    continue
                if self.refuse(claim, node):
                    self.api.request("PATCH", f"{CLAIMS}/{claim['metadata']['name']}", {"metadata": {
                        "resourceVersion": claim["metadata"]["resourceVersion"], "annotations": {SELECTED: None}}}, MERGE)
                    continue
                name = "pvc-" + claim["metadata"]["uid"]
                body = volume(name, "fast", {"csi": {"driver": "fake.example.com", "volumeHandle": name}}, ZONE, zone_of(node))
                body["spec"]["accessModes"] = claim["spec"]["accessModes"]
                body["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "fake.example.com"}
                body["spec"]["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
                                            "name": claim["metadata"]["name"], "uid": claim["metadata"]["uid"]}
                if self.api.request("POST", VOLUMES, body)[0] == 201:
                    self.made[claim["metadata"]["name"]] += 1


def zone_of(node):
    return f"zone-{int(node.rsplit('-', 1)[1]) % ZONES}"


def volume(name, class_name, source, key, value):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class_name, **source,
                     "persistentVolumeReclaimPolicy": "Retain",
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}}}}


def claim(name, class_name):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class_name, "resources": {"requests": {"storage": "5Gi"}}}}


def furnish(api):
    """Nodes with devices, a device class and a template, storage classes, volumes."""
    calls = []
    for i in range(NODES):
        name = f"node-{i}"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOST: name, ZONE: zone_of(name)}}, "spec": {}}
        if i % 4 == 3:
            node["spec"]["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
        node["status"] = {"allocatable": {"cpu": str(CPUS), "memory": "64Gi", "pods": "110"}, "capacity": {"cpu": str(CPUS), "memory": "64Gi", "pods": "110"},
                          "conditions": [{"type": "Ready", "status": "True"}]}
        slice_ = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
                  "spec": {"driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                           "devices": [{"name": f"gpu-{d}"} for d in range(DEVICES)]}}
        calls += [lambda n=node: api.create(CORE + "/nodes", n), lambda s=slice_: api.create(rest.RESOURCE + "/resourceslices", s)]
        for v in range(2):
            body = volume(f"local-{i}-{v}", "local", {"local": {"path": f"/mnt/{v}"}}, HOST, name)
            calls.append(lambda b=body: api.create(VOLUMES, b))
    for z in range(ZONES):
        for v in range(12):
            body = volume(f"zonal-{z}-{v}", "zonal", {"csi": {"driver": "fake.example.com", "volumeHandle": f"zonal-{z}-{v}"}}, ZONE, f"zone-{z}")
            calls.append(lambda b=body: api.create(VOLUMES, b))
    for name, provisioner, mode in (("fast", "fake.example.com", "WaitForFirstConsumer"), ("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
                                    ("zonal", "kubernetes.io/no-provisioner", "Immediate")):
        api.create(CLASSES, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
                             "volumeBindingMode": mode, "reclaimPolicy": "Retain"})
    api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
    api.many(calls)


def make_pods(count, seed, prefix="p"):
    """(claims, pods): the same for the same seed."""
    dice = random.Random(seed)
    claims, pods = [], []
    for i in range(count):
        pod = rest.pod(f"{prefix}-{i:03}", "one")
        spec, labels = pod["spec"], {"app": f"app-{dice.randrange(6)}"}
        pod["metadata"]["labels"] = labels
        spec["containers"][0]["resources"]["requests"] = {"cpu": dice.choice(["100m", "250m", "500m", "1"])}
        kind = dice.choice(["none", "local", "fast", "fast", "zonal"])
        if kind != "none":
            claims.append(claim(f"{prefix}-data-{i:03}", kind))
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"{prefix}-data-{i:03}"}}]
        if dice.random() < 0.2:
            labels["apart"] = f"group-{dice.randrange(3)}"
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOST, "labelSelector": {"matchLabels": {"apart": labels["apart"]}}}]}}
        if dice.random() < 0.2:
            spec["topologySpreadConstraints"] = [{"maxSkew": 3, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                                                  "labelSelector": {"matchLabels": {"app": labels["app"]}}}]
        if dice.random() < 0.1:
            spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8000 + dice.randrange(2)}]
        if dice.random() < 0.4:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        pods.append(pod)
    return claims, pods


def milli(text):
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def faults_of(api):
    """Violations of scheduling rules, as sentences."""
    faults = []
    pods = [p for p in api.items(PODS) if p["spec"].get("nodeName")]
    taints = {n["metadata"]["name"]: n["spec"].get("taints", []) for n in api.items(CORE + "/nodes")}
    by_node = collections.defaultdict(list)
    for pod in pods:
        by_node[pod["spec"]["nodeName"]].append(pod)
    for node, there in by_node.items():
        cpu = sum(milli(p["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for p in there)
        if cpu > 1000 * CPUS:
            faults.append(f"{node}: {cpu}m CPU requested")
        for what, values in (("port", [q["hostPort"] for p in there for q in p["spec"]["containers"][0].get("ports", [])]),
                             ("group apart", [p["metadata"]["labels"]["apart"] for p in there if "apart" in p["metadata"]["labels"]])):
            faults += [f"{node}: {what} {v} is there {n} times" for v, n in collections.Counter(values).items() if n > 1]
        if any(t["key"] == "dedicated" for t in taints[node]):
            faults += [f"{p['metadata']['name']} does not tolerate {node}" for p in there
                       if not any(t.get("key") in (None, "dedicated") for t in p["spec"]["tolerations"])]
    claims = {c["metadata"]["name"]: c for c in api.items(CLAIMS)}
    volumes = {v["metadata"]["name"]: v for v in api.items(VOLUMES)}
    for pod in pods:
        for name in [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v]:
            bound = volumes.get(claims[name]["spec"].get("volumeName"))
            if not bound or bound["spec"]["claimRef"]["uid"] != claims[name]["metadata"]["uid"]:
                faults.append(f"{pod['metadata']['name']}: claim {name} is not bound")
                continue
            wanted = bound["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
            node = pod["spec"]["nodeName"]
            if (node if wanted["key"] == HOST else zone_of(node)) not in wanted["values"]:
                faults.append(f"{pod['metadata']['name']} on {node}: volume {bound['metadata']['name']} is not reachable")
    held = collections.Counter(d for c in api.items(rest.RESOURCE + "/resourceclaims") for d in rest.devices_of(c))
    faults += [f"device {d} is allocated {n} times" for d, n in held.items() if n > 1]
    return faults


def wait_until_still(api, seconds, quiet=12):
    """Waits until no pod was bound for `quiet` seconds. Returns the pods by name."""
    end, last, since = time.monotonic() + seconds, None, time.monotonic()
    while time.monotonic() < end:
        pods = {p["metadata"]["name"]: p for p in api.items(PODS)}
        bound = sum(1 for p in pods.values() if p["spec"].get("nodeName"))
        if bound != last:
            last, since = bound, time.monotonic()
        if bound == len(pods) or time.monotonic() - since > quiet:
            return pods
        time.sleep(0.5)
    raise SystemExit(f"pods are still being bound after {seconds} s")


class Run:
    """A control plane of its own with controllers and a provisioner; kube-scheduler and our manager on request."""

    def __init__(self, programs):
        self.programs, self.cluster, self.manager, self.provisioner = programs, real_cluster.RealCluster(), None, None

    def __enter__(self):
        self.cluster.__enter__()
        self.api = self.cluster.api("admin")
        self.kubeconfig = self.cluster.kubeconfig("admin")
        self.cluster.start_controllers(CONTROLLERS, "--pvclaimbinder-sync-period=5s")
        furnish(self.api)
        self.provisioner = Provisioner(self.cluster.api("admin"))
        self.provisioner.start()
        return self

    def __exit__(self, *failure):
        self.provisioner.stopped.set()
        self.provisioner.join()
        try:
            if failure[0] and self.manager:
                print(self.manager.log()[-6000:])
            if self.manager:
                self.manager.stop()
        finally:
            self.cluster.__exit__(*failure)

    def schedule(self):
        self.cluster.start("kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--secure-port=0", "--leader-elect=false")

    def manage(self, *arguments):
        self.manager = managers.Manager(os.path.join(self.programs, "dra-controller-manager"), self.kubeconfig,
                                        os.path.join(self.cluster.folder, "manager.log"), ["--leader-elect=false", *arguments])
        if "--scheduling=gate" in arguments:
            self.manager.arguments.remove("--scheduling=bind")
        self.manager.start()

    def claim_controller(self):
        self.cluster.start("kube-controller-manager", f"--kubeconfig={self.kubeconfig}", "--controllers=resourceclaim-controller", "--secure-port=0",
                           "--leader-elect=false")

    def create(self, claims, pods):
        self.api.many([lambda c=c: self.api.create(CLAIMS, c) for c in claims])
        self.api.many([lambda p=p: self.api.create(PODS, p) for p in pods])

    def report(self, what, pods, took):
        bound = {n for n, p in pods.items() if p["spec"].get("nodeName")}
        faults = faults_of(self.api)
        twice = [n for n, c in self.provisioner.made.items() if c > 1]
        print(f"{what}: {len(bound)} of {len(pods)} pods bound in {took:.1f} s, {sum(self.provisioner.made.values())} volumes made, "
              f"{len(faults)} faults", flush=True)
        if faults or twice:
            raise SystemExit(f"{what}: " + "; ".join(faults + [f"claim {n} got two volumes" for n in twice]))
        return bound


def kube_scheduler_alone(options):
    with Run(options.programs) as run:
        claims, pods = make_pods(options.pods, options.seed)
        run.claim_controller()
        run.schedule()
        begin = time.monotonic()
        run.create(claims, pods)
        return run.report("kube-scheduler", wait_until_still(run.api, 400), time.monotonic() - begin)


def bind_mode(options):
    theirs = kube_scheduler_alone(options)
    with Run(options.programs) as run:
        claims, pods = make_pods(options.pods, options.seed)
        for pod in pods:
            pod["spec"]["schedulerName"] = "ours"
        run.manage("--scheduler-names=ours")
        begin = time.monotonic()
        run.create(claims, pods)
        placed = wait_until_still(run.api, 400)
        ours = run.report("bind mode", placed, time.monotonic() - begin)
        # kube-scheduler cannot place the remaining pods either: the same pods again, for it, with new claims of devices.
        run.manager.stop()
        run.manager = None
        left = [p for p in pods if p["metadata"]["name"] not in ours]
        run.api.many([lambda p=p: run.api.request("DELETE", f"{PODS}/{p['metadata']['name']}?gracePeriodSeconds=0") for p in left])
        run.cluster.wait_for(lambda: len(run.api.items(PODS)) == len(ours), 60, "the pods that are left to go")
        for pod in left:
            pod["spec"]["schedulerName"] = "default-scheduler"
        run.claim_controller()
        run.schedule()
        run.api.many([lambda p=p: run.api.create(PODS, p) for p in left])
        again = wait_until_still(run.api, 200, quiet=20)
        missed = {n for n, p in again.items() if p["spec"].get("nodeName")} - ours
    print(f"left by bind mode: {len(left)}; kube-scheduler placed {len(missed)} of them; alone it placed {len(theirs)}, bind mode {len(ours)}", flush=True)
    if missed:
        raise SystemExit(f"bind mode left pods that kube-scheduler places: {sorted(missed)}")


def gate_mode(options):
    with Run(options.programs) as run:
        claims, pods = make_pods(options.gated, options.seed)
        for pod in pods:
            pod["spec"]["schedulingGates"] = [{"name": "dra-controller-manager/allocation"}]
        run.schedule()
        run.manage("--scheduling=gate")
        begin = time.monotonic()
        run.create(claims, pods)
        placed = wait_until_still(run.api, 400, quiet=20)
        bound = run.report("gate mode", placed, time.monotonic() - begin)
        if len(bound) < 0.9 * len(pods):
            raise SystemExit(f"gate mode: only {len(bound)} pods were bound")
        pinned = [n for n, p in placed.items() if not p["spec"].get("nodeName") and not p["spec"].get("schedulingGates")]
        print(f"gate mode: {len(pinned)} pods are pinned", flush=True)
        if pinned:
            raise SystemExit(f"pinned to a node that kube-scheduler refuses: {pinned}: " + str([
                c.get("message") for n in pinned for c in placed[n]["status"].get("conditions", []) if c["type"] == "PodScheduled"]))


def replica_set(pod):
    """One that keeps this pod there."""
    labels = {**pod["metadata"]["labels"], "set": pod["metadata"]["name"]}
    return {"metadata": {"name": pod["metadata"]["name"]}, "spec": {"replicas": 1, "selector": {"matchLabels": {"set": labels["set"]}},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]}}}


def worsen(api, dice):
    """Changes while pods wait for kube-scheduler: a quarter of the nodes is cordoned, on another quarter other pods take the CPU."""
    nodes = [f"node-{i}" for i in range(NODES)]
    dice.shuffle(nodes)
    for node in nodes[:NODES // 4]:
        api.request("PATCH", f"{CORE}/nodes/{node}", {"spec": {"unschedulable": True}}, MERGE)
    for node in nodes[NODES // 4:NODES // 2]:
        api.create(PODS, {"metadata": {"name": "filler-" + node, "labels": {"app": "filler"}}, "spec": {
            "nodeName": node, "tolerations": [{"operator": "Exists"}], "containers": [
                {"name": "c", "image": "none", "resources": {"requests": {"cpu": str(CPUS - 1)}}}]}})


def recreate(options):
    """Gate mode with --recreate-pinned-pods: pods are ungated, then nodes are cordoned and filled, then kube-scheduler starts. Pinned pods get an event,
    are counted and after ten minutes (the test sets their conditions back) evicted, until all pods run that can run."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        sets = "/apis/apps/v1/namespaces/default/replicasets"
        api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/recreate-pinned-pods": "true"}}}, MERGE)
        run.manage("--scheduling=gate", "--recreate-pinned-pods=true")
        claims, pods = make_pods(options.gated, options.seed)
        specs = {p["metadata"]["name"]: dict(p["spec"]) for p in pods}
        for pod in pods:
            pod["spec"] = {**pod["spec"], "schedulingGates": [{"name": "dra-controller-manager/allocation"}]}
        api.many([lambda c=c: api.create(CLAIMS, c) for c in claims])
        api.many([lambda p=p: api.create(sets, replica_set(p)) for p in pods])
        waiting = lambda: [p for p in api.items(PODS) if not p["spec"].get("nodeName")]  # noqa: E731
        ungated = lambda: {p["metadata"]["name"] for p in waiting() if not p["spec"].get("schedulingGates")}  # noqa: E731
        wait(lambda: len(waiting()) == len(pods), 120, "the pods")
        before, since = set(), time.monotonic()
        while time.monotonic() - since < 10:
            if (now := ungated()) != before:
                before, since = now, time.monotonic()
            time.sleep(0.5)
        worsen(api, random.Random(options.seed))
        begin = time.monotonic()
        run.schedule()
        events = "/apis/events.k8s.io/v1/namespaces/default/events"
        for turn in range(5):
            wait_until_still(api, 400, quiet=20)
            pinned_now = ungated()
            notified = {e["regarding"]["name"] for e in api.items(events) if e["reason"] == "PinnedUnschedulable"}
            counted = next(line.split()[1] for line in run.manager.metrics().splitlines() if line.startswith("dra_pinned_pods "))
            print(f"recreate, turn {turn}: {len(before)} were ungated at first, {len(pinned_now)} are pinned, {counted} counted, "
                  f"{len(pinned_now - notified)} not notified", flush=True)
            assert not pinned_now - notified and float(counted) == len(pinned_now), (pinned_now - notified, counted)
            if turn == 0:
                assert pinned_now, "nobody is pinned: the test shows nothing"
            if not pinned_now:
                break
            ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 660))
            for name in pinned_now:
                conditions = api.get(f"{PODS}/{name}")["status"]["conditions"]
                for condition in conditions:
                    condition["lastTransitionTime"] = ago
                api.request("PATCH", f"{PODS}/{name}/status", {"status": {"conditions": conditions}}, MERGE)
            # Deleted, or left because those made in place of others do not run.
            wait(lambda: all(n not in ungated() or "evicted later" in str([e["note"] for e in api.items(events) if e["regarding"]["name"] == n]) for n in pinned_now),
                 120, "the evictions")
        run.report("recreate", {p["metadata"]["name"]: p for p in api.items(PODS)}, time.monotonic() - begin)
        # kube-scheduler cannot place the remaining pods either.
        run.manager.stop()
        run.manager = None
        left = [p["metadata"]["labels"]["set"] for p in waiting()]
        api.many([lambda n=n: api.request("DELETE", f"{sets}/{n}", {"propagationPolicy": "Background"}) for n in left])
        wait(lambda: not waiting(), 120, "the pods that are left to go")
        run.claim_controller()
        api.many([lambda n=n: api.create(PODS, {"metadata": {"name": n, "labels": next(p["metadata"]["labels"] for p in pods if p["metadata"]["name"] == n)},
                                                "spec": specs[n]}) for n in left])
        again = wait_until_still(api, 200, quiet=20)
        missed = [n for n in left if again[n]["spec"].get("nodeName")]
        print(f"recreate: left {len(left)}; kube-scheduler placed {len(missed)} of them", flush=True)
        if missed:
            raise SystemExit(f"left with --recreate-pinned-pods, and kube-scheduler places them: {missed}")


def ours(name, claim_name=None, **spec):
    pod = rest.pod(name, "one")
    pod["metadata"]["labels"] = {"app": name}
    pod["spec"].update({"schedulerName": "ours", **spec})
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "100m"}
    if claim_name:
        pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    return pod


def faults(options):
    """Provisioners that refuse or never answer, claims that are missing, lost or deleted, leaders and pods that end in the middle."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        run.manage("--scheduler-names=ours")
        node_of = lambda name: api.get(f"{PODS}/{name}")["spec"].get("nodeName")  # noqa: E731
        notes = lambda name: [e["note"] for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events") if e["regarding"]["name"] == name]  # noqa: E731
        selected = lambda name: api.get(f"{CLAIMS}/{name}")["metadata"].get("annotations", {}).get(SELECTED)  # noqa: E731
        allocated = lambda: sum(1 for c in api.items(rest.RESOURCE + "/resourceclaims") if rest.devices_of(c))  # noqa: E731

        # The provisioner has no space in two zones: the pod ends up in the third.
        refused = []
        run.provisioner.refuse = lambda c, node: c["metadata"]["name"] == "picky" and zone_of(node) != "zone-2" and not refused.append(node)
        api.create(CLAIMS, claim("picky", "fast"))
        api.create(PODS, ours("picky", "picky"))
        wait(lambda: node_of("picky"), 120, "a pod whose provisioner refuses nodes")
        print(f"picky: refused on {len(refused)} nodes, bound to {node_of('picky')} in {zone_of(node_of('picky'))}", flush=True)
        assert zone_of(node_of("picky")) == "zone-2" and len(refused) == len(set(refused)), refused

        # Unusable claims are named, and delay no other pod.
        api.create(CLAIMS, claim("nowhere", "no-such-class"))
        broken = volume("broken", "local", {"local": {"path": "/x"}}, HOST, "no-such-node")
        api.create(VOLUMES, broken)
        api.create(CLAIMS, {**claim("broken", "local"), "spec": {**claim("broken", "local")["spec"], "volumeName": "broken"}})
        wait(lambda: api.get(f"{CLAIMS}/broken")["status"]["phase"] == "Bound", 60, "the claim of a volume that no node reaches")
        for name, words in (("absent", 'persistentvolumeclaim "absent" not found'), ("nowhere", "unbound immediate PersistentVolumeClaims"),
                            ("broken", "didn't match PersistentVolume's node affinity")):
            api.create(PODS, ours(name, name))
            wait(lambda n=name, w=words: any(w in note for note in notes(n)), 60, f"the reason of pod {name}")
        before = allocated()
        api.create(CLAIMS, claim("absent", "fast"))
        begin = time.monotonic()
        wait(lambda: node_of("absent"), 60, "the pod whose claim came late")
        print(f"absent: bound {time.monotonic() - begin:.1f} s after its claim was made; nothing was held before: {before} allocated", flush=True)

        # Two pods that share a claim for one pod at a time.
        api.create(CLAIMS, {**claim("single", "fast"), "spec": {**claim("single", "fast")["spec"], "accessModes": ["ReadWriteOncePod"]}})
        for name in ("single-a", "single-b"):
            api.create(PODS, ours(name, "single"))
        wait(lambda: node_of("single-a") or node_of("single-b"), 60, "one of two pods that share a claim")
        time.sleep(5)
        both = [n for n in ("single-a", "single-b") if node_of(n)]
        assert len(both) == 1, both
        other = "single-b" if both == ["single-a"] else "single-a"
        api.request("DELETE", f"{PODS}/{both[0]}?gracePeriodSeconds=0")
        begin = time.monotonic()
        wait(lambda: node_of(other), 60, "the other pod")
        print(f"single: the second pod was bound {time.monotonic() - begin:.1f} s after the first went", flush=True)

        # The leader dies while the provisioner works; the pod of another claim is deleted meanwhile.
        run.provisioner.silent = True
        for name in ("slow", "gone"):
            api.create(CLAIMS, claim(name, "fast"))
            api.create(PODS, ours(name, name))
        wait(lambda: selected("slow") and selected("gone"), 60, "nodes to be selected")
        node = selected("slow")
        run.manager.kill()
        api.request("DELETE", f"{PODS}/gone?gracePeriodSeconds=0")
        run.manage("--scheduler-names=ours")
        time.sleep(5)
        assert not node_of("slow") and selected("slow") == node
        run.provisioner.silent = False
        wait(lambda: node_of("slow"), 60, "a pod whose leader was killed in the middle")
        assert node_of("slow") == node, (node, node_of("slow"))
        wait(lambda: not any(c["metadata"]["ownerReferences"][0]["name"] == "gone" for c in api.items(rest.RESOURCE + "/resourceclaims") if rest.devices_of(c)),
             60, "the devices of a pod that was deleted in the middle")

        # A pod that fits nowhere until a node joins.
        api.create(PODS, ours("later", nodeSelector={HOST: "node-new"}))
        wait(lambda: any("nodes are available" in note for note in notes("later")), 60, "the reason of a pod without a node")
        api.create(CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-new", "labels": {HOST: "node-new"}},
                                     "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}}})
        api.create(rest.RESOURCE + "/resourceslices", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "node-new"},
            "spec": {"driver": "gpu.example.com", "nodeName": "node-new", "pool": {"name": "node-new", "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": "gpu-0"}]}})
        begin = time.monotonic()
        wait(lambda: node_of("later"), 60, "the pod for the new node")
        print(f"later: bound {time.monotonic() - begin:.1f} s after its node and devices came", flush=True)
        found = [f for f in faults_of(api) if "node-new" not in f]
        assert not found, found


VOLUME_KINDS = [("", "persistentvolumeclaims"), ("", "persistentvolumes"), *(("storage.k8s.io", kind) for kind in (
    "csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments"))]


def permissions(options):
    """Without the permission for one of the kinds, pods with volumes wait and name it; pods without volumes are not affected."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        everything = [{"apiGroups": ["", "resource.k8s.io", "events.k8s.io", "coordination.k8s.io"],
                       "resources": ["pods", "pods/binding", "pods/status", "nodes", "events", "leases", "resourceclaims", "resourceclaims/status",
                                     "resourceclaims/binding", "resourceclaimtemplates", "resourceslices", "deviceclasses", "devicetaintrules"], "verbs": ["*"]},
                      {"apiGroups": [""], "resources": ["persistentvolumeclaims", "persistentvolumes"], "verbs": ["get", "patch"]}]
        api.create(rbac + "/clusterroles", {"metadata": {"name": "all"}, "rules": everything})
        api.create(rbac + "/clusterrolebindings", {"metadata": {"name": "all"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                   "name": "all"}, "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "default"}]})
        limited = run.cluster.kubeconfig("limited", run.cluster.account_token("default", "default"))
        for number, (group, kind) in enumerate(VOLUME_KINDS):
            rules = [{"apiGroups": [g], "resources": [k], "verbs": ["list", "watch"]} for g, k in VOLUME_KINDS if k != kind]
            status, _ = api.request("PATCH", rbac + "/clusterroles/all", {"rules": everything + rules}, MERGE)
            assert status == 200
            manager = managers.Manager(os.path.join(options.programs, "dra-controller-manager"), limited, os.path.join(run.cluster.folder, f"limited-{kind}.log"),
                                       ["--leader-elect=false", "--scheduler-names=ours"]).start()
            run.manager = manager
            with_volume, plain = f"with-{number}", f"plain-{number}"
            api.create(CLAIMS, claim(with_volume, "fast"))
            api.create(PODS, ours(with_volume, with_volume))
            api.create(PODS, ours(plain))
            wait(lambda: api.get(f"{PODS}/{plain}")["spec"].get("nodeName"), 60, f"a pod without volumes, without {kind}")
            words = f"list {kind}" + (f".{group}" if group else "")
            wait(lambda: any(words in e["note"] and "allocation-volumes" in e["note"] for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events")
                             if e["regarding"]["name"] == with_volume), 60, f"the reason without {kind}")
            assert not api.get(f"{PODS}/{with_volume}")["spec"].get("nodeName")
            manager.stop()
            api.request("DELETE", f"{PODS}/{with_volume}?gracePeriodSeconds=0")
        print(f"permissions: each of {len(VOLUME_KINDS)} kinds was missed by pods with volumes only, and named", flush=True)
        bind_permissions(options, run, everything, limited)


def bind_permissions(options, run, everything, limited):
    """Without a permission to bind volumes, only pods with WaitForFirstConsumer volumes wait; others are not affected.
    After it is granted they continue."""
    api, wait = run.api, run.cluster.wait_for
    reading = [{"apiGroups": [g], "resources": [k], "verbs": ["list", "watch"]} for g, k in VOLUME_KINDS]
    grant = lambda rules: api.request("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/all", {"rules": everything[:1] + reading + rules}, MERGE)  # noqa: E731
    pairs = [(verb, kind) for verb in ("get", "patch") for kind in ("persistentvolumeclaims", "persistentvolumes")]
    rule = lambda pair: {"apiGroups": [""], "resources": [pair[1]], "verbs": [pair[0]]}  # noqa: E731
    for number, missing in enumerate(pairs):
        assert grant([rule(pair) for pair in pairs if pair != missing])[0] == 200
        run.manager = managers.Manager(os.path.join(options.programs, "dra-controller-manager"), limited,
                                       os.path.join(run.cluster.folder, f"bind-{number}.log"), ["--leader-elect=false", "--scheduler-names=ours"]).start()
        waits, bound, plain = f"waits-{number}", f"bound-{number}", f"none-{number}"
        for name, class_name in ((waits, "fast"), (bound, "zonal")):
            api.create(CLAIMS, claim(name, class_name))
            api.create(PODS, ours(name, name))
        api.create(PODS, ours(plain))
        for name in (bound, plain):
            wait(lambda n=name: api.get(f"{PODS}/{n}")["spec"].get("nodeName"), 60, f"pod {name} without {missing}")
        words = (f"may not {missing[0]} {missing[1]}", "allocation-bind-volumes")
        wait(lambda: any(all(w in e["note"] for w in words) for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events")
                         if e["regarding"]["name"] == waits), 60, f"the reason without {missing}")
        held = [c for c in api.items(rest.RESOURCE + "/resourceclaims") if rest.devices_of(c) and c["metadata"]["ownerReferences"][0]["name"] == waits]
        assert not api.get(f"{PODS}/{waits}")["spec"].get("nodeName") and not held, held
        if number == 0:
            grant([rule(pair) for pair in pairs])
            wait(lambda: api.get(f"{PODS}/{waits}")["spec"].get("nodeName"), 120, "the pod whose permission came")
        run.manager.stop()
        run.manager = None
        api.request("DELETE", f"{PODS}/{waits}?gracePeriodSeconds=0")
    print(f"permissions: each of {len(pairs)} to bind volumes was missed only by pods whose volumes wait for them, and named", flush=True)


def unschedulable(api, name):
    """Writes the condition that kube-scheduler would write; none runs here."""
    status, _ = api.request("PATCH", f"{PODS}/{name}/status", {"status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/24 nodes are available: 24 Insufficient cpu.",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}], "nominatedNodeName": None}}, MERGE)
    assert status == 200


def pinned(options):
    """A pod that kube-scheduler does not place on the node of its devices (the test writes its condition; no kube-scheduler runs here) is evicted,
    and its ReplicaSet's next pod goes to another node."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        run.manage("--scheduling=gate", "--recreate-pinned-pods=true")
        api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/recreate-pinned-pods": "true"}}}, MERGE)
        pod = rest.pod("x", "one")
        pod["spec"]["schedulingGates"] = [{"name": "dra-controller-manager/allocation"}]
        api.create("/apis/apps/v1/namespaces/default/replicasets", {"metadata": {"name": "set"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod["spec"]}}})
        node_of = lambda: [c["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]  # noqa: E731
                           for c in api.items(rest.RESOURCE + "/resourceclaims") if rest.devices_of(c)]
        nodes, names = [], []
        for _ in range(4):
            wait(lambda: [p for p in api.items(PODS) if not p["spec"].get("schedulingGates") and p["metadata"]["name"] not in names], 60, "a pod that was ungated")
            name = next(p["metadata"]["name"] for p in api.items(PODS) if p["metadata"]["name"] not in names)
            names.append(name)
            wait(lambda: len(node_of()) == 1, 60, "devices of one pod")
            nodes += node_of()
            unschedulable(api, name)
            if len(names) < 4:
                wait(lambda n=name: api.request("GET", f"{PODS}/{n}")[0] == 404, 60, "the eviction")
        time.sleep(5)
        left = [p["metadata"]["name"] for p in api.items(PODS)]
        notes = [e["note"] for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events") if e["reason"] == "PinnedUnschedulable"]
        print(f"pinned: on {nodes}; after three evictions the pod stays: {notes[-1]}", flush=True)
        assert len(set(nodes)) == 4 and left == names[3:], (nodes, left, names)


def jobs(options):
    """A pinned pod of a Job is evicted only if podReplacementPolicy is Failed. The garbage collector of pods makes an evicted pod without a node
    Failed, so the Job counts one failure; a podFailurePolicy that ignores DisruptionTarget would prevent that."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        run.manage("--scheduling=gate", "--recreate-pinned-pods=true")
        api.request("PATCH", CORE + "/namespaces/default", {"metadata": {"labels": {"dra-controller-manager/recreate-pinned-pods": "true"}}}, MERGE)
        spec = {**rest.pod("x", "one")["spec"], "restartPolicy": "Never", "schedulingGates": [{"name": "dra-controller-manager/allocation"}]}
        for name, more in (("patient", {"podReplacementPolicy": "Failed"}), ("counting", {})):
            api.create("/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": name}, "spec": {
                "backoffLimit": 6, **more, "template": {"metadata": {"labels": {"app": name}}, "spec": spec}}})
        ungated = lambda job: [p["metadata"]["name"] for p in api.items(PODS) if p["metadata"]["labels"]["app"] == job  # noqa: E731
                              and not p["spec"].get("schedulingGates") and not p["metadata"].get("deletionTimestamp")]
        wait(lambda: ungated("patient") and ungated("counting"), 60, "a pod of each Job to be ungated")
        first, stays = ungated("patient")[0], ungated("counting")[0]
        for name in (first, stays):
            unschedulable(api, name)
        wait(lambda: api.request("GET", f"{PODS}/{first}")[0] == 404, 90, "the pod of the Job that replaces failed pods alone to go")
        wait(lambda: [n for n in ungated("patient") if n != first], 60, "the next pod of that Job")
        time.sleep(3)
        notes = [e["note"] for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events") if e["reason"] == "PinnedUnschedulable" and e["regarding"]["name"] == stays]
        failed = {j["metadata"]["name"]: j["status"].get("failed", 0) for j in api.items("/apis/batch/v1/namespaces/default/jobs")}
        print(f"jobs: {first} went and {ungated('patient')[0]} came, failures counted {failed}; {stays} stays: {notes[-1] if notes else None}", flush=True)
        assert failed["patient"] <= 1 and failed["counting"] == 0 and ungated("counting") == [stays] and notes and "podReplacementPolicy" in notes[-1], (failed, notes)


def others(options):
    """Writes of others to our pods in bind mode: nominations, which are respected and cleared, and a kubelet's refusals (the test writes
    both)."""
    with Run(options.programs) as run:
        api, wait = run.api, run.cluster.wait_for
        run.manage("--scheduler-names=ours")
        status = lambda name, body: api.request("PATCH", f"{PODS}/{name}/status", {"status": body}, MERGE)  # noqa: E731
        gate = [{"name": "example.com/wait"}]
        for name, more in (("fits", {}), ("nowhere", {"nodeSelector": {HOST: "no-such-node"}})):
            api.create(PODS, ours(name, schedulingGates=gate, **more))
            assert status(name, {"nominatedNodeName": "node-17"})[0] == 200
            api.request("PATCH", f"{PODS}/{name}", {"spec": {"schedulingGates": None}}, MERGE)
        wait(lambda: api.get(f"{PODS}/fits")["spec"].get("nodeName"), 60, "a nominated pod")
        wait(lambda: not api.get(f"{PODS}/nowhere")["status"].get("nominatedNodeName"), 60, "a nomination that nothing comes of to be taken back")
        fits = api.get(f"{PODS}/fits")
        assert fits["spec"]["nodeName"] == "node-17" and not fits["status"].get("nominatedNodeName"), fits
        status("fits", {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu"})
        counted = 'dra_bindings_refused_by_kubelet_total{reason="OutOfcpu"} 1'
        wait(lambda: counted in run.manager.metrics(), 30, "a refused binding to be counted")
        wait(lambda: any(e["reason"] == "BindingRefused" for e in api.items("/apis/events.k8s.io/v1/namespaces/default/events")), 30, "its event")
        print("others: a nomination was respected, another taken back, a refused binding reported and counted", flush=True)


MODES = {"others": others, "pinned": pinned, "jobs": jobs, "bind": bind_mode, "gate": gate_mode, "recreate": recreate, "faults": faults, "permissions": permissions}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--gated", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES))
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    print(f"seed {options.seed}", flush=True)
    for mode in options.mode:
        MODES[mode](options)
    print("ok")


if __name__ == "__main__":
    main()
