#!/usr/bin/env python3
"""Several features at once, and changes during other changes, in the sandbox with kubectl: a pod with an extended resource, a claim with binding
conditions and a shared claim, under a taint rule; a rule that is deleted while it evicts; a StatefulSet that is scaled while its claims are deleted; a quota
that is used up half-way. Usage: together_test.py FOLDER_OF_PROGRAMS"""
import collections
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402
from workloads_test import Checks, workload  # noqa: E402

FLEET = """
kind: Fleet
drivers:
  fabric.example.com: {bindingSeconds: 1}
deviceClasses:
- {name: gpu.example.com, selectors: ['device.driver == "gpu.example.com"'], extendedResourceName: example.com/gpu}
- {name: fabric.example.com, selectors: ['device.driver == "fabric.example.com"']}
- {name: nic.example.com, selectors: ['device.driver == "nic.example.com"']}
models:
  gpu: {driver: gpu.example.com, name: "gpu-{device}"}
  nic: {driver: nic.example.com, name: "nic-{device}"}
  fabric:
    driver: fabric.example.com
    name: fabric-{device}
    bindsToNode: true
    bindingConditions: [example.com/attached]
    bindingFailureConditions: [example.com/broken]
nodes:
- {name: "node-{index}", count: 2, devices: [{model: gpu, count: 4}, {model: nic, count: 40}, {model: fabric, count: 4}]}
"""


RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"


def template(name, device_class, tolerates=None):
    """`tolerates`: the taint of rule(), for this many seconds."""
    exactly = {"deviceClassName": device_class}
    if tolerates is not None:
        exactly["tolerations"] = [{"key": "example.com/bad", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": tolerates}]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [{"name": "d", "exactly": exactly}]}}}}


def pod_spec(*claims, extended=0):
    """`claims`: (name, template or claim, its field)."""
    resources = {"claims": [{"name": name} for name, _, _ in claims]}
    if extended:
        resources["limits"] = {"example.com/gpu": str(extended)}
    return {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "example/app:1", "resources": resources}],
            "resourceClaims": [{"name": name, field: of} for name, of, field in claims]}


def rule(name, **selector):
    return {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": name},
            "spec": {"deviceSelector": selector, "taint": {"key": "example.com/bad", "effect": "NoExecute"}}}


def running(t, namespace="default"):
    return {p["metadata"]["name"]: p for p in t.box.get(t.kubectl, f"pods -n {namespace}").get("items", [])
            if p.get("status", {}).get("phase") == "Running" and not p["metadata"].get("deletionTimestamp")}


def claims(t):
    return t.box.get(t.kubectl, "resourceclaims -A").get("items", [])


def holders(t):
    """Claims by device."""
    out = collections.defaultdict(list)
    for claim in claims(t):
        for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
            out[(result["pool"], result["device"])].append(claim["metadata"]["name"])
    return out


def settled(t):
    """No device has two claims, and each claim created for a pod has its pod."""
    pods = {p["metadata"]["uid"] for p in t.box.get(t.kubectl, "pods -A").get("items", [])}
    owners = [o["uid"] for c in claims(t) for o in c["metadata"].get("ownerReferences", [])]
    return all(len(names) == 1 for names in holders(t).values()) and set(owners) <= pods


def at_once(t):
    shared = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "shared"}, "spec": template("x", "nic.example.com")["spec"]["spec"]}
    spec = pod_spec(("fabric", "fabric", "resourceClaimTemplateName"), ("nic", "shared", "resourceClaimName"), extended=1)
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"all-{i}"}, "spec": spec} for i in range(3)]
    t.apply(template("fabric", "fabric.example.com"), shared, *pods)
    t.eventually("three pods with an extended resource, binding conditions and a shared claim run", lambda: len(running(t)) == 3, 40)
    nodes = {p["spec"]["nodeName"] for p in running(t).values()}
    t.check("on the node of what they share", len(nodes) == 1, nodes)
    found = holders(t)
    t.check("with three GPUs, three pooled devices and one card", len(found) == 7 and settled(t), found)
    t.check("each has its extended claim published", all(
        p["status"].get("extendedResourceClaimStatus", {}).get("resourceClaimName") for p in running(t).values()))
    victim = running(t)["all-1"]
    pool, device = next(key for key, names in holders(t).items() if key[1].startswith("fabric") and names[0].startswith("all-1-"))
    t.apply(rule("one", driver="fabric.example.com", pool=pool, device=device))
    t.eventually("a rule for one pooled device takes its pod alone", lambda: set(running(t)) == {"all-0", "all-2"})
    t.eventually("with all three of its claims, but the shared one stays", lambda: len(holders(t)) == 5 and settled(t))
    t.apply(pods[1])
    t.eventually("the pod comes again", lambda: len(running(t)) == 3, 40)
    t.check("on another pooled device", victim["metadata"]["uid"] != running(t)["all-1"]["metadata"]["uid"] and (pool, device) not in holders(t), holders(t))
    t.sh("kubectl delete devicetaintrule one; kubectl delete pod --all; kubectl delete resourceclaim shared")
    t.eventually("nothing is left", lambda: not claims(t))


def rule_deleted(t):
    # 40 pods go at 50 evictions a second, the others in groups of five every 8 seconds, so that the rule is deleted while it evicts however slow the
    # machine is.
    apart = 8
    patient = {f"nic-{n}": apart * n for n in range(1, 9)}
    kinds = ["nic"] * 40 + [name for name in patient for _ in range(5)]
    t.apply(template("nic", "nic.example.com"), *[template(name, "nic.example.com", seconds) for name, seconds in patient.items()],
            *[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"many-{i:02}"},
               "spec": pod_spec(("nic", kind, "resourceClaimTemplateName"))} for i, kind in enumerate(kinds)])
    t.eventually("80 pods run", lambda: len(running(t)) == 80, 60)
    # Without kubectl, whose start can take a second on a busy machine.
    server = rest.Api(t.box.kubeconfig)
    server.create(RULES, rule("all", driver="nic.example.com"))
    t.eventually("the first pods go", lambda: len(server.items("/api/v1/namespaces/default/pods")) < 80, 60)
    status, _ = server.request("DELETE", RULES + "/all")
    t.check("the rule is deleted", status == 200, status)

    def none_goes():
        before = set(running(t))
        time.sleep(apart + 2)
        return set(running(t)) == before

    # Evictions that were under way still show; then not even the next group goes.
    t.eventually("a rule that is deleted while it evicts takes no more", none_goes, 60)
    left = len(running(t))
    t.check("it has taken some", 0 < left < 80, left)
    t.eventually("what is left is whole", lambda: settled(t) and len(holders(t)) == left)
    t.sh("kubectl delete pod --all")
    t.eventually("nothing is left after it", lambda: not claims(t), 40)


def scaled(t):
    t.apply(workload("StatefulSet", "db", replicas=6, serviceName="db", podManagementPolicy="Parallel",
                     template={"metadata": {"labels": {"app": "db"}}, "spec": pod_spec(("nic", "nic", "resourceClaimTemplateName"), extended=1)}))
    t.eventually("a StatefulSet with both kinds of claims runs", lambda: len(running(t)) == 6, 40)
    t.sh("kubectl scale sts db --replicas=1; kubectl scale sts db --replicas=7; kubectl scale sts db --replicas=2; kubectl scale sts db --replicas=8")
    t.eventually("scaled down and up while claims go, it ends with eight", lambda: sorted(running(t)) == [f"db-{i}" for i in range(8)], 60)
    t.eventually("each with its two devices", lambda: len(holders(t)) == 16 and settled(t))
    t.sh("kubectl delete sts db")
    t.eventually("all devices come back", lambda: not claims(t), 40)


def quota(t):
    t.sh("kubectl create namespace small; kubectl create quota q -n small --hard=count/resourceclaims.resource.k8s.io=3")
    made = template("nic", "nic.example.com")
    made["metadata"]["namespace"] = "small"
    deployment = workload("Deployment", "five", replicas=5, template={"metadata": {"labels": {"app": "five"}}, "spec": pod_spec(("nic", "nic", "resourceClaimTemplateName"))})
    deployment["metadata"]["namespace"] = "small"
    t.apply(made, deployment)
    t.eventually("three of five pods run within the quota", lambda: len(running(t, "small")) == 3)
    time.sleep(1)
    waiting = {p["metadata"]["name"] for p in t.box.get(t.kubectl, "pods -n small")["items"]} - set(running(t, "small"))
    notified = {e["involvedObject"]["name"] for e in t.box.get(t.kubectl, "events -n small").get("items", []) if "exceeded quota" in e.get("message", "")}
    t.check("the others are notified of the quota", len(waiting) == 2 and waiting <= notified, (waiting, notified))
    t.check("and nothing is half made", settled(t) and len(holders(t)) == 3)
    t.sh("""kubectl patch quota q -n small -p '{"spec":{"hard":{"count/resourceclaims.resource.k8s.io":"5"}}}'""")
    t.eventually("a larger quota lets all run", lambda: len(running(t, "small")) == 5, 90)
    t.sh("kubectl delete namespace small")
    t.eventually("and the namespace takes all along", lambda: not claims(t), 40)


def main():
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    fleet = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"together-{os.getpid()}.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(FLEET)
    try:
        with sandbox.Sandbox(os.path.join(sys.argv[1], "dra-sandbox"), ["--fleet", fleet]) as box:
            t = Checks(box, kubectls[-1][1])
            for part in (at_once, rule_deleted, scaled, quota):
                begin = time.monotonic()
                part(t)
                print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        os.remove(fleet)
    print(f"{t.passed} passed, {len(t.failed)} failed")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
