#!/usr/bin/env python3
"""Takes the advice of `kubectl dra whatif preempt` and `whatif make-room` in the sandbox, and looks whether it was right.

A world: two nodes of four GPUs, full of pods of three priorities, one of them under a PodDisruptionBudget; a pod of a higher priority waits. The answer is compared
with one that tries every set of victims (devices of a node are equal here, so counting is enough), then the victims are deleted by hand: the pod must run where the
answer says, or on an equal node. Then a Deployment's pods lie apart: make-room says who has to move for a claim of a whole node; evicted, their next pods run elsewhere.

Usage: preempt_advice_test.py FOLDER_OF_PROGRAMS [--worlds N] [--seed S]
"""
import itertools
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
NODES, DEVICES = 2, 4
PRIORITIES = {"low": 10, "middle": 20, "high": 1000}
MERGE = "application/merge-patch+json"


class World:
    def __init__(self, box, programs, seed):
        self.box, self.programs, self.random = box, programs, random.Random(seed)
        self.api = rest.Api(box.kubeconfig)
        self.seed = seed

    def pod(self, name, gpus, priority, labels=None):
        pod = rest.pod(name, f"take-{gpus}")
        pod["metadata"]["labels"] = labels or {}
        pod["spec"]["priorityClassName"] = priority
        self.api.create(PODS, pod)

    def phases(self):
        return {pod["metadata"]["name"]: (pod["spec"].get("nodeName", ""), pod["status"].get("phase")) for pod in self.api.items(PODS)}

    def wait_until(self, condition, what):
        self.box.wait_for(lambda: condition(self.phases()), 60, f"seed {self.seed}: {what}; {self.phases()}")

    def ask(self, *words, document=None):
        program = os.path.join(self.programs, "kubectl-dra")
        answer = subprocess.run([program, "whatif", *words, "--kubeconfig", self.box.kubeconfig, "-o", "json"], input=document,
                                capture_output=True, text=True, timeout=120)
        try:
            return json.loads(answer.stdout)
        except ValueError:
            raise SystemExit(f"seed {self.seed}: {words}: {answer.stdout}{answer.stderr}") from None

    def clean(self):
        for budget in self.api.items(BUDGETS):
            self.api.request("DELETE", f"{BUDGETS}/{budget['metadata']['name']}")
        for one in self.api.items(DEPLOYMENTS):
            self.api.request("PATCH", f"{DEPLOYMENTS}/{one['metadata']['name']}", {"spec": {"replicas": 0}}, MERGE)
        self.box.wait_for(lambda: not [p for p in self.api.items(PODS) if p["metadata"].get("ownerReferences")], 30, "no pods of Deployments")
        for one in self.api.items(DEPLOYMENTS):
            self.api.request("DELETE", f"{DEPLOYMENTS}/{one['metadata']['name']}")
        for name in self.phases():
            self.api.request("DELETE", f"{PODS}/{name}")
        self.wait_until(lambda phases: not phases, "no pods")


def victims(world):
    """Who goes for a waiting pod."""
    sizes, free = {}, {f"node-{i}": DEVICES for i in range(NODES)}
    while any(free.values()) and len(sizes) < 8:
        gpus = world.random.randint(1, min(2, max(free.values())))
        name = f"pod-{len(sizes)}"
        priority = world.random.choice(["low", "middle"])
        world.pod(name, gpus, priority, {"guarded": "yes"} if world.random.random() < 0.3 else {})
        world.wait_until(lambda phases, name=name: phases.get(name, ("",))[0] or len(phases) == 0, f"{name} to be placed")
        node = world.phases()[name][0]
        sizes[name] = (gpus, priority, node)
        free[node] -= gpus
    world.api.create(BUDGETS, {"metadata": {"name": "guard"}, "spec": {"minAvailable": 99, "selector": {"matchLabels": {"guarded": "yes"}}}})
    wanted = world.random.randint(2, DEVICES)
    world.pod("train", wanted, "high")
    world.wait_until(lambda phases: all(phase == "Running" for name, (_, phase) in phases.items() if name != "train"), "all to run")
    answer = world.ask("preempt", "pod/train")
    if max(free.values()) >= wanted:
        assert answer["statements"][0]["code"] == "Fits", answer
        return
    guarded = {pod["metadata"]["name"] for pod in world.api.items(PODS) if pod["metadata"].get("labels", {}).get("guarded")}

    def harm(chosen):
        values = [PRIORITIES[sizes[name][1]] for name in chosen]
        return (len(guarded & set(chosen)), max(values), sum(value + 2**31 for value in values), len(chosen))

    options = [chosen for number in range(1, len(sizes) + 1) for chosen in itertools.combinations(sizes, number)
               if any(free[node] + sum(sizes[name][0] for name in chosen if sizes[name][2] == node) >= wanted for node in free)]
    named = [one["pod"].split("/")[1] for one in answer["victims"]]
    assert answer["statements"][0]["code"] == "Victims" and answer["answer"] == "yes", answer
    assert harm(named) == min(map(harm, options)), (world.seed, named, harm(named), min(map(harm, options)), sizes, free, wanted)
    assert world.phases()["train"][0] == "", "nobody has gone yet"
    for name in named:
        world.api.request("DELETE", f"{PODS}/{name}")
    world.wait_until(lambda phases: phases["train"][1] == "Running", "train to run after its victims went")


def moves(world):
    """Who moves for a claim of a whole node."""
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "whole"},
             "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": DEVICES}}]}}}
    for i in range(NODES):
        template = rest.pod("x", "take-1")
        template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"node-{i}"} if i == 0 else {}
        world.api.create(DEPLOYMENTS, {"metadata": {"name": f"app{i}"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": f"app{i}"}},
                         "template": {"metadata": {"labels": {"app": f"app{i}"}}, "spec": template["spec"]}}})
        if i == 0:
            world.wait_until(lambda phases: len(phases) == 1 and all(phase == "Running" for _, phase in phases.values()), "one pod")
            world.api.request("PATCH", "/api/v1/nodes/node-0", {"spec": {"unschedulable": True}}, MERGE)
    world.wait_until(lambda phases: len(phases) == NODES and all(phase == "Running" for _, phase in phases.values()), "two pods")
    world.api.request("PATCH", "/api/v1/nodes/node-0", {"spec": {"unschedulable": False}}, MERGE)
    answer = world.ask("make-room", "-f", "-", document=json.dumps(claim))
    assert [one["code"] for one in answer["statements"]][:1] == ["Moves"] and len(answer["moves"]) == 1, answer
    moved = answer["moves"][0]
    assert moved["pod"].startswith("default/app1-") and (moved["from"], moved["to"]) == ("node-1", "node-0"), answer
    assert [one["node"] for one in answer["places"]] == ["node-1"], answer
    never = world.ask("make-room", "-f", "-", "--max-moves", "0", document=json.dumps(claim))
    assert never["statements"][0]["code"] == "NeverWhateverMoves" and never["answer"] == "no", never


def main():
    programs = sys.argv[1]
    worlds = int(sys.argv[sys.argv.index("--worlds") + 1]) if "--worlds" in sys.argv else 3
    first = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 1
    fleet = os.path.join(HERE, "..", "..", "build", f"preempt-fleet-{os.getpid()}.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(rest.fleet(NODES, DEVICES))
    try:
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet]) as box:
            admin = rest.Api(box.kubeconfig)
            for name, value in PRIORITIES.items():
                admin.create(CLASSES, {"metadata": {"name": name}, "value": value})
            for count in range(1, DEVICES + 1):
                admin.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template(f"take-{count}", count=count))
            for seed in range(first, first + worlds):
                world = World(box, programs, seed)
                victims(world)
                world.clean()
            world = World(box, programs, first)
            moves(world)
            world.clean()
    finally:
        os.remove(fleet)
    print(f"{worlds} worlds, and one with moves: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
