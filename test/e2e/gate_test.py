#!/usr/bin/env python3
"""`dra-sandbox up --scheduling=gate` with kubectl: gated pods get devices, are ungated and bound by the stand-in for kube-scheduler; only the
stand-in handles pods without the gate; pods that do not fit get a reason. Usage: gate_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sandbox  # noqa: E402

GATE = "dra-controller-manager/allocation"


def pod(name, gated=True, claims=True, **spec):
    container = {"name": "c", "image": "example/app:1", "resources": {"claims": [{"name": "gpu"}]} if claims else {}}
    spec = {"containers": [container], **({"schedulingGates": [{"name": GATE}]} if gated else {}), **spec}
    if claims:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


class Test:
    def __init__(self, box, kubectl):
        self.box, self.kubectl, self.failed, self.begin = box, kubectl, 0, time.monotonic()

    def sh(self, command):
        return self.box.shell(self.kubectl, command)

    def get(self, what):
        return self.box.get(self.kubectl, what)

    def apply(self, *objects):
        path = os.path.join(self.box.folder, "apply.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects)}, out)
        status, text = self.sh(f"kubectl apply -f {path}")
        self.check("apply", status == 0, text)

    def check(self, what, holds, detail=""):
        self.failed += not holds
        print(f"{time.monotonic() - self.begin:5.1f} s " + ("ok: " if holds else "FAILED: ") + what + (f"\n{detail}" if not holds else ""))

    def eventually(self, what, condition, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not condition():
            time.sleep(0.1)
        self.check(what, condition())

    def reasons(self, name):
        items = self.get(f"events --field-selector involvedObject.name={name}").get("items", [])
        return {e["reason"]: e.get("reportingComponent") for e in items}

    def gated(self, name):
        return self.get(f"pod {name}").get("spec", {}).get("schedulingGates") == [{"name": GATE}]


def run(t):
    status, text = t.sh("kubectl apply -f examples/v1/6-gate.yaml && kubectl rollout status deployment gated --timeout=20s")
    t.check("the example rolls out", status == 0, text)
    pods = t.get("pods -l app=gated")["items"]
    claims = t.get("resourceclaims")["items"]
    devices = {(r["pool"], r["device"], r.get("shareID")) for c in claims for r in c["status"]["allocation"]["devices"]["results"]}
    t.check("each pod has a device, or a share of one, of its own", len(pods) == len(claims) == len(devices) == 2, claims)
    t.check("the gate was lifted and the pod narrowed to its node", all(
        not p["spec"].get("schedulingGates") and "nodeAffinity" in p["spec"].get("affinity", {}) for p in pods), pods)
    name = pods[0]["metadata"]["name"]
    t.eventually("the manager allocated, the stand-in bound", lambda: t.reasons(name) == {
        "Allocated": "dra-controller-manager", "Scheduled": "default-scheduler"})
    t.check("each allocation is proven", all("dra-controller-manager/proven" in c["metadata"].get("annotations", {}) for c in claims), claims)

    t.apply(pod("plain", gated=False, claims=False), pod("theirs", gated=False), pod("held", schedulingGates=[{"name": GATE}, {"name": "example.com/other"}]))
    t.eventually("a pod without gate and claims runs", lambda: t.get("pod plain")["status"].get("phase") == "Running")
    t.eventually("a pod with claims but no gate is served by the stand-in", lambda: t.get("pod theirs")["status"].get("phase") == "Running")
    t.check("its allocation is not the manager's", t.reasons("theirs") == {"Scheduled": "default-scheduler"}, t.reasons("theirs"))
    t.check("a pod with another gate waits", len(t.get("pod held")["spec"]["schedulingGates"]) == 2)
    t.sh("""kubectl patch pod held --type=json -p '[{"op": "remove", "path": "/spec/schedulingGates/1"}]'""")
    t.eventually("and runs once that gate is gone", lambda: t.get("pod held")["status"].get("phase") == "Running")

    t.apply(pod("nowhere", nodeSelector={"no": "such"}), pod("big", gated=False, claims=False, containers=[
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000"}}}]))
    t.eventually("what fits no node stays gated, with a reason", lambda: t.gated("nowhere") and "dra-controller-manager" in t.reasons("nowhere").values())
    t.eventually("without gate the stand-in says why", lambda: any(
        c["type"] == "PodScheduled" and c["reason"] == "Unschedulable" and "Insufficient cpu" in c["message"] for c in t.get("pod big")["status"].get("conditions", [])))
    t.eventually("by an event, too", lambda: t.reasons("big") == {"FailedScheduling": "default-scheduler"})

    holders = {}
    for claim in t.get("resourceclaims")["items"]:
        for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
            holders.setdefault((result["pool"], result["device"], result.get("shareID")), []).append(claim["metadata"]["name"])
    t.check("no device, or share of one, has two claims", all(len(names) == 1 for names in holders.values()) and len(holders) == 4, holders)
    t.sh("kubectl delete deployment gated; kubectl delete pod --all --grace-period=0")
    t.eventually("all devices come back", lambda: not t.get("resourceclaims")["items"], 30)
    t.check("the manager knows that somebody binds", "nobody binds" not in t.box.log(), t.box.log())


def main():
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    program = os.path.join(sys.argv[1], "dra-sandbox")
    with sandbox.Sandbox(program, ["--scheduling=gate"]) as box:
        t = Test(box, kubectls[-1][1])
        run(t)
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
