#!/usr/bin/env python3
"""Pods that wait for two reasons, in the sandbox: the event and the condition say the same, the main obstacle comes first, and `kubectl dra explain` names the
same one. A sandbox for each pair, all at once, because conditions are written after 30 s. Usage: two_causes_test.py FOLDER_OF_PROGRAMS [PAIR ...]
"""
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
NODES, DEVICES = 3, 4


class World:
    def __init__(self, box):
        self.box, self.api = box, rest.Api(box.kubeconfig)
        for count in (1, 2, 4, 5):
            self.api.create(TEMPLATES, rest.template(f"take-{count}", count=count))

    def change_node(self, node, spec):
        self.api.request("PATCH", f"/api/v1/nodes/node-{node}", {"spec": spec}, "application/merge-patch+json")

    def cordon(self, *nodes):
        for node in nodes:
            self.change_node(node, {"unschedulable": True})

    def taint(self, *nodes):
        for node in nodes:
            self.change_node(node, {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]})

    def taint_devices(self, *nodes):
        for node in nodes:
            self.api.create(RULES, {"metadata": {"name": f"ecc-{node}"}, "spec": {"deviceSelector": {"driver": "gpu.example.com", "pool": f"node-{node}"},
                                    "taint": {"key": "ecc", "value": "bad", "effect": "NoSchedule"}}})

    def hold(self, *nodes, count=DEVICES):
        for node in nodes:
            holder = rest.pod(f"holder-{node}", f"take-{count}")
            holder["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"node-{node}"}
            self.api.create(PODS, holder)
        for node in nodes:
            self.box.wait_for(lambda node=node: self.api.get(f"{PODS}/holder-{node}")["status"].get("phase") == "Running", 30, "a holder of devices")

    def select(self, expression):
        template = rest.template("selected")
        template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
        self.api.create(TEMPLATES, template)


def pod(template, cpu=None, node=None):
    asked = rest.pod("waits", template)
    if cpu:
        asked["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    if node:
        asked["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return asked


CORDON, TAINT, CPU, HELD, BAD = "cordoned", "taint team=a:NoSchedule is not tolerated", "asks 1k cpu", "in use by claim", "tainted (ecc=bad:NoSchedule)"
ATTRIBUTE = 'device.attributes["gpu.example.com"]'
# What is done to the cluster, the pod, the main obstacle in event and condition, in explain, and the other obstacle.
PAIRS = {
    "a cordon and held devices": (lambda w: (w.hold(0, 1), w.cordon(2)), pod("take-2"), CORDON, CORDON, HELD),
    "a taint and too much cpu": (lambda w: w.taint(0), pod("take-2", cpu="1000"), CPU, CPU, TAINT),
    "too much cpu and held devices": (lambda w: w.hold(0, 1, 2), pod("take-2", cpu="1000"), CPU, CPU, HELD),
    "taints and a cordon": (lambda w: (w.taint(0, 1), w.cordon(2)), pod("take-1"), TAINT, TAINT, CORDON),
    "held and tainted devices": (lambda w: (w.hold(0, 1), w.taint_devices(2)), pod("take-1"), HELD, "8 devices in use", BAD),
    "tainted devices and few left": (lambda w: (w.taint_devices(0, 1), w.hold(2, count=2)), pod("take-4"), BAD, BAD, HELD),
    "a selector and a taint": (lambda w: (w.select(ATTRIBUTE + '.type == "nic"'), w.taint(0)), pod("selected"), "rejected by the request's selector",
                               "rejected by the request's selector", TAINT),
    "a selector with a typo and a cordon": (lambda w: (w.select(ATTRIBUTE + '.tpye == "gpu"'), w.cordon(0)), pod("selected"), "no such key: tpye",
                                            "no such key: tpye", CORDON),
    "too many for one node and a taint": (lambda w: w.taint(0), pod("take-5"), "has more than 4 of the 12 devices", "has more than 4 of the 12 devices", TAINT),
    "a node selector and held devices": (lambda w: w.hold(0), pod("take-1", node="node-0"), "does not match the pod's node selector",
                                         "does not match the pod's node selector", HELD),
}


def judge(programs, name, found):
    prepare, waiting, first, explained, second = PAIRS[name]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(rest.fleet(NODES, DEVICES))
        fleet.flush()
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet.name]) as box:
            world = World(box)
            prepare(world)
            world.api.create(PODS, waiting)

            def condition():
                all_of_pod = world.api.get(PODS + "/waits")["status"].get("conditions", [])
                return [c["message"] for c in all_of_pod if c["type"] == "PodScheduled" and c["status"] == "False"]
            message = box.wait_for(condition, 90, f"{name}: the condition")[0]
            events = [e["note"] for e in world.api.items(EVENTS) if e["regarding"]["kind"] == "Pod" and e["regarding"]["name"] == "waits"]
            answer = subprocess.run([os.path.join(programs, "kubectl-dra"), "explain", "pod/waits", "--kubeconfig", box.kubeconfig], capture_output=True, text=True,
                                    env={**os.environ, "COLUMNS": "300"}, timeout=60, check=False)
    verdict = next((line for line in answer.stdout.splitlines() if line.startswith("Does not fit: ")), "")
    problems = [] if message in events else ["no event says what the condition says"]
    if first not in message or second not in message or message.index(first) > message.index(second):
        problems.append(f"{first!r} is not before {second!r}")
    if explained not in verdict or second in verdict:
        problems.append(f"explain does not name {explained!r} alone")
    found[name] = (problems, [message, *events, answer.stdout])


def main():
    names = sys.argv[2:] or list(PAIRS)
    found = {}
    threads = [threading.Thread(target=judge, args=(sys.argv[1], name, found)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = 0
    for name in names:
        problems, shown = found.get(name, (["it was not judged"], []))
        print(f"{'FAILED' if problems else 'ok'}: {name}" + "".join(f"\n    {text}" for text in (*problems, *shown) if problems))
        failed += bool(problems)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
