#!/usr/bin/env python3
"""Options of fleet files for devices and drivers (docs/fleet.md), in the sandbox with kubectl: slices that appear late, device taints, health, drivers
that set the status of devices, binding conditions that fail. Usage: fleets_test.py FOLDER_OF_PROGRAMS"""
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sandbox  # noqa: E402
from together_test import template, pod_spec  # noqa: E402
from workloads_test import Checks  # noqa: E402

FLEET = """
kind: Fleet
drivers:
  sick.example.com: {health: {card-0: Unhealthy, card-1: Healthy}}
  says.example.com: {conditions: [Ready, example.com/warm]}
  binds.example.com: {bindingSeconds: 1, failingDevices: [card-0]}
deviceClasses:
- {name: late, selectors: ['device.driver == "late.example.com"']}
- {name: taint, selectors: ['device.driver == "taint.example.com"']}
- {name: sick, selectors: ['device.driver == "sick.example.com"']}
- {name: says, selectors: ['device.driver == "says.example.com"']}
- {name: binds, selectors: ['device.driver == "binds.example.com"']}
models:
  late: {driver: late.example.com, name: "card-{device}"}
  taint: {driver: taint.example.com, name: "card-{device}", taints: [{key: example.com/old, effect: NoSchedule}]}
  sick: {driver: sick.example.com, name: "card-{device}"}
  says: {driver: says.example.com, name: "card-{device}"}
  binds:
    driver: binds.example.com
    name: "card-{device}"
    bindsToNode: true
    bindingConditions: [example.com/attached]
    bindingFailureConditions: [example.com/broken]
nodes:
- name: late
  slicesAfterSeconds: 6
  devices: [{model: late, count: 1}]
- name: now
  devices: [{model: taint, count: 1}, {model: sick, count: 2}, {model: says, count: 1}, {model: binds, count: 2}]
"""


def pod(name, of):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(("d", of, "resourceClaimTemplateName"))}


def phase(t, name):
    return t.box.get(t.kubectl, f"pod {name}").get("status", {}).get("phase")


def reasons(t, name):
    return {e["reason"] for e in t.box.get(t.kubectl, f"events --field-selector involvedObject.name={name}").get("items", [])}


def devices(t, name):
    """The claim of the pod: names of its devices, and its status."""
    claim = next((c for c in t.box.get(t.kubectl, "resourceclaims")["items"] if c["metadata"]["name"].startswith(name + "-")), {})
    status = claim.get("status", {})
    return [r["device"] for r in status.get("allocation", {}).get("devices", {}).get("results", [])], status


def run(t, begin):
    classes = ("late", "taint", "sick", "says", "binds")
    tolerant = template("tolerant", "taint")
    tolerant["spec"]["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = [{"key": "example.com/old", "operator": "Exists"}]
    t.apply(*[template(name, name) for name in classes], tolerant, *[pod(name, name) for name in classes])
    if time.monotonic() - begin < 4:
        t.check("a device whose slice is late is waited for", phase(t, "late") == "Pending")
    t.eventually("and used once it is there", lambda: phase(t, "late") == "Running")
    t.check("not before", time.monotonic() - begin >= 5)

    t.eventually("a tainted device is avoided, and the pod notified", lambda: phase(t, "taint") == "Pending" and "FailedAllocation" in reasons(t, "taint"))
    t.apply(pod("tolerant", "tolerant"))
    t.eventually("unless the request tolerates the taint", lambda: phase(t, "tolerant") == "Running")

    t.apply(pod("sick2", "sick"))
    t.eventually("two pods use the sick driver's cards", lambda: phase(t, "sick") == phase(t, "sick2") == "Running")
    by_device = {devices(t, name)[0][0]: name for name in ("sick-d", "sick2-d")}
    unhealthy, healthy = by_device["card-0"][:-2], by_device["card-1"][:-2]

    def health(name):
        statuses = t.box.get(t.kubectl, f"pod {name}")["status"].get("containerStatuses", [{}])
        return [r.get("health") for s in statuses[0].get("allocatedResourcesStatus", []) for r in s.get("resources", [])]

    t.eventually("kubelet reports the health of each", lambda: (health(unhealthy), health(healthy)) == (["Unhealthy"], ["Healthy"]))
    t.eventually("the manager tells the one with the sick card", lambda: "DeviceTrouble" in reasons(t, unhealthy))
    t.check("and only that one", "DeviceTrouble" not in reasons(t, healthy), reasons(t, healthy))

    def conditions():
        return sorted(c["type"] for d in devices(t, "says")[1].get("devices", []) for c in d.get("conditions", []) if c["status"] == "True")

    t.eventually("a driver sets its conditions in the claim's status", lambda: conditions() == ["Ready", "example.com/warm"])
    t.eventually("a card that fails to bind is given back for the other one", lambda: phase(t, "binds") == "Running" and devices(t, "binds")[0] == ["card-1"], 40)
    t.check("with the reason reported", "BindingConditionsFailed" in reasons(t, "binds"), reasons(t, "binds"))


def main():
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as fleet:
        fleet.write(FLEET)
        fleet.flush()
        begin = time.monotonic()
        with sandbox.Sandbox(os.path.join(sys.argv[1], "dra-sandbox"), ["--fleet", fleet.name]) as box:
            t = Checks(box, kubectls[-1][1])
            run(t, begin)
    print(f"{t.passed} passed, {len(t.failed)} failed")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
