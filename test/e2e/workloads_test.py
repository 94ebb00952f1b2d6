#!/usr/bin/env python3
"""Common workloads, in the sandbox with kubectl: Deployments through ReplicaSets, StatefulSets, DaemonSets, quotas, logs, pods that end.
Usage: workloads_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sandbox  # noqa: E402

CONTAINER = {"name": "c", "image": "example/app:1"}
CLAIM_TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "gpu"},
    "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}}}


def pod_template(labels, claims=False, **spec):
    container = dict(CONTAINER, **({"resources": {"claims": [{"name": "gpu"}]}} if claims else {}))
    if claims:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    return {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}


def workload(kind, name, **spec):
    labels = {"app": name}
    template = spec.pop("template", None) or pod_template(labels)
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}


class Checks:
    def __init__(self, box, kubectl):
        self.box, self.kubectl, self.failed, self.passed = box, kubectl, [], 0

    def sh(self, command):
        return self.box.shell(self.kubectl, command)

    def apply(self, *objects):
        path = os.path.join(self.box.folder, "apply.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects)}, out)
        return self.sh(f"kubectl apply -f {path}")

    def check(self, what, holds, detail=""):
        self.passed += 1 if holds else 0
        if not holds:
            self.failed.append(what)
            print(f"FAILED: {what}\n{detail}")

    def eventually(self, what, condition, seconds=20):
        end, value = time.monotonic() + seconds, None
        while time.monotonic() < end:
            value = condition()
            if value:
                break
            time.sleep(0.1)
        self.check(what, value)

    def pods(self, selector):
        return self.box.get(self.kubectl, f"pods -l {selector}").get("items", [])


def deployments(t):
    t.apply(workload("Deployment", "web", replicas=3))
    status, text = t.sh("kubectl rollout status deployment web --timeout=20s")
    t.check("a Deployment rolls out", status == 0 and "successfully rolled out" in text, text)
    sets = t.box.get(t.kubectl, "replicasets")["items"]
    t.check("through one ReplicaSet", len(sets) == 1 and sets[0]["status"]["readyReplicas"] == 3, sets)
    name = sets[0]["metadata"]["name"]
    t.check("whose pods carry its name and hash", all(
        p["metadata"]["name"].startswith(name + "-") and p["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        and name == "web-" + p["metadata"]["labels"]["pod-template-hash"] for p in t.pods("app=web")))
    t.sh("kubectl rollout restart deployment web")
    status, text = t.sh("kubectl rollout status deployment web --timeout=30s")
    t.check("a restart rolls out", status == 0, text)
    sets = t.box.get(t.kubectl, "replicasets")["items"]
    t.check("a restart makes a second ReplicaSet and empties the first",
            sorted(s["spec"]["replicas"] for s in sets) == [0, 3], sets)
    status, text = t.sh("kubectl rollout history deployment web")
    t.check("two revisions are known", status == 0 and "\n1 " in text and "\n2 " in text, text)
    status, text = t.sh("kubectl rollout undo deployment web && kubectl rollout status deployment web --timeout=30s")
    t.check("undo goes back", status == 0, text)
    t.sh("kubectl scale deployment web --replicas=1")
    t.eventually("scale takes pods away", lambda: len(t.pods("app=web")) == 1)
    t.sh("kubectl delete deployment web")
    t.eventually("deleting takes sets and pods along",
                 lambda: not t.pods("app=web") and not t.box.get(t.kubectl, "replicasets")["items"])


def stateful_sets(t):
    t.apply(CLAIM_TEMPLATE, workload("StatefulSet", "db", replicas=3, serviceName="db", template=pod_template({"app": "db"}, claims=True)))
    status, text = t.sh("kubectl rollout status statefulset db --timeout=30s")
    t.check("a StatefulSet rolls out", status == 0, text)
    pods = sorted(t.pods("app=db"), key=lambda p: p["metadata"]["creationTimestamp"] + p["metadata"]["name"])
    t.check("with ordinal names, in order", [p["metadata"]["name"] for p in pods] == ["db-0", "db-1", "db-2"], pods)
    status, text = t.sh("kubectl logs db-1")
    t.check("a log line names the device", status == 0 and "sees gpu.nvidia.com/" in text and "(claim db-1-gpu-" in text, text)
    t.sh("kubectl rollout restart statefulset db")
    status, text = t.sh("kubectl rollout status statefulset db --timeout=40s")
    t.check("a StatefulSet is restarted", status == 0, text)
    t.sh("kubectl scale statefulset db --replicas=1")
    t.eventually("the highest ordinals go", lambda: [p["metadata"]["name"] for p in t.pods("app=db")] == ["db-0"])
    status, text = t.sh("kubectl get sts db --no-headers")
    t.eventually("kubectl shows 1/1", lambda: "1/1" in t.sh("kubectl get sts db --no-headers")[1])
    t.sh("kubectl delete statefulset db")
    t.eventually("devices are free again", lambda: not t.box.get(t.kubectl, "resourceclaims")["items"])


def daemon_sets(t):
    nodes = t.box.get(t.kubectl, "nodes")["items"]
    untainted = [n["metadata"]["name"] for n in nodes if not n["spec"].get("taints")]
    t.apply(workload("DaemonSet", "agent"))
    status, text = t.sh("kubectl rollout status daemonset agent --timeout=30s")
    t.check("a DaemonSet rolls out", status == 0, text)
    t.check("one pod a node without taints", sorted(p["spec"]["nodeName"] for p in t.pods("app=agent")) == sorted(untainted),
            [p["spec"].get("nodeName") for p in t.pods("app=agent")])
    t.sh("kubectl label node t4-0 example.com/agent=no")
    t.sh("""kubectl patch daemonset agent -p '{"spec":{"template":{"spec":{"nodeSelector":{"example.com/agent":"no"}}}}}'""")
    t.eventually("a node selector leaves one node", lambda: [p["spec"].get("nodeName") for p in t.pods("app=agent")] == ["t4-0"])
    t.sh("kubectl label node t4-1 example.com/agent=no")
    t.eventually("a labelled node gets a pod", lambda: len(t.pods("app=agent")) == 2)
    t.sh("kubectl delete daemonset agent; kubectl label nodes t4-0 t4-1 example.com/agent-")
    t.eventually("the pods go", lambda: not t.pods("app=agent"))


def quotas(t):
    t.sh("kubectl create namespace small")
    status, text = t.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "small"}, "spec": {"hard": {
        "pods": "2", "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "2", "count/resourceclaims.resource.k8s.io": "5"}}})
    t.check("a quota is made", status == 0, text)

    def claim(name, count):
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "small"}, "spec": {
            "devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count}}]}}}

    status, text = t.apply(claim("one", 1))
    t.check("a claim within the quota", status == 0, text)
    status, text = t.apply(claim("two", 2))
    t.check("a claim beyond it is refused with the real words", status != 0 and
            'resourceclaims.resource.k8s.io "two" is forbidden: exceeded quota: q, requested: '
            "gpu.nvidia.com.deviceclass.resource.k8s.io/devices=2, used: gpu.nvidia.com.deviceclass.resource.k8s.io/devices=1, "
            "limited: gpu.nvidia.com.deviceclass.resource.k8s.io/devices=2" in text, text)
    for name in ("a", "b"):
        t.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "small"}, "spec": {"containers": [CONTAINER]}})
    status, text = t.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c", "namespace": "small"}, "spec": {"containers": [CONTAINER]}})
    t.check("the third pod is refused", status != 0 and "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in text, text)
    t.eventually("kubectl get quota shows what is used", lambda: "pods: 2/2" in t.sh("kubectl get quota q -n small --no-headers")[1])
    t.sh("kubectl delete pod a -n small")
    status, text = t.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c", "namespace": "small"}, "spec": {"containers": [CONTAINER]}})
    t.check("a deleted pod makes place", status == 0, text)
    t.sh("kubectl delete namespace small")


def ends(t):
    def pod(name, command, restart="Never"):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "restartPolicy": restart, "containers": [dict(CONTAINER, command=command)]}}

    def phase(name):
        return t.box.get(t.kubectl, f"pod {name}").get("status", {}).get("phase")

    t.apply(pod("short", ["nvidia-smi", "-L"]), pod("long", ["sh", "-c", "trap 'exit 0' TERM; sleep 9999 & wait"]))
    t.eventually("a short command ends", lambda: phase("short") == "Succeeded")
    t.check("sleep 9999 runs", phase("long") == "Running")
    t.sh("kubectl annotate pod long dra-sandbox/run-seconds=0")
    t.eventually("the annotation ends it", lambda: phase("long") == "Succeeded")
    status, text = t.sh("kubectl logs short")
    t.check("a log without devices says so", status == 0 and "no devices" in text, text)
    status, text = t.sh("kubectl logs short -c other")
    t.check("an unknown container is refused", status != 0 and "container other is not valid for pod short" in text, text)
    t.sh("kubectl delete pod short long")


def main():
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    with sandbox.Sandbox(os.path.join(sys.argv[1], "dra-sandbox")) as box:
        t = Checks(box, kubectls[-1][1])
        for part in (deployments, stateful_sets, daemon_sets, quotas, ends):
            begin = time.monotonic()
            part(t)
            print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
    print(f"{t.passed} passed, {len(t.failed)} failed")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
