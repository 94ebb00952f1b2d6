#!/usr/bin/env python3
"""Devices get NoExecute taints under running pods: exactly the pods that do not tolerate them are evicted, with condition, event and metric; the
others stay, or are evicted when their toleration ends. Once with the manager responsible, once only observing. A taint of a GPU reaches its partitions.

Usage: taint_test.py FOLDER_OF_PROGRAMS
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def running_pods(api):
    return {p["metadata"]["name"] for p in api.items(PODS) if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]}


def template(name, tolerations):
    made = rest.template(name, "gpu")
    made["spec"]["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = tolerations
    return made


def taint_devices(api, names, taints):
    """Sets the taints of these devices in every slice; retried when the driver writes at the same time."""
    for slice_ in api.items(rest.RESOURCE + "/resourceslices"):
        for device in slice_["spec"].get("devices", []):
            if (slice_["spec"]["pool"]["name"], device["name"]) in names:
                device["taints"] = taints
        status, answer = api.request("PUT", f"{rest.RESOURCE}/resourceslices/{slice_['metadata']['name']}", slice_)
        if status != 200:
            raise SystemExit(f"writing slice {slice_['metadata']['name']}: HTTP {status}: {answer.get('message')}")


def notes(api, pod):
    return [e["note"] for e in api.items(EVENTS) if e["regarding"]["name"] == pod and e["reason"] == "DeviceTaintManagerEviction"]


def run(box, programs, mode):
    api = rest.Api(box.kubeconfig)
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log"),
                               ["--leader-elect=false", f"--device-taint-eviction={mode}"]).start()
    box.wait_for(manager.metrics_port, 20, "the manager to listen")
    tolerate = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
    claims = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
    api.create(claims, template("plain", []))
    api.create(claims, template("patient", [{**tolerate, "tolerationSeconds": 5}]))
    api.create(claims, template("stoic", [tolerate]))
    everybody = {"plain-0", "plain-1", "spared", "patient", "stoic"}
    for name in sorted(everybody):
        api.create(PODS, rest.pod(name, {"plain-0": "plain", "plain-1": "plain", "spared": "plain"}.get(name, name)))
    box.wait_for(lambda: running_pods(api) == everybody, 60, "five running pods")
    held = {c["metadata"]["ownerReferences"][0]["name"]: rest.devices_of(c)[0][1:] for c in
            api.items(rest.RESOURCE + "/namespaces/default/resourceclaims")}
    taint_devices(api, {device for pod, device in held.items() if pod != "spared"}, [{"key": "broken", "effect": "NoExecute"}])
    began = time.monotonic()
    if mode == "observe":
        def reported():
            return {e["regarding"]["name"] for e in api.items(EVENTS) if e["reason"] == "DeviceTaintNotEvicted"}
        box.wait_for(lambda: reported() == {"plain-0", "plain-1", "patient"}, 60, "events about the pods that kube-controller-manager left")
        if time.monotonic() - began < 25:
            raise SystemExit("kube-controller-manager is given 30 s before a pod is reported")
        if running_pods(api) != everybody:
            raise SystemExit("observe evicts nothing")
        manager.stop()
        return
    box.wait_for(lambda: running_pods(api) == {"spared", "patient", "stoic"}, 20, "the intolerant pods to be evicted")
    box.wait_for(lambda: running_pods(api) == {"spared", "stoic"}, 30, "the patient pod to be evicted")
    if time.monotonic() - began < 4:
        raise SystemExit("the patient pod was evicted before its tolerationSeconds were over")
    box.wait_for(lambda: "device_taint_eviction_controller_pod_deletions_total 3" in manager.metrics(), 10, "three evictions in the metrics")
    box.wait_for(lambda: any(n.startswith("Marking for deletion: ") for n in notes(api, "plain-0")), 10, "the event")
    announced = [n for n in notes(api, "patient") if n.startswith("Will be deleted at ")]
    if len(announced) != 1:
        raise SystemExit(f"the deadline of the patient pod is announced {len(announced)} times")
    if notes(api, "spared") or notes(api, "stoic"):
        raise SystemExit("pods that stay got events")
    # Cancelled in time: the taint is removed before the seconds are over.
    taint_devices(api, set(held.values()), [])
    api.create(PODS, rest.pod("lucky", "patient"))
    box.wait_for(lambda: "lucky" in running_pods(api), 30, "the lucky pod to run")
    held = {c["metadata"]["ownerReferences"][0]["name"]: rest.devices_of(c)[0][1:] for c in
            api.items(rest.RESOURCE + "/namespaces/default/resourceclaims")}
    taint_devices(api, {held["lucky"]}, [{"key": "broken", "effect": "NoExecute"}])
    box.wait_for(lambda: any(n.startswith("Will be deleted at ") for n in notes(api, "lucky")), 10, "the announcement")
    taint_devices(api, {held["lucky"]}, [])
    box.wait_for(lambda: "Cancelling deletion" in notes(api, "lucky"), 10, "the cancellation")
    time.sleep(6)
    if "lucky" not in running_pods(api):
        raise SystemExit("a pod was evicted although its eviction was cancelled")
    if manager.stop() != 0:
        raise SystemExit("the manager did not end in order")


def taint_a_card(box, programs):
    """A pod holds two partitions of a GPU: a taint of the GPU counts and evicts it, keeps what comes next away, and is taken away as a whole."""
    api = rest.Api(box.kubeconfig)
    claims, rules = rest.RESOURCE + "/namespaces/default/resourceclaims", "/apis/resource.k8s.io/v1beta2/devicetaintrules"

    def dra(status, *words):
        done = subprocess.run([os.path.join(programs, "kubectl-dra"), *words], env={**os.environ, "KUBECONFIG": box.kubeconfig}, capture_output=True, text=True, timeout=60)
        if done.returncode != status:
            raise SystemExit(f"{' '.join(words)}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done.stdout

    def card(pod):
        """(pool, GPU) of the partitions that the pod's claim holds."""
        held = {(pool, device.split("-mig-")[0]) for claim in api.items(claims) for _, pool, device in rest.devices_of(claim)
                if claim["metadata"]["ownerReferences"][0]["name"] == pod}
        return held.pop() if len(held) == 1 else None
    pair = rest.template("pair", "mig.nvidia.com", 2)
    pair["spec"]["spec"]["devices"]["constraints"] = [{"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/parentUUID"}]
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", pair)
    api.create(PODS, rest.pod("first", "pair"))
    box.wait_for(lambda: running_pods(api) == {"first"}, 30, "the pod to run")
    pool, gpu = card("first")
    taint = ("taint", f"{pool}/{gpu}", "example.com/ecc=bad:NoExecute")
    said = dra(1, *taint)
    if "1 pod would be evicted" not in said or api.items(rules):
        raise SystemExit(f"a taint that evicts is refused first, and writes nothing:\n{said}")
    dra(0, *taint, "--max-evictions", "1")
    box.wait_for(lambda: not running_pods(api), 20, "the pod on the partitions to be evicted")
    api.create(PODS, rest.pod("second", "pair"))
    box.wait_for(lambda: running_pods(api) == {"second"}, 30, "the next pod to run")
    if card("second") in (None, (pool, gpu)):
        raise SystemExit(f"the next pod is on {card('second')}, the tainted card is {(pool, gpu)}")
    if len(api.items(rules)) < 10:
        raise SystemExit("each partition has a rule")
    dra(0, "untaint", f"{pool}/{gpu}", "example.com/ecc")
    if api.items(rules):
        raise SystemExit(f"untaint leaves {len(api.items(rules))} rules")


def main():
    with sandbox.Sandbox(os.path.join(sys.argv[1], "dra-sandbox")) as box:
        taint_a_card(box, sys.argv[1])
    for mode in ("own", "observe"):
        fleet = os.path.join(HERE, "..", "..", "build", f"taint-fleet-{os.getpid()}.yaml")
        with open(fleet, "w", encoding="utf-8") as out:
            out.write(rest.fleet(3, 4))
        try:
            with sandbox.Sandbox(os.path.join(sys.argv[1], "dra-sandbox"), ["--without-manager", "--fleet", fleet]) as box:
                run(box, sys.argv[1], mode)
        finally:
            os.remove(fleet)
    print("3 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
