#!/usr/bin/env python3
"""kill -9 of the manager again and again while pods are created and deleted: the work completes, nothing is duplicated or leaked.

Usage: crash_test.py FOLDER_OF_PROGRAMS [--rounds N] [--seed N]
"""
import os
import random
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

NODES, DEVICES, PODS = 8, 4, 24
PODS_PATH = "/api/v1/namespaces/default/pods"
CLAIMS_PATH = rest.RESOURCE + "/namespaces/default/resourceclaims"


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def problems(claims, pods):
    """States that are wrong at any moment: a device held twice, two claims for one pod's entry."""
    held = [device for claim in claims for device in rest.devices_of(claim)]
    found = [f"device held twice: {device}" for device in set(held) if held.count(device) > 1]
    owners = [claim["metadata"]["ownerReferences"][0]["uid"] for claim in claims]
    found += [f"two claims for pod uid {uid}" for uid in set(owners) if owners.count(uid) > 1]
    return found


def wait(box, api, condition, what):
    def check():
        claims, pods = api.items(CLAIMS_PATH), api.items(PODS_PATH)
        bad = problems(claims, pods)
        if bad:
            raise SystemExit(f"crash_test: {bad}")
        return condition(claims, pods)
    box.wait_for(check, 90, what)


def one_round(box, api, new_manager, chance, number):
    names = [f"r{number}-{i}" for i in range(PODS)]
    api.many([lambda n=n: api.create(PODS_PATH, rest.pod(n, "gpu")) for n in names])
    for _ in range(3):
        time.sleep(chance.uniform(0.0, 0.25))
        new_manager.kill()
        new_manager.start()
    wait(box, api, lambda claims, pods: sum(p["status"].get("phase") == "Running" for p in pods) == PODS, f"{PODS} running pods in round {number}")
    api.many([lambda n=n: api.request("DELETE", f"{PODS_PATH}/{n}") for n in names])
    time.sleep(chance.uniform(0.0, 0.2))
    new_manager.kill()
    new_manager.start()
    wait(box, api, lambda claims, pods: not claims and not pods, f"everything to be gone in round {number}")


def run(box, programs, rounds, chance):
    api = rest.Api(box.kubeconfig)
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu"))
    manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log"),
                               ["--leader-elect=false"]).start()
    for number in range(rounds):
        one_round(box, api, manager, chance, number)
    status = manager.stop()
    if status != 0:
        raise SystemExit(f"crash_test: the manager ended with status {status} after SIGTERM:\n{manager.log()[-2000:]}")


def main():
    programs, rounds, seed = sys.argv[1], option("--rounds", 3), option("--seed", int(time.time()))
    print(f"seed {seed}")
    chance = random.Random(seed)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(rest.fleet(NODES, DEVICES))
        fleet.flush()
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet.name]) as box:
            run(box, programs, rounds, chance)
    print(f"{rounds} rounds of {PODS} pods with 4 kills each: nothing duplicated, nothing leaked")
    print(f"{rounds} passed, 0 failed")


if __name__ == "__main__":
    main()
