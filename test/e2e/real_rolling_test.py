#!/usr/bin/env python3
"""A rolling update on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler), from an older manager to the
one that was built and back: $DRA_OLDER_MANAGER names the older program. Skipped without either.

Both run; one leads. Pods are in every phase when the leader ends (by SIGTERM, or killed): an admission policy holds some without a claim's devices, without the
proof, proven but not started, leaving a node that is gone; others wait for room, for the last member of their group, or have started. Then the policy goes, pods
end and new ones come, and the other version leads. All pods start, none of them later than a takeover takes; no device has two pods; what had started keeps its
devices; no event reports a foreign writer.

Usage: real_rolling_test.py FOLDER_OF_PROGRAMS [--mode bind|gate] [--rounds N]
"""
import argparse
import collections
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
from real_leaving_test import ADMISSION, CLAIMS, CORE, GATE, LEAVING, PODS, PROVEN, Run, gang_member  # noqa: E402

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/dra-controller-manager"
MERGE = "application/merge-patch+json"
# What a manager would report if it took the other version's writes for those of a stranger.
STRANGER = ("AllocationReplaced", "DeviceConflict", "DeviceOverCommitted", "AnnouncementIgnored", "ClaimTemplatesDisputed")
# A leader that ends gives up its Lease, and the other one tries every 2 s; one that is killed leaves it for 15 s. The rest is for writes on a busy machine.
TAKEOVER = {"stopped": 12.0, "killed": 30.0}
SINGLES, ROOM, SMALL = 3, 10, 2  # pods of each phase; nodes of two devices; nodes in the pool where pods wait for room

HELD = {
    "claimed": 'request.resource.resource == "resourceclaims" && request.?subResource.orValue("") == "status"',
    "allocated": 'request.resource.resource == "resourceclaims" && request.operation == "UPDATE" && request.?subResource.orValue("") == "" && '
                 f'object.metadata.?annotations["{PROVEN}"].hasValue() && !oldObject.metadata.?annotations["{PROVEN}"].hasValue()',
    "proven|gang|leaving": 'request.resource.resource == "pods" && (request.?subResource.orValue("") == "binding" || request.operation == "UPDATE" && '
                           'request.?subResource.orValue("") == "" && oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0)',
    "leaving ": 'request.resource.resource == "resourceclaims" && request.?subResource.orValue("") == "status" && '
                'oldObject.status.?reservedFor.orValue([]).size() > object.status.?reservedFor.orValue([]).size()',
}


def policy(round_):
    """Refuses the writes that would take a pod of a phase farther. One of each round, since a policy is in force some time after it is made."""
    rules = [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": resources}
             for group, resources in (("", ["pods", "pods/binding"]), ("resource.k8s.io", ["resourceclaims", "resourceclaims/status"]))]
    held = [f'(request.name.matches("^r{round_}-({phases.strip()})-") && {condition})' for phases, condition in HELD.items()]
    return {"metadata": {"name": "hold"}, "spec": {
        "matchConstraints": {"resourceRules": rules}, "validations": [{"expression": f"!({one})", "message": "held"} for one in held]}}


class Watcher(threading.Thread):
    """Every 50 ms: no device has two pods that have started, and what has started keeps its devices."""

    def __init__(self, api, gated):
        super().__init__(daemon=True)
        self.api, self.gated, self.stopped = api, gated, threading.Event()
        self.first, self.began, self.problems, self.overlaps, self.looks = {}, {}, [], 0, 0

    def started(self, pod):
        return pod["spec"].get("nodeName") or self.gated and not pod["spec"].get("schedulingGates")

    def run(self):
        while not self.stopped.wait(0.05):
            try:
                # Pods first: a pod that has started is then seen with the claim that it started with, or a newer one.
                pods, claims = self.api.items(PODS), self.api.items(CLAIMS)
            except (OSError, SystemExit):
                continue
            self.look(pods, claims)

    def look(self, pods, claims):
        self.looks += 1
        going = {p["metadata"]["uid"]: p["metadata"]["name"] for p in pods if self.started(p) and p.get("status", {}).get("phase") not in ("Succeeded", "Failed")}
        holders, everybody = collections.defaultdict(set), collections.Counter()
        for claim in claims:
            devices = tuple(rest.devices_of(claim))
            everybody.update(devices)
            for user in (claim.get("status") or {}).get("reservedFor", []):
                if user["uid"] in going:
                    for device in devices:
                        holders[device].add(going[user["uid"]])
                    self.began.setdefault(user["uid"], time.monotonic())
                    if self.first.setdefault(user["uid"], devices) != devices:
                        self.problems.append(f"{going[user['uid']]} started with {self.first[user['uid']]} and has {devices}")
        self.overlaps += any(count > 1 for count in everybody.values())
        self.problems += [f"{device} has {sorted(names)}" for device, names in holders.items() if len(names) > 1]


class Rolling(Run):
    """A cluster with two managers, of which one leads."""

    def __init__(self, options, older, mode):
        super().__init__(options)
        self.mode, self.gated = mode, mode == "gate"
        self.programs_of = {"older": older, "built": os.path.join(options.programs, "dra-controller-manager")}
        self.managers, self.leader, self.runs, self.waiting = {}, None, 0, set()
        if not self.gated:  # the managers make the claims
            self.controllers = "serviceaccount-controller"

    def start(self, version):
        self.runs += 1
        made = managers.Manager(self.programs_of[version], self.kubeconfig, os.path.join(self.cluster.folder, f"{version}-{self.runs}.log"),
                                [f"--scheduling={self.mode}", f"--claim-templates={'observe' if self.gated else 'own'}", "-v=4",
                                 *([] if self.gated else ["--scheduler-names=ours"])], plain=True)
        self.managers[version] = made.start()
        made.wait_until("Starting", 30)

    def begin(self, first):
        self.start(first)
        self.managers[first].wait_until("Became leader", 60)
        self.leader, self.manager = first, self.managers[first]

    def take_over(self, how):
        """Ends the leader; the other version, which runs already, leads. Returns when the leader was gone."""
        following = "built" if self.leader == "older" else "older"
        self.start(following)
        # The follower's stores are filled: its probe says so.
        self.managers[following].wait_until("Stores are in step", 60)
        ended = time.monotonic()
        if how == "killed":
            self.managers[self.leader].kill()
        else:
            assert self.managers[self.leader].stop() == 0
        del self.managers[self.leader]
        self.leader, self.manager = following, self.managers[following]
        return ended

    def __exit__(self, *failure):
        self.manager = None
        for version, one in self.managers.items():
            if failure[0]:
                print(f"--- {version}\n{one.log()[-5000:]}")
            one.kill()
        super().__exit__(*failure)

    def pod(self, name, pool, **metadata):
        made = rest.pod(name, "one", **metadata)
        return self.ours(made, pool)

    def ours(self, pod, pool):
        pod["spec"].update({"schedulingGates": [{"name": GATE}]} if self.gated else {"schedulerName": "ours"}, nodeSelector={"pool": pool})
        return pod

    def annotated(self, kind, key, prefix):
        """Names of pods (or of the pods of claims) with this prefix whose object bears the annotation."""
        found = self.claims() if kind == "claims" else self.pods()
        return {name for name, one in found.items() if name.startswith(prefix) and key in (one["metadata"].get("annotations") or {})}

    def allocated(self, prefix):
        return {name for name, claim in self.claims().items() if name.startswith(prefix) and rest.devices_of(claim)}

    def started(self):
        return {n for n, p in self.pods().items() if (not p["spec"].get("schedulingGates") if self.gated else p["spec"].get("nodeName"))}

    def delete(self, path, grace=0):
        self.api.request("DELETE", path, {"gracePeriodSeconds": grace})


def furnish(run, round_):
    """Nodes of this round, one pool for each phase, so that no phase takes another's devices."""
    calls = []
    for pool, count in (("free", ROOM), ("small", SMALL // 2), ("leaving", 2 * SINGLES), ("gang", 4)):
        calls += [lambda n=f"r{round_}-{pool}-{i}", p=pool: run.add_node(n, {"pool": f"r{round_}-{p}"}) for i in range(count)]
    run.api.many(calls)


def hold_round(run, round_):
    at, api, wait = f"r{round_}-", run.api, run.cluster.wait_for
    api.create(ADMISSION + "/validatingadmissionpolicies", policy(round_))
    api.create(ADMISSION + "/validatingadmissionpolicybindings", {"metadata": {"name": "hold"}, "spec": {"policyName": "hold", "validationActions": ["Deny"]}})
    probe = f"{at}proven-probe"
    api.create(PODS, {"metadata": {"name": probe}, "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "example.test/none"}]}})
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": probe}, "target": {"kind": "Node", "name": f"{at}free-0"}}
    wait(lambda: run.held("POST", f"{PODS}/{probe}/binding", binding), 60, "the policy")
    run.delete(f"{PODS}/{probe}")


def fill(run, round_):
    """Pods in every phase; returns the names of those that have to start in the end."""
    at, api, wait = f"r{round_}-", run.api, run.cluster.wait_for
    # As many as the small pool has devices run there; as many more wait for room.
    first = [run.pod(f"{at}started-{i}", f"{at}free") for i in range(SINGLES)] + [run.pod(f"{at}ends-{i}", f"{at}small") for i in range(SMALL)]
    api.many([lambda p=p: api.create(PODS, p) for p in first])
    wait(lambda: {p["metadata"]["name"] for p in first} <= run.started(), 90, "pods that start")
    hold_round(run, round_)
    pods = [run.pod(f"{at}{phase}-{i}", f"{at}{'leaving' if phase == 'leaving' else 'free'}")
            for phase in ("claimed", "allocated", "proven", "leaving") for i in range(SINGLES)]
    pods += [run.pod(f"{at}waits-{i}", f"{at}small") for i in range(SMALL)]
    pods += [run.ours(gang_member(f"{at}gang-{i}", f"{at}gang", 3, lambda _: None), f"{at}gang") for i in range(3)]
    pods += [run.ours(gang_member(f"{at}late-{i}", f"{at}late", 3, lambda _: None), f"{at}gang") for i in range(2)]
    api.many([lambda p=p: api.create(PODS, p) for p in pods])
    wait(lambda: len(run.annotated("claims", PROVEN, f"{at}proven")) == SINGLES, 60, "proofs")
    wait(lambda: len(run.annotated("claims", PROVEN, f"{at}gang")) == 3, 60, "the proofs of a group")
    wait(lambda: len(run.allocated(f"{at}allocated")) == SINGLES, 60, "allocations without a proof")
    wait(lambda: len([n for n in run.claims() if n.startswith(f"{at}claimed")]) == SINGLES, 60, "claims without devices")
    wait(lambda: len(run.annotated("claims", PROVEN, f"{at}leaving")) == SINGLES, 60, "proofs on nodes that will go")
    # Their nodes go: a version that knows the announcement in this mode makes it; the reservation stays, by the policy.
    for node in {rest.devices_of(c)[0][1] for n, c in run.claims().items() if n.startswith(f"{at}leaving")}:
        run.delete(f"{CORE}/nodes/{node}")
        run.delete(f"{rest.RESOURCE}/resourceslices/{node}")
    known = run.leader == "built" or run.gated
    end = time.monotonic() + (60 if known else 5)
    while not (announced := run.annotated("pods", LEAVING, f"{at}leaving")) and time.monotonic() < end:
        time.sleep(0.1)
    assert announced or not known, "no announcement of leaving"
    assert not run.annotated("claims", PROVEN, f"{at}allocated") and not run.allocated(f"{at}claimed")
    return {p["metadata"]["name"] for p in first + pods} | {f"{at}late-2"} | {f"{at}new-{i}" for i in range(SINGLES)}


def round_of(run, watcher, round_, how):
    """One takeover; returns a line about it."""
    at, api, wait = f"r{round_}-", run.api, run.cluster.wait_for
    furnish(run, round_)
    expected = fill(run, round_)
    leaving = len(run.annotated("pods", LEAVING, f"{at}leaving"))
    before, known = run.leader, set(run.started())
    lease = api.get(LEASE)["metadata"].get("annotations") or {}
    ended = run.take_over(how)
    run.release()
    for i in range(SMALL):
        run.patch(f"{PODS}/{at}ends-{i}/status", {"status": {"phase": "Succeeded"}})
    late = [run.ours(gang_member(f"{at}late-2", f"{at}late", 3, lambda _: None), f"{at}gang")] + [run.pod(f"{at}new-{i}", f"{at}free") for i in range(SINGLES)]
    api.many([lambda p=p: api.create(PODS, p) for p in late])
    # An older version may not know how to take a pod from its node in bind mode: such pods wait for the other version, not longer.
    may_wait = {n for n in expected if n.startswith(f"{at}leaving")} if run.leader == "older" and not run.gated else set()
    expected |= run.waiting
    when = {}

    def all_started():
        for name in run.started() & expected - known:
            when.setdefault(name, time.monotonic() - ended)
        return expected - may_wait <= run.started()
    wait(all_started, TAKEOVER[how] + 60, "all pods to start")
    run.waiting = expected - run.started()
    took = collections.defaultdict(float)
    for name, seconds in when.items():
        took[name.split("-")[1] + (" of the round before" if not name.startswith(at) else "")] = max(took[name.split("-")[1]], seconds)
    pods, claims = run.pods(), run.claims()
    nodes = {n["metadata"]["name"] for n in api.items(CORE + "/nodes")}
    for name in expected - run.waiting:
        if pods[name].get("status", {}).get("phase") == "Succeeded":
            continue
        node, devices = pods[name]["spec"].get("nodeName"), rest.devices_of(claims[name])
        assert devices and any(r["uid"] == pods[name]["metadata"]["uid"] for r in claims[name]["status"]["reservedFor"]), (name, claims[name].get("status"))
        assert node is None or devices[0][1] == node, (name, node, devices)
        assert "leaving" not in name or devices[0][1] in nodes, (name, devices)
    after = api.get(LEASE)["metadata"].get("annotations") or {}
    print(f"{run.mode} mode, {before} {how}, {run.leader} leads: {len(when)} pods started after the leader had gone, the last of each phase after "
          f"{', '.join(f'{phase} {seconds:.1f} s' for phase, seconds in sorted(took.items(), key=lambda one: one[1]))}; {leaving} pods had announced that they "
          f"leave, {len(run.waiting)} wait for the other version; the Lease said {lease.get('dra-controller-manager/version', 'no version')}, then {after.get('dra-controller-manager/version', 'no version')}",
          flush=True)
    slow = {phase: seconds for phase, seconds in took.items() if seconds > TAKEOVER[how]}
    assert not slow, f"later than a takeover takes ({TAKEOVER[how]:.0f} s): {slow}"
    assert not watcher.problems, watcher.problems[:5]


def rolling(options, older, mode):
    with Rolling(options, older, mode) as run:
        if run.gated:
            run.cluster.start("kube-scheduler", f"--kubeconfig={run.kubeconfig}", "--secure-port=0", "--leader-elect=false")
        watcher = Watcher(run.cluster.api("admin"), run.gated)
        run.begin("older")
        watcher.start()
        for round_ in range(options.rounds):
            # older to built and back by a rollout, then both by a crash.
            round_of(run, watcher, round_, "stopped" if round_ % 4 < 2 else "killed")
        watcher.stopped.set()
        watcher.join()
        assert not watcher.problems, watcher.problems[:5]
        strange = collections.Counter((e["reason"], e.get("note", "")[:160]) for e in run.api.items(EVENTS) if e["reason"] in STRANGER)
        assert not strange, strange
        run.no_device_twice()
        print(f"{mode} mode: {watcher.looks} looks at all pods and claims; no device had two pods that had started; {watcher.overlaps} looks saw a device in two "
              "claims, of which none had started", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--mode", choices=("bind", "gate"))
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    older = os.environ.get("DRA_OLDER_MANAGER", "")
    if not real_cluster.RealCluster.available(whole=True) or not os.access(older, os.X_OK):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler, or DRA_OLDER_MANAGER no program")
        sys.exit(77)
    for mode in (options.mode, ) if options.mode else ("bind", "gate"):
        rolling(options, os.path.abspath(older), mode)
    print("ok")


if __name__ == "__main__":
    main()
