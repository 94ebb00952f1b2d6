#!/usr/bin/env python3
"""Pairs and rails on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler; skipped without them).

Pods with pairs on their claims or over two of them, and groups with pairs and rails (members with fewer devices, joiners, replacements), more than fit at
a time: what has run is deleted. Meanwhile managers are killed, at times while another one already runs beside them, and slices change all the time: free
devices get other roots and rails, those in use are withdrawn as some drivers do, whole slices go and come back. Checked for every pod that is bound: no
device twice; its pairs, and the rails of its group, hold by the attributes that were published when its claims were marked. A manager acts on what its
watches show: a version that was replaced up to LAG seconds before the mark counts as well, and how many do not hold by the very last one is printed.
In the end every pod and every group has run.

Usage: real_pairs_test.py FOLDER_OF_PROGRAMS [--pods N] [--groups N] [--seed N] [--mode bind|gate|bind-deny|gate-deny ...]
(deny: with the chart's policies at Deny, its roles and its account's token; needs Helm in build/tools)
"""
import argparse
import collections
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

NAME = "dra-controller-manager"
GATE = NAME + "/allocation"
MARK = NAME + "/proven"
PAIRS, RAILS = NAME + "/pairs", NAME + "/same-across-members"
CORE = "/api/v1"
PODS = CORE + "/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
SLICES = rest.RESOURCE + "/resourceslices"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
MERGE = "application/merge-patch+json"
NODES, DEVICES = 6, 8
KINDS = ("gpu", "nic")
ROOT, RAIL, NUMA = "example.com/root", "example.com/rail", "example.com/numa"
LAG = 2.0
STALLED = 15.0  # seconds without a new pod that runs
# name: ({request: count}, pairs)
CLAIM_KINDS = {f"pair-{n}": ({"gpu": n, "nic": n}, f"gpu+nic by {ROOT}") for n in (1, 2, 3, 4)} | {
    "some": ({"gpu": 4, "nic": 1}, f"gpu+nic by {ROOT}"), "halves": ({"gpu": 4, "nic": 2}, f"gpu*2+nic by {NUMA}"),
    "gpus": ({"gpu": 3}, ""), "nics": ({"nic": 3}, "")}
OVER_TWO = f"left/gpu+right/nic by {ROOT}"


def parse(entry):
    """[(request, number)], attribute"""
    terms, attribute = entry.split(" by ")
    return [(term.split("*")[0].split("/")[-1], int(term.split("*")[1]) if "*" in term else 1) for term in terms.split("+")], attribute


def pairs_hold(entry, devices):
    """`devices`: request -> [{attribute: value}, or None where it was not published]"""
    terms, attribute = parse(entry)
    asked = min(len(devices[request]) // number for request, number in terms)
    counts = [(collections.Counter(d[attribute] for d in devices[request] if d), number) for request, number in terms]
    groups = sum(min(count[value] // number for count, number in counts) for value in set(counts[0][0]))
    return asked > 0 and groups >= asked


def rails_hold(members):
    """`members`: [[rail or None]]"""
    if any(rail is None for rails in members for rail in rails):
        return False
    most = max(len(rails) for rails in members)
    largest = [collections.Counter(rails) for rails in members if len(rails) == most]
    return all(one == largest[0] for one in largest) and all(not collections.Counter(rails) - largest[0] for rails in members)


class Watch(threading.Thread):
    """Hands every event of a list and the watch after it to `take`, in order."""

    def __init__(self, api, path, take):
        super().__init__(daemon=True)
        self.api, self.path, self.take, self.failure = api, path, take, ""
        listed = api.get(path)
        self.version = listed["metadata"]["resourceVersion"]
        for item in listed["items"]:
            take("ADDED", item)
        self.start()

    def run(self):
        while True:
            try:
                for line in self.api.watch(f"{self.path}?watch=true&resourceVersion={self.version}&timeoutSeconds=200", 300):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.failure = f"the watch of {self.path}: {event['object'].get('message')}"
                        return
                    self.version = event["object"]["metadata"]["resourceVersion"]
                    self.take(event["type"], event["object"])
            except (OSError, ValueError):
                time.sleep(0.1)


class History:
    """The versions of slices, and the marks of claims, by resource version: one counter for all objects."""

    def __init__(self):
        self.lock = threading.Lock()
        self.slices = collections.defaultdict(list)  # (driver, pool) -> [(version, when, {device: attributes})]
        self.claims = {}  # name -> the latest
        self.marks = {}  # (claim's uid, allocation) -> (version, when, claim)

    def take_slice(self, kind, item):
        devices = {} if kind == "DELETED" else {d["name"]: {name: next(iter(value.values())) for name, value in d["attributes"].items()}
                                                for d in item["spec"].get("devices", [])}
        with self.lock:
            self.slices[(item["spec"]["driver"], item["spec"]["pool"]["name"])].append(
                (int(item["metadata"]["resourceVersion"]), time.monotonic(), devices))

    def take_claim(self, kind, item):
        with self.lock:
            name, version = item["metadata"]["name"], int(item["metadata"]["resourceVersion"])
            if kind == "DELETED":
                self.claims.pop(name, None)
                return
            self.claims[name] = item
            if (key := self.key(item)) and MARK in item["metadata"].get("annotations", {}):
                self.marks.setdefault(key, (version, time.monotonic(), item))

    @staticmethod
    def key(claim):
        """Of a claim that is allocated."""
        allocation = claim.get("status", {}).get("allocation")
        return (claim["metadata"]["uid"], json.dumps(allocation["devices"]["results"], sort_keys=True)) if allocation else None

    def candidates(self, mark):
        """What was published of each pool when the claim was marked: for each combination of versions, the last ones first, request -> [attributes]."""
        version, when, claim = mark
        results = claim["status"]["allocation"]["devices"]["results"]
        with self.lock:
            pools = {}
            for driver, pool in {(r["driver"], r["pool"]) for r in results}:
                before = [one for one in self.slices[(driver, pool)] if one[0] < version]
                ends = [one[1] for one in before[1:]] + [when]
                pools[(driver, pool)] = [one[2] for one, end in zip(before, ends) if end >= when - LAG][::-1] or [{}]
        for choice in itertools.product(*pools.values()):
            published = dict(zip(pools, choice))
            devices = collections.defaultdict(list)
            for r in results:
                devices[r["request"]].append(published[(r["driver"], r["pool"])].get(r["device"]))
            yield devices


class Checker(threading.Thread):
    """Looks at the pods that are bound until it is stopped; records what is wrong."""

    def __init__(self, api, history):
        super().__init__(daemon=True)
        self.api, self.history, self.stopped = api, history, threading.Event()
        self.wrong, self.ran, self.removed, self.judged = [], {}, set(), set()
        self.pairs = self.late_pairs = self.rails = self.late_rails = self.looks = 0
        self.groups_judged = set()

    def run(self):
        while not self.stopped.wait(0.2):
            try:
                self.look()
            except OSError as failure:
                if not self.stopped.is_set():
                    self.wrong.append(f"the checker failed: {failure!r}")
                return

    def look(self):
        pods = [p for p in self.api.items(PODS) if p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]]
        pods = [p for p in pods if p["metadata"]["uid"] not in self.removed]
        time.sleep(0.3)  # for the watch of claims
        groups = collections.defaultdict(list)
        self.no_device_twice()
        for pod in pods:
            marks = self.marks_of(pod)
            if marks is None:
                continue
            self.judge_pairs(pod, marks)
            self.ran.setdefault(pod["metadata"]["name"], time.monotonic())
            if group := real_cluster.group_of(pod):
                groups[group].append((pod, marks))
            if pod["status"].get("phase") == "Pending":  # a kubelet would
                self.api.request("PATCH", f"{PODS}/{pod['metadata']['name']}/status", {"status": {"phase": "Running"}}, MERGE)
        for group, members in groups.items():
            self.judge_rails(group, members)
        self.looks += 1

    def no_device_twice(self):
        held = {}
        with self.history.lock:
            claims = list(self.history.claims.values())
        for claim in claims:
            if MARK not in claim["metadata"].get("annotations", {}):
                continue
            for device in rest.devices_of(claim):
                if device in held:
                    self.wrong.append(f"{device} is held by {held[device]} and {claim['metadata']['name']}")
                held[device] = claim["metadata"]["name"]

    def marks_of(self, pod):
        """By entry of the pod. None: it is gone meanwhile."""
        names = {one["name"]: one["resourceClaimName"] for one in pod["status"].get("resourceClaimStatuses", [])}
        marks = {}
        for entry in pod["spec"]["resourceClaims"]:
            with self.history.lock:
                claim = self.history.claims.get(names.get(entry["name"]))
                mark = self.history.marks.get(self.history.key(claim)) if claim else None
            if mark is None:
                status, now = self.api.request("GET", f"{PODS}/{pod['metadata']['name']}")
                if status == 200 and now["metadata"]["uid"] == pod["metadata"]["uid"] and pod["metadata"]["uid"] not in self.removed:
                    self.wrong.append(f"{pod['metadata']['name']} is bound, and its claim {entry['name']} ({names.get(entry['name'])}) has no mark")
                return None
            marks[entry["name"]] = mark
        return marks

    def judge_pairs(self, pod, marks):
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        if uid in self.judged:
            return
        self.judged.add(uid)
        asked = [(mark[2]["metadata"].get("annotations", {}).get(PAIRS), [mark]) for mark in marks.values()]
        asked.append((pod["metadata"].get("annotations", {}).get(PAIRS), list(marks.values())))
        for entry, of in asked:
            if not entry:
                continue
            self.pairs += 1
            holds = (pairs_hold(entry, {request: all_ for one in choice for request, all_ in one.items()})
                     for choice in itertools.product(*[list(self.history.candidates(mark)) for mark in of]))
            self.late_pairs += self.first(holds, lambda n=name, e=entry, m=of: self.wrong.append(
                f"{n}: {e}: does not hold for {[rest.devices_of(one[2]) for one in m]}"))

    def judge_rails(self, group, members):
        key = (group, frozenset(pod["metadata"]["uid"] for pod, _ in members))
        if key in self.groups_judged:
            return
        self.groups_judged.add(key)
        self.rails += 1
        rails = []
        for _, marks in members:
            rails.append([[d and d[RAIL] for d in choice["nic"]] for choice in self.history.candidates(marks["devices"])])
        holds = (rails_hold(choice) for choice in itertools.product(*rails))
        self.late_rails += self.first(holds, lambda: self.wrong.append(f"{group}: {[(p['metadata']['name'], r[:2]) for (p, _), r in zip(members, rails)]}"))

    @staticmethod
    def first(holds, otherwise):
        """1 if only an earlier version holds, 0 if the last one does."""
        for number, one in enumerate(itertools.islice(holds, 20_000)):
            if one:
                return 1 if number else 0
        otherwise()
        return 0


class Churn(threading.Thread):
    """Publishes other slices all the time. Rails of devices in use stay, as what is published of a running member counts."""

    def __init__(self, api, history, seed):
        super().__init__(daemon=True)
        self.api, self.history, self.random, self.stopped = api, history, random.Random(seed), threading.Event()
        self.state = {f"node-{i}": {k: {f"{k}-{d}": {"root": d, "rail": d} for d in range(DEVICES)} for k in KINDS} for i in range(NODES)}
        self.generation, self.changes = 1, 0

    def body(self, node, kind, withdrawn=()):
        devices = [{"name": name, "attributes": {ROOT: {"string": f"pci0000:{v['root']}0"}, RAIL: {"int": v["rail"]}, NUMA: {"int": int(name.split("-")[1]) // 4}}}
                   for name, v in self.state[node][kind].items() if name not in withdrawn]
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-{kind}"},
                "spec": {"driver": f"{kind}.example.com", "nodeName": node, "devices": devices,
                         "pool": {"name": node, "generation": self.generation, "resourceSliceCount": 1}}}

    def in_use(self, node, kind):
        with self.history.lock:
            return {device for claim in self.history.claims.values() for driver, pool, device in rest.devices_of(claim)
                    if driver == f"{kind}.example.com" and pool == node}

    def publish(self, node, kind, withdrawn=()):
        self.generation += 1
        body = self.body(node, kind, withdrawn)
        status, now = self.api.request("GET", f"{SLICES}/{node}-{kind}")
        if status != 200:
            self.api.request("POST", SLICES, body)
        else:
            body["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
            self.api.request("PUT", f"{SLICES}/{node}-{kind}", body)
        self.changes += 1

    def shuffle(self, node, kind, what, among):
        names = [name for name in self.state[node][kind] if name in among]
        values = [self.state[node][kind][name][what] for name in names]
        self.random.shuffle(values)
        for name, value in zip(names, values):
            self.state[node][kind][name][what] = value

    def run(self):
        while not self.stopped.wait(self.random.uniform(0.03, 0.2)):
            node, kind = f"node-{self.random.randrange(NODES)}", self.random.choice(KINDS)
            used = self.in_use(node, kind)
            free = set(self.state[node][kind]) - used
            dice, withdrawn = self.random.random(), ()
            if dice < 0.35:
                self.shuffle(node, kind, "root", free)
            elif dice < 0.6:
                self.shuffle(node, "nic", "rail", set(self.state[node]["nic"]) - self.in_use(node, "nic"))
                kind = "nic"
            elif dice < 0.8:
                withdrawn = used
            elif dice < 0.9:
                self.api.request("DELETE", f"{SLICES}/{node}-{kind}")
                self.stopped.wait(0.2)
            elif not any(self.in_use(node, k) for k in KINDS):
                for number, v in enumerate(self.state[node][kind].values()):
                    v["root"] = v["rail"] = number
            else:
                self.shuffle(node, kind, "root", set(self.state[node][kind]))  # of what is in use as well: that is no longer looked at
            self.publish(node, kind, withdrawn)


class Run:
    def __init__(self, options, mode, deny):
        self.options, self.mode, self.deny = options, mode, deny
        self.random = random.Random(options.seed)
        self.cluster = real_cluster.RealCluster(users=("tenant",), **real_cluster.pod_groups())
        self.managers, self.number, self.kills, self.overlaps, self.circles = [], 0, 0, 0, 0

    def __enter__(self):
        self.cluster.__enter__()
        try:
            return self.set_up()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def set_up(self):
        self.admin, self.kubeconfig = self.cluster.api("admin"), self.cluster.kubeconfig("admin")
        self.cluster.start_controllers("serviceaccount-controller,resourceclaim-controller")
        if self.mode == "gate":
            self.cluster.start("kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--secure-port=0", "--leader-elect=false")
        self.tenant, self.managers_kubeconfig = self.admin, self.kubeconfig
        if self.deny:
            self.install_chart()
        for kind in KINDS:
            self.admin.create(rest.RESOURCE + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": kind}, "spec": {
                "selectors": [{"cel": {"expression": f'device.driver == "{kind}.example.com"'}}]}})
        for name, (counts, pairs) in CLAIM_KINDS.items():
            requests = [{"name": r, "exactly": {"deviceClassName": r, "count": n}} for r, n in counts.items()]
            metadata = {"annotations": {PAIRS: pairs}} if pairs else {}
            self.tenant.create(TEMPLATES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
                                           "spec": {"metadata": metadata, "spec": {"devices": {"requests": requests}}}})
        self.history = History()
        self.churn = Churn(self.cluster.api("admin"), self.history, self.options.seed)
        for i in range(NODES):
            room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
            self.admin.create(CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}"}, "spec": {},
                                                "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}})
            for kind in KINDS:
                self.admin.create(SLICES, self.churn.body(f"node-{i}", kind))
        self.watches = [Watch(self.cluster.api("admin"), SLICES, self.history.take_slice), Watch(self.cluster.api("admin"), CLAIMS, self.history.take_claim)]
        self.checker = Checker(self.cluster.api("admin"), self.history)
        self.manage()
        return self

    def install_chart(self):
        """The manager gets its roles and its account; what creates pods, a tenant's."""
        helm = os.path.join(sandbox.ROOT, "build/tools/helm4")
        done = subprocess.run([helm, "install", "r", "charts/dra-controller-manager", "-n", NAME, "--create-namespace", "--set-json", 'policies.actions=["Deny"]',
                               "--set", f"scheduling.mode={self.mode}", *(["--set", "scheduling.names={ours}"] if self.mode == "bind" else [])],
                              cwd=sandbox.ROOT, env={**os.environ, "KUBECONFIG": self.kubeconfig}, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        rbac = "/apis/rbac.authorization.k8s.io/v1/"
        everything = [{"apiGroups": ["", "resource.k8s.io", "scheduling.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
        self.admin.create(rbac + "clusterroles", {"metadata": {"name": "all"}, "rules": everything})
        self.admin.create(rbac + "clusterrolebindings", {"metadata": {"name": "tenant"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all"},
                                                         "subjects": [{"kind": "User", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}]})
        self.tenant = self.cluster.api("tenant")
        self.managers_kubeconfig = self.cluster.kubeconfig("manager", self.cluster.account_token(NAME, NAME))
        forged = {"metadata": {"name": "probe", "annotations": {MARK: "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.cluster.wait_for(lambda: self.tenant.request("POST", PODS + "?dryRun=All", forged)[0] == 422, 60, "the policies to be in force")

    def __exit__(self, *failure):
        try:
            if failure[0] and self.managers:
                print(self.managers[-1].log()[-4000:])
            for one in self.managers:
                if one.process.poll() is None:
                    one.kill()
        finally:
            self.cluster.__exit__(*failure)

    def manage(self):
        self.number += 1
        arguments = ["--leader-elect=false", f"--scheduling={self.mode}"] + (["--scheduler-names=ours"] if self.mode == "bind" else [])
        made = managers.Manager(os.path.join(self.options.programs, NAME), self.managers_kubeconfig, os.path.join(self.cluster.folder, f"manager-{self.number}.log"), arguments,
                                plain=True)
        self.managers.append(made.start())

    def kill_one(self):
        """Every second time another one is at work already, and both believe that they lead."""
        old = [one for one in self.managers if one.process.poll() is None]
        if self.kills % 2:
            self.manage()
            time.sleep(self.random.uniform(0.3, 2.0))
            self.overlaps += 1
        for one in old:
            if one.process.poll() is not None:
                raise SystemExit(f"a manager ended by itself with {one.process.returncode}: {one.log()[-2000:]}")
            one.kill()
            self.kills += 1
        if all(one.process.poll() is not None for one in self.managers):
            time.sleep(self.random.uniform(0, 1.0))
            self.manage()

    # ---- what is asked

    def pod(self, name, entries, annotations=None, group=None):
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}},
                "spec": {"containers": [{"name": "c", "image": "example.test/none", "resources": {"claims": [{"name": e} for e in entries]}}],
                         "resourceClaims": [{"name": e, "resourceClaimTemplateName": t} for e, t in entries.items()]}}
        if group:
            real_cluster.join(made, group, 2)
        if self.mode == "gate":
            made["spec"]["schedulingGates"] = [{"name": GATE}]
        else:
            made["spec"]["schedulerName"] = "ours"
        return made

    def ask(self):
        pods, self.groups = [], {}
        for i in range(self.options.pods):
            kind = self.random.choice([*CLAIM_KINDS][:6] + ["over two"])
            if kind == "over two":
                pods.append(self.pod(f"pod-{i:02}", {"left": "gpus", "right": "nics"}, {PAIRS: OVER_TWO}))
            else:
                pods.append(self.pod(f"pod-{i:02}", {"devices": kind}))
        for g in range(self.options.groups):
            group, most = f"group-{g:02}", self.random.randint(1, 3)
            sizes = [most, most] + [self.random.randint(1, most) for _ in range(self.random.randint(0, 2))]
            on_group = self.random.random() < 0.5 and real_cluster.release() >= 36
            rails = {RAILS: f"devices/nic by {RAIL}"}
            if real_cluster.release() >= 36:
                self.tenant.create(GROUPS, {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": group, "annotations": rails if on_group else {}},
                                            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
            self.groups[group] = {f"{group}-{i}": self.pod(f"{group}-{i}", {"devices": f"pair-{n}"}, {} if on_group else rails, group) for i, n in enumerate(sizes)}
            pods += self.groups[group].values()
        self.random.shuffle(pods)
        self.tenant.many([lambda p=p: self.tenant.create(PODS, p) for p in pods])

    def remove(self, names):
        """They have run. Their devices are freed from now on."""
        for name in names:
            status, pod = self.admin.request("GET", f"{PODS}/{name}")
            if status == 200:
                self.checker.removed.add(pod["metadata"]["uid"])
        self.admin.many([lambda n=n: self.admin.request("DELETE", f"{PODS}/{n}?gracePeriodSeconds=0") for n in names])

    def finish_some(self, done, replaced):
        """A second after they are bound pods end; of a group first one member is replaced, and must fit those that run."""
        now, ran = time.monotonic(), self.checker.ran
        for name in [n for n in ran if n.startswith("pod-") and n not in done and now - ran[n] > 1]:
            done.add(name)
            self.remove([name])
        for group, members in self.groups.items():
            if group in done or any(now - ran.get(name, now) <= 1 for name in members):
                continue
            if group not in replaced:
                replaced.add(group)
                name = [*members][1]
                self.remove([name])
                new = members.pop(name)
                new = members.setdefault(name + "r", {**new, "metadata": {**new["metadata"], "name": name + "r"}})
                self.tenant.create(PODS, new)
            else:
                done.add(group)
                self.remove(members)

    def break_circle(self, done):
        """Groups with members that run can wait for each other's rails: no allocator ends that, since nobody is moved. As its owner would, makes one of them anew."""
        ran = self.checker.ran
        for group, members in self.groups.items():
            running = [name for name in members if name in ran]
            if group in done or not running or len(running) == len(members):
                continue
            self.remove([*members])
            self.groups[group] = {f"{name}n": {**pod, "metadata": {**pod["metadata"], "name": f"{name}n"}} for name, pod in members.items()}
            self.tenant.many([lambda p=p: self.tenant.create(PODS, p) for p in self.groups[group].values()])
            self.circles += 1
            return

    def through(self):
        begin = progress = time.monotonic()
        seen = 0
        self.checker.start()
        self.churn.start()
        self.ask()
        done, replaced, next_kill = set(), set(), begin + 2
        whole = self.options.pods + self.options.groups
        while len(done) < whole and not self.checker.wrong and time.monotonic() < begin + self.options.seconds:
            time.sleep(0.2)
            self.finish_some(done, replaced)
            if len(self.checker.ran) > seen:
                seen, progress = len(self.checker.ran), time.monotonic()
            elif time.monotonic() - progress > STALLED:
                progress = time.monotonic()
                self.break_circle(done)
            if self.kills < self.options.kills and time.monotonic() > next_kill:
                self.kill_one()
                next_kill = time.monotonic() + self.random.uniform(2, 5)
            for watch in self.watches:
                if watch.failure:
                    raise SystemExit(watch.failure)
        self.churn.stopped.set()
        self.checker.stopped.set()
        self.checker.join()
        c = self.checker
        print(f"{self.mode} mode{', policies at Deny' if self.deny else ''}: {len(done)} of {whole} pods and groups ran in {time.monotonic() - begin:.0f} s; {self.kills} kills, "
              f"{self.overlaps} of them beside another manager, {self.churn.changes} changes of slices, {self.circles} circles of groups broken; {c.pairs} pairs judged, {c.late_pairs} of them held only by a version "
              f"that was up to {LAG:.0f} s old; {c.rails} states of groups judged, {c.late_rails} so; {c.looks} looks, {len(c.wrong)} faults", flush=True)
        if c.wrong or len(done) < whole:
            waiting = [p["metadata"]["name"] for p in self.admin.items(PODS) if not p["spec"].get("nodeName")]
            raise SystemExit("; ".join(c.wrong[:5]) or f"still wait: {waiting}: {self.why(waiting[:3])}")

    def why(self, names):
        events = self.admin.items("/apis/events.k8s.io/v1/namespaces/default/events")
        return [(e["regarding"].get("name"), e["reason"], e.get("note", "")[:400]) for e in events if e["regarding"].get("name") in names][-8:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pods", type=int, default=50)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--kills", type=int, default=10, help="for each mode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=300, help="for each mode")
    parser.add_argument("--mode", nargs="+", choices=("bind", "gate", "bind-deny", "gate-deny"), default=["bind", "gate", "bind-deny", "gate-deny"])
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    print(f"seed {options.seed}", flush=True)
    for mode in options.mode:
        mode, _, deny = mode.partition("-")
        if deny and not os.access(os.path.join(sandbox.ROOT, "build/tools/helm4"), os.X_OK):
            print(f"{mode}-{deny}: not run, because build/tools has no Helm (scripts/fetch-test-tools)")
            continue
        with Run(options, mode, bool(deny)) as run:
            run.through()
    print("ok")


if __name__ == "__main__":
    main()
