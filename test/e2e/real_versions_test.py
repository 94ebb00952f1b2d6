#!/usr/bin/env python3
"""What docs/user/modes.md says of a Kubernetes release, on a real control plane ($KUBEBUILDER_ASSETS) of it, or of a newer one that emulates it
(DRA_REAL_EMULATES=1.35): the chart by Helm, opting in by label, gate and bind mode, a group, the policies, a taint of devices, kubectl dra, the uninstall.
Prints a line for each, with what the server has. Needs resource.k8s.io/v1 (1.34).

Usage: real_versions_test.py FOLDER_OF_PROGRAMS [--helm helm3|helm4] [--device-taints]     # --device-taints: with the feature gate DRADeviceTaints
"""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_chart_test as whole  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402
from real_chart_test import ALLOCATE, DRA, GATE, NAME, TAINT  # noqa: E402

NODES, DEVICES = 3, 4
PROVEN = "dra-controller-manager/proven"


def served(plane):
    """What matters here of what the server serves."""
    groups = {group["name"]: sorted(one["version"] for one in group["versions"]) for group in plane.admin.get("/apis")["groups"]}

    def serves(version, resource):
        status, found = plane.admin.request("GET", f"/apis/{version}")
        return status == 200 and any(one["name"] == resource for one in found["resources"])
    admission = "admissionregistration.k8s.io"
    mutating = [version for version in groups[admission] if serves(f"{admission}/{version}", "mutatingadmissionpolicies")]
    return groups["resource.k8s.io"], mutating


def pod(name, **spec):
    made = rest.pod(name, "one-gpu")
    made["spec"].update(spec)
    return made


def create(plane, where, *pods):
    for one in pods:
        plane.admin.create(f"/api/v1/namespaces/{where}/pods", one)


def opting_in(plane, mutating):
    """With mutating policies a pod gets the gate; without, it is refused with the line to add."""
    whole.namespace(plane, "mine", **{ALLOCATE: "gate"})
    bare = pod("bare")

    def answer():
        return plane.admin.request("POST", "/api/v1/namespaces/mine/pods?dryRun=All", bare)
    if "v1" in mutating:
        plane.wait_for(lambda: answer()[1].get("spec") and whole.ours(answer()[1]), 60, "opting in")
        return "a pod of an opted-in namespace gets the gate"
    plane.wait_for(lambda: answer()[0] == 422, 60, "the policy")
    text = answer()[1]["message"]
    assert f"add to its spec: schedulingGates: [{{name: {GATE}}}]" in text, text
    return "a pod of an opted-in namespace without the gate is refused, with the line to add"


def marks(plane, chart):
    """A tenant who may edit claims writes no mark of ours."""
    token = chart.account("tenant", "edit")
    plane.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "claims"}, "rules": [
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["*"]}]})
    plane.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "claims"}, "subjects": [
        {"kind": "ServiceAccount", "name": "tenant", "namespace": "default"}], "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "claims"}})
    tenant, claim = plane.api("tenant", token), {"metadata": {"name": "forged", "annotations": {PROVEN: "x/y"}}, "spec": rest.template("x")["spec"]["spec"]}
    path = f"{DRA}/namespaces/default/resourceclaims?dryRun=All"
    plane.wait_for(lambda: tenant.request("POST", path, {**claim, "metadata": {"name": "honest"}})[0] == 201, 30, "the role")
    # The server reads policies a moment after they are made.
    plane.wait_for(lambda: tenant.request("POST", path, claim)[0] == 422, 30, "the policy that refuses marks")
    text = tenant.request("POST", path, claim)[1]
    assert NAME in text["message"], text
    return "a tenant's mark is refused"


def started(plane, where, count):
    return lambda: whole.running(plane, where) == count


def gate_mode(plane, chart):
    manager = chart.manager()
    try:
        create(plane, "mine", *[pod(f"g-{i}", schedulingGates=[{"name": GATE}]) for i in range(4)])
        plane.wait_for(started(plane, "mine", 4), 90, "pods with the gate:\n" + manager.log()[-1500:])
        assert max(whole.claims_by_device(plane).values()) == 1
        assert 'code="403"' not in manager.metrics()
    finally:
        assert manager.stop() == 0
    return "4 pods with the gate run, on devices of their own"


def bind_mode(plane, chart, programs):
    """Beside the 4 pods of gate mode, 8 devices: pods, a group of three, and one that waits, which kubectl dra explains."""
    chart.upgrade({"scheduling.mode": "bind", "scheduling.names": ["ours"]})
    whole.namespace(plane, "bound")
    manager = chart.manager()
    try:
        create(plane, "bound", pod("single", schedulerName="ours"))
        # A Job with a place for two of its three pods at first: none is bound until the third one fits.
        for name in ("a", "b"):
            create(plane, "bound", *[pod(f"{name}-{i}", schedulerName="ours") for i in range(4 if name == "a" else 1)])
        plane.wait_for(started(plane, "bound", 6), 90, "pods that are bound here:\n" + manager.log()[-1500:])
        template = pod("x", schedulerName="ours", restartPolicy="OnFailure")
        template["metadata"] = {"annotations": {"dra-controller-manager/group": "3"}}
        plane.admin.create("/apis/batch/v1/namespaces/bound/jobs", {"metadata": {"name": "job"}, "spec": {
            "parallelism": 3, "completions": 3, "template": {"metadata": template["metadata"], "spec": template["spec"]}}})
        plane.wait_for(lambda: len(whole.pods_of(plane, "bound")) == 9, 60, "the Job's pods")
        waits = [p for p in whole.pods_of(plane, "bound") if p["metadata"]["name"].startswith("job-")]
        assert len(waits) == 3 and not any(p["spec"].get("nodeName") for p in waits), "a part of a group is bound"
        plane.admin.request("DELETE", "/api/v1/namespaces/bound/pods/b-0?gracePeriodSeconds=0")
        plane.wait_for(started(plane, "bound", 8), 90, "the group:\n" + manager.log()[-1500:])
        create(plane, "bound", pod("late", schedulerName="ours"))
        plane.wait_for(lambda: "in use" in str([p["status"].get("conditions") for p in whole.pods_of(plane, "bound")]), 60, "the reason why a pod waits")
        waits, = (p["metadata"]["name"] for p in whole.pods_of(plane, "bound") if not p["spec"].get("nodeName"))
        text = ask(plane, programs, 1, "explain", f"pod/{waits}", "-n", "bound")
        assert "in use" in text, text
        doctor = ask(plane, programs, None, "doctor")
        assert "manager fine" in doctor and "mode bind" in doctor, doctor
        assert "gpu.example.com" in ask(plane, programs, 0, "top", "nodes") and "bound/single" in ask(plane, programs, 0, "who", "pod/single", "-n", "bound")
        assert max(whole.claims_by_device(plane).values()) == 1 and 'code="403"' not in manager.metrics()
    finally:
        assert manager.stop() == 0
    plane.admin.request("DELETE", "/apis/batch/v1/namespaces/bound/jobs/job?propagationPolicy=Background")
    for where in ("bound", "mine"):
        plane.admin.request("DELETE", f"/api/v1/namespaces/{where}/pods")
    plane.wait_for(lambda: not plane.admin.items(DRA + "/resourceclaims"), 120, "claims to go")
    return "pods are bound, and a group of 3 at once when its third pod fits; kubectl dra explains the one that waits; doctor, top and who answer"


def ask(plane, programs, status, verb, *words):
    done = subprocess.run([os.path.join(programs, "kubectl-dra"), verb, "--kubeconfig", plane.kubeconfig("admin"), *words], capture_output=True, text=True, timeout=60,
                          check=False)
    assert status is None or done.returncode == status, (verb, words, done)
    return " ".join((done.stdout + done.stderr).split())


def taints(plane, chart):
    """With exclusive.mode=taint a pod of ours runs and another does not, where the server keeps taints of devices; where it drops them, both do."""
    plane.publish(NODES, DEVICES, taint=True)
    kept = any(device.get("taints") for one in plane.admin.items(DRA + "/resourceslices") for device in one["spec"]["devices"])
    chart.upgrade({"scheduling.mode": "gate", "scheduling.names": [], "exclusive.mode": "taint", "exclusive.taintKey": TAINT})
    manager = chart.manager()
    try:
        whole.namespace(plane, "theirs")
        create(plane, "theirs", pod("theirs"))
        create(plane, "mine", pod("ours", schedulingGates=[{"name": GATE}]))
        plane.wait_for(started(plane, "mine", 1), 60, "our pod:\n" + manager.log()[-1500:])
        others = whole.running(plane, "theirs")
        assert not (kept and others), "a pod of others runs on a tainted device"
    finally:
        assert manager.stop() == 0
    return "taints of devices keep pods of others away" if kept else "the server drops taints of devices (gate DRADeviceTaints is off): exclusive.mode=taint keeps nobody away"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=os.path.abspath)
    parser.add_argument("--helm", choices=["helm3", "helm4"], default="helm4")
    parser.add_argument("--device-taints", action="store_true")
    options = parser.parse_args()
    helm = os.path.join(sandbox.ROOT, "build/tools", options.helm)
    if not real_cluster.RealCluster.available(whole=True) or not os.access(helm, os.X_OK):
        print("skipped: no whole control plane in $KUBEBUILDER_ASSETS, or no Helm (scripts/fetch-test-tools)")
        return 77
    gates = ("--feature-gates=DRADeviceTaints=true", ) if options.device_taints else ()
    with whole.Plane(users=("system:kube-scheduler", "system:kube-controller-manager"), gates=gates) as plane:
        plane.add_nodes(NODES, DEVICES)
        versions, mutating = served(plane)
        version = plane.admin.get("/version")
        emulated = f", emulating {os.environ['DRA_REAL_EMULATES']}" if os.environ.get("DRA_REAL_EMULATES") else ""
        print(f"{version['gitVersion']}{emulated}: resource.k8s.io in {', '.join(versions)}; MutatingAdmissionPolicy in {', '.join(mutating) or 'no version'}", flush=True)
        chart = whole.Chart(plane, helm, os.path.join(options.programs, NAME))
        chart.command("install", "r", whole.CHART, "--create-namespace", "--set", "optIn.mode=labels", "--set-json", 'policies.actions=["Deny"]')
        chart.scraper = chart.account("scraper", NAME + ":metrics-reader")
        passed = 0
        for check in (lambda: opting_in(plane, mutating), lambda: marks(plane, chart), lambda: gate_mode(plane, chart),
                      lambda: bind_mode(plane, chart, options.programs), lambda: taints(plane, chart)):
            print("  " + check(), flush=True)
            passed += 1
        notes = chart.command("uninstall", "r", "--no-hooks")
        assert re.search("uninstalled", notes), notes
    print(f"{passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
