#!/usr/bin/env python3
"""The chart's admission policies on a real kube-apiserver ($KUBEBUILDER_ASSETS): what they refuse to tenants and to the manager's own account, what
they allow, and that the manager works under them in every mode. Skipped without binaries or Helm.

Usage: policies_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

NAME = "dra-controller-manager"
GATE = "dra-controller-manager/allocation"
MARK = "dra-controller-manager/proven"
PODS = "/api/v1/namespaces/default/pods"
DRA = "/apis/resource.k8s.io/v1"
CLAIMS = DRA + "/namespaces/default/resourceclaims"
TEMPLATES = DRA + "/namespaces/default/resourceclaimtemplates"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def pod(name, gates=(), **metadata):
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"key": "x", "operator": "Exists"}]}
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def claim(name, **metadata):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, **metadata}, "spec": rest.template("x")["spec"]["spec"]}


def owner(made):
    return [{"apiVersion": "v1", "kind": "Pod", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"], "controller": True}]


class Checks:
    def __init__(self, cluster):
        self.cluster, self.count = cluster, 0
        self.admin, self.tenant, self.lifter = (cluster.api(user) for user in ("admin", "tenant", "lifter"))

    def allowed(self, client, *request):
        status, answer = client.request(*request)
        assert status in (200, 201, 202), f"{request[:2]}: HTTP {status}: {answer.get('message')}"
        self.count += 1
        return answer

    def refused(self, said, client, *request):
        status, answer = client.request(*request)
        assert status == 422 and said in answer.get("message", ""), f"{request[:2]}: HTTP {status}: {answer.get('message')} (wanted: {said})"
        self.count += 1


def set_up(cluster, helm):
    admin = cluster.api("admin")
    admin.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    everything = [{"apiGroups": ["", "resource.k8s.io", "events.k8s.io", "coordination.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    rbac = "/apis/rbac.authorization.k8s.io/v1/"
    admin.create(rbac + "clusterroles", {"metadata": {"name": "all"}, "rules": everything})
    for user in ("tenant", "lifter"):
        admin.create(rbac + "clusterrolebindings", {"metadata": {"name": user}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all"},
                                                    "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]})
    done = subprocess.run([helm, "install", "r", "charts/dra-controller-manager", "-n", NAME, "--create-namespace", "--set-json", 'policies.actions=["Deny"]',
                           "--set", "claimTemplates=own", "--set", "scheduling.mode=bind", "--set", "scheduling.names={ours}", "--set", "deviceTaintEviction=own",
                           "--set", "recreatePinnedPods=on"],
                          cwd=sandbox.ROOT, env={**os.environ, "KUBECONFIG": cluster.kubeconfig("admin")}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    admin.create(rbac + "clusterrolebindings", {"metadata": {"name": "lifters"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME + ":lift"},
                                                "subjects": [{"kind": "User", "name": "lifter", "apiGroup": "rbac.authorization.k8s.io"}]})
    # More permissions than its roles, so that the policy, not RBAC, refuses the following requests.
    admin.create(rbac + "clusterrolebindings", {"metadata": {"name": "stolen"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all"},
                                                "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}]})
    for policy in admin.items("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"):
        path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/" + policy["metadata"]["name"]
        warnings = admin.get(path).get("status", {}).get("typeChecking", {}).get("expressionWarnings", [])
        assert not warnings, warnings
    # A policy takes a moment to take effect.
    def in_force():
        status, _ = cluster.api("tenant").request("POST", PODS + "?dryRun=All", pod("probe", annotations={MARK: "x"}))
        return status == 422
    cluster.wait_for(in_force, 60, "the policies to be in force")


def tenants_write_no_marks(t):
    forged = {"annotations": {MARK: "uid/hash"}}
    said = "is written by dra-controller-manager alone"
    t.refused(said, t.tenant, "POST", PODS, pod("forged", **forged))
    t.refused(said, t.tenant, "POST", CLAIMS, claim("forged", **forged))
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "forged"},
                "spec": {"metadata": forged, "spec": rest.template("x")["spec"]["spec"]}}
    t.refused(said, t.tenant, "POST", TEMPLATES, template)
    t.allowed(t.tenant, "POST", CLAIMS, claim("plain", annotations={"example.com/mine": "1"}))
    t.refused(said, t.tenant, "PATCH", CLAIMS + "/plain", {"metadata": forged}, MERGE)
    t.refused(said, t.tenant, "PATCH", CLAIMS + "/plain?fieldManager=dra-controller-manager", {"metadata": forged}, MERGE)
    t.allowed(t.tenant, "PATCH", CLAIMS + "/plain", {"metadata": {"annotations": {"example.com/mine": "2"}, "labels": {"a": "b"}}}, MERGE)
    t.allowed(t.lifter, "PATCH", CLAIMS + "/plain", {"metadata": forged}, MERGE)
    t.refused(said, t.tenant, "PATCH", CLAIMS + "/plain", {"metadata": {"annotations": {MARK: "uid/other"}}}, MERGE)
    t.refused("proves an allocation that may be in use", t.tenant, "PATCH", CLAIMS + "/plain", {"metadata": {"annotations": {MARK: None}}}, MERGE)
    t.allowed(t.tenant, "PATCH", CLAIMS + "/plain", {"metadata": {"labels": {"a": "c"}}}, MERGE)
    t.allowed(t.tenant, "POST", PODS, pod("victim"))
    t.refused(said, t.tenant, "PATCH", PODS + "/victim/status", {"metadata": forged}, MERGE)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "victim", **forged}, "target": {"kind": "Node", "name": "n0"}}
    t.refused(said, t.tenant, "POST", PODS + "/victim/binding", binding)
    t.allowed(t.admin, "PATCH", PODS + "/victim/status", {"status": {"phase": "Pending"}}, MERGE)


def tenants_write_their_requests(t):
    """The annotations by which users ask for something are theirs, whoever copies them: controllers of workloads and of claims do."""
    with open(os.path.join(sandbox.ROOT, "charts/dra-controller-manager/files/annotations.yaml"), encoding="utf-8") as file:
        table = re.findall(r"^- \{name: (\S+), kinds: \[(.*)\]\}$", file.read(), re.MULTILINE)
    wanted = {name: "4" for name, kinds in table if {"Pod", "ResourceClaim"} & set(kinds.split(", "))}
    assert "dra-controller-manager/pairs" in wanted and "dra-controller-manager/prefer" in wanted, wanted
    t.allowed(t.tenant, "POST", PODS + "?dryRun=All", pod("asks", annotations=wanted))
    t.allowed(t.tenant, "POST", CLAIMS, claim("asks", annotations=wanted))
    t.allowed(t.tenant, "PATCH", CLAIMS + "/asks", {"metadata": {"annotations": {name: None for name in wanted}}}, MERGE)
    t.allowed(t.tenant, "DELETE", CLAIMS + "/asks")
    t.allowed(t.tenant, "POST", TEMPLATES + "?dryRun=All",
              {**rest.template("asks"), "spec": {"metadata": {"annotations": wanted}, **rest.template("asks")["spec"]}})
    t.refused("dra-controller-manager/proven is written by dra-controller-manager alone", t.tenant, "POST", CLAIMS,
              claim("both", annotations={**wanted, MARK: "uid/hash"}))


def tenants_lift_no_gates(t):
    t.allowed(t.tenant, "POST", PODS, pod("gated", [GATE, "example.com/other"]))
    said = "is lifted by dra-controller-manager"
    t.refused(said, t.tenant, "PATCH", PODS + "/gated", {"spec": {"schedulingGates": None}}, MERGE)
    t.refused(said, t.tenant, "PATCH", PODS + "/gated", [{"op": "remove", "path": "/spec/schedulingGates/0"}], JSON_PATCH)
    t.allowed(t.tenant, "PATCH", PODS + "/gated", [{"op": "remove", "path": "/spec/schedulingGates/1"}], JSON_PATCH)
    t.allowed(t.tenant, "PATCH", PODS + "/gated", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    t.allowed(t.lifter, "PATCH", PODS + "/gated", {"spec": {"schedulingGates": None}}, MERGE)
    t.allowed(t.tenant, "POST", PODS, pod("gated-2", [GATE]))
    t.allowed(t.tenant, "DELETE", PODS + "/gated-2")


def a_stolen_token_does_little(t, cluster):
    ours = cluster.api("ours", cluster.account_token(NAME, NAME))
    alone = "of a pod's spec dra-controller-manager changes only its gate"
    for name in ("a", "b"):
        t.allowed(t.tenant, "POST", PODS, pod(name, [GATE, "example.com/other"], labels={"x": "y"}))
    one = PODS + "/a"
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "evil"}]
    t.refused("changes only one that carries its gate", ours, "PATCH", PODS + "/victim", image, JSON_PATCH)
    lift = {"spec": {"schedulingGates": [{"name": "example.com/other"}]}}
    t.refused(alone, ours, "PATCH", one, [*image, {"op": "remove", "path": "/spec/schedulingGates/0"}], JSON_PATCH)
    t.refused(alone, ours, "PATCH", one, {"spec": {**lift["spec"], "nodeSelector": {"a": "b"}}}, MERGE)
    t.refused(alone, ours, "PATCH", one, {"spec": {**lift["spec"], "activeDeadlineSeconds": 1}}, MERGE)
    t.refused("only its own", ours, "PATCH", one, {"spec": {"schedulingGates": None}}, MERGE)
    t.refused("no labels", ours, "PATCH", one, {**lift, "metadata": {"labels": {"x": "z"}}}, MERGE)
    t.refused("no annotations", ours, "PATCH", one, {**lift, "metadata": {"annotations": {"x": "z"}}}, MERGE)
    t.allowed(ours, "PATCH", one, {"metadata": {"annotations": {"dra-controller-manager/leaving": "uid@5"}}}, MERGE)
    t.allowed(ours, "PATCH", one + "/status?dryRun=All", {"metadata": {"annotations": {"dra-controller-manager/history": "x"}}}, MERGE)
    t.refused("no annotations", ours, "PATCH", one + "/status", {"metadata": {"annotations": {"x": "z"}}}, MERGE)
    t.refused("is nothing that dra-controller-manager does", ours, "POST", PODS, pod("made"))
    t.refused("is nothing that dra-controller-manager does", ours, "PATCH", one + "/ephemeralcontainers",
              {"spec": {"ephemeralContainers": [{"name": "e", "image": "evil"}]}}, "application/strategic-merge-patch+json")
    t.refused("deletes only pods that use claims", ours, "DELETE", one)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    t.allowed(ours, "POST", one + "/eviction?dryRun=All", {**eviction, "deleteOptions": {"dryRun": ["All"]}})  # recreatePinnedPods=on
    t.refused("changes only claim names", ours, "PATCH", one + "/status", {"status": {"phase": "Failed"}}, MERGE)
    t.refused("creates only claims of pods", ours, "POST", CLAIMS, claim("made"))
    t.refused("deletes only claims of pods", ours, "DELETE", CLAIMS + "/plain")
    t.refused("of a claim's metadata", ours, "PATCH", CLAIMS + "/plain", {"metadata": {"finalizers": ["example.com/x"]}}, MERGE)
    t.refused("of a claim's metadata", ours, "PATCH", CLAIMS + "/plain", {"metadata": {"annotations": {"example.com/mine": None}}}, MERGE)
    a_put_does_no_more_than_a_patch(t, ours)
    of_status = "changes only claim names"
    for field, value in (("startTime", "2026-01-01T00:00:00Z"), ("podIPs", [{"ip": "10.0.0.1"}]), ("hostIP", "10.0.0.2"),
                         ("ephemeralContainerStatuses", [{"name": "e", "image": "i", "imageID": "", "ready": True, "restartCount": 0}]),
                         ("containerStatuses", [{"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}])):
        t.refused(of_status, ours, "PATCH", one + "/status", {"status": {field: value}}, MERGE)
    t.refused("no annotations", ours, "PATCH", one + "/status", {"metadata": {"annotations": {"x": "z"}}}, MERGE)
    t.allowed(ours, "PATCH", one + "/status?dryRun=All", {"status": {"nominatedNodeName": "n0"}}, MERGE)
    bindings_and_volumes(t, ours)
    events_leases_and_rules(t, ours)
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}]}}}
    t.allowed(ours, "PATCH", one, {"spec": {**lift["spec"], "affinity": affinity}}, MERGE)
    for name in ("a", "b", "victim", "gated"):
        t.allowed(t.admin, "DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    t.allowed(t.admin, "DELETE", CLAIMS + "/plain")


def a_put_does_no_more_than_a_patch(t, ours):
    """Claims that take no patch are written by PUT."""
    now = t.admin.get(CLAIMS + "/plain")

    def put(**metadata):
        return {**now, "metadata": {**now["metadata"], **metadata}}
    t.refused("no labels", ours, "PUT", CLAIMS + "/plain", put(labels={"x": "y"}))
    t.refused("of a claim's metadata", ours, "PUT", CLAIMS + "/plain", put(finalizers=["example.com/x"]))
    t.refused("of a claim's metadata", ours, "PUT", CLAIMS + "/plain", put(annotations={"x": "y"}))
    t.refused("no owners", ours, "PUT", CLAIMS + "/plain", put(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]))
    changed = {**now, "spec": {"devices": {"requests": [{"name": "other", "exactly": {"deviceClassName": "gpu"}}]}}}
    t.refused("field is immutable", ours, "PUT", CLAIMS + "/plain", changed)
    t.allowed(ours, "PUT", CLAIMS + "/plain?dryRun=All",
              put(finalizers=["resource.kubernetes.io/delete-protection"], annotations={**now["metadata"].get("annotations", {}), MARK: "uid/other"}))


def events_leases_and_rules(t, ours):
    nothing = "is nothing that dra-controller-manager does"
    events = "/apis/events.k8s.io/v1/namespaces/default/events"

    def event(name, controller):
        return {"metadata": {"name": name, "namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": controller,
                "reportingInstance": "x", "action": "Allocate", "reason": "Allocated", "type": "Normal", "note": "n",
                "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "a", "namespace": "default", "uid": "u"}}
    named = "writes only events that name it"
    t.refused(named, ours, "POST", events, event("forged", "kubelet"))
    core = {"metadata": {"name": "forged", "namespace": "default"}, "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"}, "reason": "Killing",
            "message": "m", "source": {"component": "kubelet"}, "type": "Normal"}
    t.refused(named, ours, "POST", "/api/v1/namespaces/default/events", core)
    t.allowed(ours, "POST", events, event("mine", NAME))
    t.allowed(ours, "PATCH", events + "/mine", {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}, MERGE)
    t.allowed(t.admin, "POST", events, event("theirs", "kubelet"))
    t.refused(named, ours, "PATCH", events + "/theirs", {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}, MERGE)
    t.refused(nothing, ours, "DELETE", events + "/theirs")
    for name in ("mine", "theirs"):
        t.allowed(t.admin, "DELETE", f"{events}/{name}")

    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases"
    only = "creates and updates only dra-controller-manager"
    t.refused(only, ours, "POST", leases, {"metadata": {"name": "other"}, "spec": {"holderIdentity": "x"}})
    t.refused(only, ours, "DELETE", f"{leases}/{NAME}")
    t.allowed(ours, "PATCH", f"{leases}/{NAME}?dryRun=All", {"spec": {"holderIdentity": "x"}}, MERGE)
    t.allowed(t.tenant, "POST", leases + "?dryRun=All", {"metadata": {"name": "other"}, "spec": {"holderIdentity": "x"}})

    configmaps, usage = f"/api/v1/namespaces/{NAME}/configmaps", {"metadata": {"name": "dra-controller-manager-usage"}, "data": {"usage.json": "{}"}}
    only = "of ConfigMaps dra-controller-manager creates and updates only"
    t.refused(only, ours, "POST", configmaps, {"metadata": {"name": "other"}, "data": {"usage.json": "{}"}})
    t.refused(only, ours, "POST", configmaps, {**usage, "data": {"usage.json": "{}", "other": "x"}})
    t.allowed(ours, "POST", configmaps, usage)
    t.allowed(ours, "PATCH", configmaps + "/dra-controller-manager-usage", {"data": {"usage.json": "{ }"}}, MERGE)
    t.refused(only, ours, "DELETE", configmaps + "/dra-controller-manager-usage")
    t.allowed(t.admin, "DELETE", configmaps + "/dra-controller-manager-usage")

    version = real_cluster.rules_version()
    rules = f"/apis/resource.k8s.io/{version}/devicetaintrules"
    t.allowed(t.admin, "POST", rules, {"metadata": {"name": "r"}, "spec": {"deviceSelector": {"driver": "d"}, "taint": {"key": "a", "effect": "NoSchedule"}}})
    if real_cluster.release() >= 35:  # before, rules have no status
        status_of_rules(t, ours, version, rules)
    t.refused(nothing, ours, "PATCH", rules + "/r", {"spec": {"taint": {"effect": "NoExecute"}}}, MERGE)
    t.refused(nothing, ours, "DELETE", rules + "/r")
    t.allowed(t.admin, "DELETE", rules + "/r")


def status_of_rules(t, ours, version, rules):
    def condition(kind):
        return {"status": {"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    t.refused("changes only the condition EvictionInProgress", ours, "PATCH", rules + "/r/status", condition("example.com/theirs"), MERGE)
    t.allowed(t.admin, "PATCH", rules + "/r/status", condition("example.com/theirs"), MERGE)
    t.refused("changes only the condition EvictionInProgress", ours, "PATCH", rules + "/r/status", condition("EvictionInProgress"), MERGE)  # removes theirs
    applied = {"apiVersion": f"resource.k8s.io/{version}", "kind": "DeviceTaintRule", "metadata": {"name": "r"}, **condition("EvictionInProgress")}
    t.allowed(ours, "PATCH", rules + "/r/status?fieldManager=x&force=true", applied, "application/apply-patch+yaml")


def bindings_and_volumes(t, ours):
    """Annotations and labels of a Binding become the pod's. Of volumes the manager writes what binds them."""
    t.allowed(t.tenant, "POST", PODS, pod("unbound"))

    def binding(**metadata):
        return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "unbound", **metadata}, "target": {"kind": "Node", "name": "n0"}}
    path = PODS + "/unbound/binding?dryRun=All"
    adds = "binds pods to nodes and adds neither labels nor annotations"
    t.refused(adds, ours, "POST", path, binding(annotations={"x": "y"}))
    t.refused(adds, ours, "POST", path, binding(labels={"x": "y"}))
    t.allowed(ours, "POST", path, binding())
    # A pod without a gate announces that it leaves its claims; a Binding of before the announcement is refused by the server itself.
    before = t.admin.get(PODS + "/unbound")["metadata"]
    announced = t.allowed(ours, "PATCH", PODS + "/unbound", {"metadata": {"uid": before["uid"], "resourceVersion": before["resourceVersion"],
                                                                         "annotations": {"dra-controller-manager/leaving": "c-uid@5"}}}, MERGE)["metadata"]
    status, answer = ours.request("POST", path, binding(uid=before["uid"], resourceVersion=before["resourceVersion"]))
    assert status == 409 and "Precondition failed: ResourceVersion" in answer["message"], (status, answer)
    t.allowed(ours, "POST", path, binding(uid=announced["uid"], resourceVersion=announced["resourceVersion"]))
    t.allowed(t.admin, "DELETE", f"{PODS}/unbound?gracePeriodSeconds=0")

    claims, volumes = "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/persistentvolumes"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"}
    made = t.allowed(t.tenant, "POST", claims, {"metadata": {"name": "data"}, "spec": spec})
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s", "persistentVolumeReclaimPolicy": "Retain",
              "csi": {"driver": "d", "volumeHandle": "h"}}
    t.allowed(t.admin, "POST", volumes, {"metadata": {"name": "v"}, "spec": volume})
    ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": made["metadata"]["uid"],
           "resourceVersion": made["metadata"]["resourceVersion"]}
    mark = {"dra-controller-manager/volume-binding": "n0 2026-01-01T00:00:00Z"}
    # What the product writes (controllers/allocation/bind/bind_volumes.cc).
    t.allowed(ours, "PATCH", claims + "/data", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n0", **mark}}}, MERGE)
    t.allowed(ours, "PATCH", claims + "/data", {"metadata": {"annotations": {"dra-controller-manager/volume-binding": None}}}, MERGE)
    t.allowed(ours, "PATCH", volumes + "/v",
              {"metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes", **mark}}, "spec": {"claimRef": ref}}, MERGE)
    t.allowed(ours, "PATCH", volumes + "/v", {"metadata": {"annotations": {"dra-controller-manager/volume-binding": None}}}, MERGE)
    # And nothing else.
    by = "changes only the annotations by which it binds them"
    for path in (claims + "/data", volumes + "/v"):
        t.refused("no labels", ours, "PATCH", path, {"metadata": {"labels": {"x": "y"}}}, MERGE)
        t.refused(by, ours, "PATCH", path, {"metadata": {"annotations": {"x": "y"}}}, MERGE)
        t.refused(by, ours, "PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        t.refused("is nothing that dra-controller-manager does", ours, "DELETE", path)
        t.refused("is nothing that dra-controller-manager does", ours, "PATCH", path + "/status", {"status": {"phase": "Lost"}}, MERGE)
    t.refused(by, ours, "PATCH", volumes + "/v", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n0"}}}, MERGE)
    t.refused("changes no spec of a PersistentVolumeClaim", ours, "PATCH", claims + "/data", {"spec": {"volumeName": "v"}}, MERGE)
    only = "sets only claimRef"
    t.refused(only, ours, "PATCH", volumes + "/v", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}, MERGE)
    t.refused(only, ours, "PATCH", volumes + "/v", {"spec": {"capacity": {"storage": "2Gi"}}}, MERGE)
    t.refused(only, ours, "PATCH", volumes + "/v", {"spec": {"claimRef": None}}, MERGE)
    t.refused(only, ours, "PATCH", volumes + "/v", {"spec": {"claimRef": {**ref, "name": "other", "uid": "other"}}}, MERGE)
    for path in (claims + "/data", volumes + "/v"):
        t.allowed(t.admin, "PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        t.allowed(t.admin, "DELETE", path)


def make_fleet(admin):
    admin.create(DRA + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}})
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    for node in ("n0", "n1"):
        admin.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
        status, answer = admin.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"allocatable": resources, "capacity": resources}}, MERGE)
        assert status == 200, answer
        admin.create(DRA + "/resourceslices", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node},
            "spec": {"driver": "gpu.example.com", "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"gpu-{i}"} for i in range(4)]}})


def large_claims_work(t, process):
    """Claims whose parameters are too large to keep, so that the server copies them, and have blanks, so that it takes no patch of their metadata."""
    for name, gated in (("large", False), ("large-gated", True)):
        made = claim(name)
        made["spec"]["devices"]["config"] = [
            {"opaque": {"driver": f"d{i}.example.com", "parameters": {"i": i, "n": 1.50, "text": "x" * size}}} for i, size in enumerate((10, 3000, 2, 3000))]
        t.allowed(t.tenant, "POST", CLAIMS, json.dumps(made))
        t.refused("field is immutable", t.tenant, "PATCH", f"{CLAIMS}/{name}", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        user = pod(name, [GATE] if gated else [])
        user["spec"].update(resourceClaims=[{"name": "gpu", "resourceClaimName": name}], **({} if gated else {"schedulerName": "ours"}))
        t.allowed(t.tenant, "POST", PODS, user)
        t.cluster.wait_for(lambda: (spec := t.admin.get(f"{PODS}/{name}")["spec"]) and (not spec.get("schedulingGates") if gated else spec.get("nodeName")), 30,
                           f"{name} to get its devices")
        now = t.admin.get(f"{CLAIMS}/{name}")
        config = now["status"]["allocation"]["devices"]["config"]
        assert [{"opaque": c["opaque"]} for c in config] == made["spec"]["devices"]["config"], config
        assert MARK in now["metadata"]["annotations"], now["metadata"]
        t.allowed(t.admin, "DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        t.allowed(t.admin, "DELETE", f"{CLAIMS}/{name}")
        # No other controller runs here that could remove the finalizer.
        t.cluster.wait_for(lambda: t.admin.request("GET", f"{CLAIMS}/{name}")[0] == 404, 60, f"{name} to go:\n" + process.log()[-2000:])


def the_manager_works_under_them(t, cluster, program):
    """Gate mode and bind mode with claims of its own: every write of allocation, claimtemplate, lifecycle and tainteviction."""
    admin = t.admin
    make_fleet(admin)
    token = cluster.account_token(NAME, NAME)
    # With its roles only.
    t.allowed(admin, "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/stolen")
    t.allowed(admin, "POST", TEMPLATES, {**rest.template("one-gpu"), "spec": {"metadata": {"annotations": {"example.com/a": "b"}}, **rest.template("one-gpu")["spec"]}})
    process = managers.Manager(program, cluster.kubeconfig("manager", token), os.path.join(cluster.folder, "manager.log"),
                               ["--scheduler-names=ours", f"--leader-elect-resource-namespace={NAME}", "--device-taint-eviction=own"]).start()
    try:
        process.wait_until("Leading", 30)
        for i in range(3):
            made = pod(f"bound-{i}")
            made["spec"].update(schedulerName="ours", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}])
            t.allowed(t.tenant, "POST", PODS, made)
            made = pod(f"gated-{i}", [GATE])
            made["spec"].update(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}])
            made["spec"]["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}}]}}
            t.allowed(t.tenant, "POST", PODS, made)

        large_claims_work(t, process)

        def settled():
            pods = {p["metadata"]["name"]: p for p in admin.items(PODS)}
            return all(pods[f"bound-{i}"]["spec"].get("nodeName") and not pods[f"gated-{i}"]["spec"].get("schedulingGates") for i in range(3))
        end = time.monotonic() + 60
        while not settled():
            assert time.monotonic() < end, process.log()[-3000:]
            time.sleep(0.2)
        # An eviction: the device of bound-0 gets a taint.
        name = next(c for c in admin.items(CLAIMS) if c["metadata"]["ownerReferences"][0]["name"] == "bound-0")
        result = name["status"]["allocation"]["devices"]["results"][0]
        at = int(result["device"].removeprefix("gpu-"))
        taint = [{"op": "add", "path": f"/spec/devices/{at}/taints", "value": [{"key": "broken", "effect": "NoExecute"}]}]
        t.allowed(admin, "PATCH", f"{DRA}/resourceslices/{result['pool']}", taint, JSON_PATCH)
        end = time.monotonic() + 30
        while not admin.get(PODS + "/bound-0")["metadata"].get("deletionTimestamp"):
            assert time.monotonic() < end, process.log()[-3000:]
            time.sleep(0.2)
        # The end: without a kubelet, pods are force-deleted. Claims of deleted pods are freed and deleted.
        for i in range(3):
            for kind in ("bound", "gated"):
                t.allowed(admin, "DELETE", f"{PODS}/{kind}-{i}?gracePeriodSeconds=0")
        end = time.monotonic() + 90
        while left := admin.items(CLAIMS):
            assert time.monotonic() < end, (left, process.log()[-3000:])
            time.sleep(0.5)
        metrics = process.metrics()
        refusals = [line for line in metrics.splitlines() if line.startswith("rest_client_requests_total") and ('code="403"' in line or 'code="422"' in line)]
        assert len(refusals) == 1 and 'method="PATCH"' in refusals[0] and refusals[0].endswith(" 2"), f"one of each claim that takes no patch: {refusals}"
        assert "dra_missing_permissions{" not in metrics
    finally:
        assert process.stop() == 0, process.log()


def helm_run(cluster, helm, arguments, ok=True):
    done = subprocess.run([helm, *arguments], cwd=sandbox.ROOT, env={**os.environ, "KUBECONFIG": cluster.kubeconfig("admin")}, capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout + done.stderr


def namespace(t, name, **labels):
    t.allowed(t.admin, "POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    t.allowed(t.admin, "POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})


def with_claim(name, **metadata):
    made = pod(name, **metadata)
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "one"}]
    return made


def dry(namespace_name):
    return f"/api/v1/namespaces/{namespace_name}/pods?dryRun=All"


def gates_of(made):
    return [gate["name"] for gate in made["spec"].get("schedulingGates", [])]


ALLOCATE = "dra-controller-manager/allocate"
UPGRADE = ["upgrade", "r", "charts/dra-controller-manager", "-n", NAME, "--reuse-values"]
TAINT = ["--set", "exclusive.mode=taint", "--set", "exclusive.taintKey=example.com/ours"]


def labels_opt_in(t, cluster, helm):
    """At admission: namespaces and pods by label, our gate with gates of others, scheduler's name, extended resources by class."""
    t.allowed(t.admin, "POST", DRA + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "ext"},
                                                        "spec": {"extendedResourceName": "example.com/gpu"}})
    helm_run(cluster, helm, [*UPGRADE, "--set", "optIn.mode=labels"])
    t.allowed(t.admin, "POST", "/api/v1/namespaces/kube-system/serviceaccounts", {"metadata": {"name": "default"}})
    namespace(t, "gate", **{ALLOCATE: "gate"})
    namespace(t, "bind", **{ALLOCATE: "bind"})
    namespace(t, "plain")
    cluster.wait_for(lambda: GATE in gates_of(t.tenant.request("POST", dry("gate"), with_claim("probe"))[1]), 60, "opting in to be in force")
    scheduler_of = lambda made: t.tenant.request("POST", dry("bind"), made)[1].get("spec", {}).get("schedulerName")  # noqa: E731
    asking = pod("probe")
    asking["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}}
    cluster.wait_for(lambda: scheduler_of(with_claim("probe")) == scheduler_of(asking) == "ours", 60, "the others, each of which comes into force by itself")
    post = lambda where, made: t.allowed(t.tenant, "POST", dry(where), made)  # noqa: E731
    assert gates_of(post("gate", {**with_claim("p"), "spec": {**with_claim("p")["spec"], "schedulingGates": [{"name": "example.com/other"}]}})) == ["example.com/other", GATE]
    already = with_claim("p")
    already["spec"]["schedulingGates"] = [{"name": GATE}]
    assert gates_of(post("gate", already)) == [GATE]
    assert gates_of(post("gate", pod("no-claims"))) == []
    assert gates_of(post("gate", {**with_claim("p"), "spec": {**with_claim("p")["spec"], "nodeName": "n0"}})) == []
    assert gates_of(post("gate", with_claim("p", labels={ALLOCATE: "none"}))) == []
    bound = post("bind", with_claim("p"))
    assert bound["spec"]["schedulerName"] == "ours" and gates_of(bound) == [], bound["spec"]
    other = with_claim("p")
    other["spec"]["schedulerName"] = "volcano"
    assert post("bind", other)["spec"]["schedulerName"] == "volcano"
    for resource, wanted in (("example.com/gpu", "ours"), ("deviceclass.resource.kubernetes.io/gpu", "ours"), ("example.com/nic", "default-scheduler")):
        asks = pod("p")
        asks["spec"]["containers"][0]["resources"] = {"limits": {resource: "1"}, "requests": {resource: "1"}}
        assert post("bind", asks)["spec"]["schedulerName"] == wanted, resource
        made = post("gate", asks)
        assert gates_of(made) == [] and made["spec"]["schedulerName"] == "default-scheduler"
    untouched = post("plain", with_claim("p"))
    assert gates_of(untouched) == [] and untouched["spec"]["schedulerName"] == "default-scheduler"
    assert gates_of(post("plain", with_claim("p", labels={ALLOCATE: "gate"}))) == [GATE]
    assert gates_of(t.allowed(t.admin, "POST", dry("kube-system"), with_claim("p", labels={ALLOCATE: "gate"}))) == []
    typo = {"metadata": {"name": "typo", "labels": {ALLOCATE: "yes"}}}
    cluster.wait_for(lambda: "other values do nothing" in t.admin.request("POST", "/api/v1/namespaces?dryRun=All", typo)[1].get("message", ""), 60,
                     "a label that means nothing to be refused")


def exclusivity_has_no_way_round(t, cluster, helm):
    """With a taint: claims that tolerate it are refused in namespaces that are not opted in; where they are allowed, every pod with claims is ours."""
    helm_run(cluster, helm, [*UPGRADE, *TAINT])
    elsewhere = with_claim("p", labels={ALLOCATE: "none"})
    said = "this namespace is opted in, so pods with claims are dra-controller-manager's"
    cluster.wait_for(lambda: said in t.tenant.request("POST", dry("gate"), elsewhere)[1].get("message", ""), 60, "exclusivity to be in force")
    volcano = with_claim("p")
    volcano["spec"]["schedulerName"] = "volcano"
    t.refused(said, t.tenant, "POST", dry("bind"), volcano)
    t.allowed(t.tenant, "POST", dry("gate"), volcano)  # at our gate first
    t.allowed(t.lifter, "POST", dry("gate"), elsewhere)
    t.allowed(t.tenant, "POST", dry("plain"), elsewhere)
    t.allowed(t.tenant, "POST", dry("gate"), pod("no-claims", labels={ALLOCATE: "none"}))
    t.allowed(t.tenant, "POST", dry("gate"), with_claim("p"))
    t.allowed(t.tenant, "POST", dry("bind"), with_claim("p"))
    wildcard_tolerations_are_refused(t, ["plain"], ["gate", "bind"])
    helm_run(cluster, helm, [*UPGRADE, "--set", "optIn.mode=off"])
    where = DRA + "/namespaces/gate/resourceclaims?dryRun=All"
    wildcard = claim("c")
    wildcard["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = [{"operator": "Exists"}]
    cluster.wait_for(lambda: t.tenant.request("POST", where, wildcard)[0] == 422, 60, "the label to mean nothing")
    wildcard_tolerations_are_refused(t, ["plain", "gate", "bind"], [])


def wildcard_tolerations_are_refused(t, refused, allowed):
    said = "would let kube-scheduler take devices"

    def tolerating(request, toleration):
        made = claim("c")
        inner = made["spec"]["devices"]["requests"][0]
        one = {**inner["exactly"], "tolerations": [toleration]}
        inner.clear()
        inner.update({"name": "gpu", "exactly": {**one, **request}} if request != "firstAvailable" else
                     {"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}, {"name": "b", **one}]})
        return made
    where = DRA + "/namespaces/{}/resourceclaims?dryRun=All"
    wildcard, ours, others = {"operator": "Exists"}, {"key": "example.com/ours", "operator": "Exists"}, {"key": "example.com/broken", "operator": "Exists"}
    for toleration in (wildcard, ours):
        for name in refused:
            t.refused(said, t.tenant, "POST", where.format(name), tolerating({}, toleration))
            t.refused(said, t.tenant, "POST", where.format(name), tolerating("firstAvailable", toleration))
            template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "c"}, "spec": {"spec": tolerating({}, toleration)["spec"]}}
            t.refused(said, t.tenant, "POST", DRA + f"/namespaces/{name}/resourceclaimtemplates?dryRun=All", template)
            old = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "c"},
                   "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu", "tolerations": [toleration]}]}}}
            status, answer = t.tenant.request("POST", f"/apis/resource.k8s.io/v1beta1/namespaces/{name}/resourceclaims?dryRun=All", old)
            assert status in (404, 422), answer  # an old version is also refused, if it is served
            t.allowed(t.lifter, "POST", where.format(name), tolerating({}, toleration))
        for name in allowed:
            t.allowed(t.tenant, "POST", where.format(name), tolerating({}, toleration))
    t.allowed(t.tenant, "POST", where.format("plain"), tolerating({}, others))
    t.allowed(t.tenant, "POST", where.format("plain"), claim("c"))


def without_mutating_policies(t, cluster, helm, kubectl):
    """On an older server: pods without the gate are refused, with the line to add."""
    text = helm_run(cluster, helm, ["template", "r", "charts/dra-controller-manager", "-n", NAME, "--show-only", "templates/opt-in.yaml", "--kube-version", "1.33.0",
                                    "--set", "optIn.mode=labels", "--api-versions", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"])
    if "kind: MutatingAdmissionPolicy\n" in text:
        print("this Helm takes its own API versions for the server's: the rendering for older servers was not tried")
        return
    done = subprocess.run([kubectl, "apply", "-f", "-"], input=text, env={**os.environ, "KUBECONFIG": cluster.kubeconfig("admin")}, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = "add to its spec: schedulingGates: [{name: dra-controller-manager/allocation}]"
    cluster.wait_for(lambda: said in t.tenant.request("POST", dry("gate"), with_claim("probe"))[1].get("message", ""), 60, "the refusal")
    gated = with_claim("p")
    gated["spec"]["schedulingGates"] = [{"name": GATE}]
    t.allowed(t.tenant, "POST", dry("gate"), gated)
    t.allowed(t.tenant, "POST", dry("plain"), with_claim("p"))
    t.allowed(t.tenant, "POST", dry("gate"), pod("no-claims"))


def main():
    helm = os.path.join(sandbox.ROOT, "build/tools/helm4")
    if not real_cluster.RealCluster.available() or not os.access(helm, os.X_OK) or not sandbox.find_kubectls():
        print("skipped: no etcd and kube-apiserver in $KUBEBUILDER_ASSETS, or no Helm and kubectl (scripts/fetch-test-tools)")
        return 77
    kubectl = sandbox.find_kubectls()[-1][1]
    program = os.path.abspath(os.path.join(sys.argv[1], NAME))
    with real_cluster.RealCluster(users=("tenant", "lifter"), **real_cluster.features(policies=True, rules=True)) as cluster:
        set_up(cluster, helm)
        t = Checks(cluster)
        tenants_write_no_marks(t)
        tenants_write_their_requests(t)
        tenants_lift_no_gates(t)
        a_stolen_token_does_little(t, cluster)
        the_manager_works_under_them(t, cluster, program)
        labels_opt_in(t, cluster, helm)
        exclusivity_has_no_way_round(t, cluster, helm)
        without_mutating_policies(t, cluster, helm, kubectl)
    print(f"{t.count} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
