#!/usr/bin/env python3
"""Runs each manifest of examples/drivers and examples/pairs in a sandbox of its own, with the fleet of its folder, and compares the devices that its pods
get with expected.txt of the folder.
Usage: examples_test.py FOLDER_OF_PROGRAMS [--record] [drivers|pairs] [MANIFEST...]

expected.txt has a paragraph for each manifest: its name, then a line for each device, "POD REQUEST DEVICE" (DRIVER/POOL/DEVICE, with the consumed
capacity of a shared one). Random suffixes of pod names are left out, and servers of examples/pairs are numbered anew. A pod without devices has no line."""
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sandbox  # noqa: E402

FOLDERS = ("drivers", "pairs")


def path_of(folder, name):
    return os.path.join(sandbox.ROOT, "examples", folder, name)


def read_expected(folder):
    out, name = {}, None
    with open(path_of(folder, "expected.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") or not line.strip():
                continue
            if line.startswith(" "):
                out[name].append(line.strip())
            else:
                name = line.strip()
                out[name] = []
    return out


def plain_name(pod):
    """The name without its random parts."""
    prefix = pod["metadata"].get("generateName", "").rstrip("-")
    owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
    if owner.get("kind") == "StatefulSet":
        return pod["metadata"]["name"]
    if owner.get("kind") == "ReplicaSet":
        return prefix.rsplit("-", 1)[0]
    return prefix or owner.get("name") or pod["metadata"]["name"]


def number_servers(lines):
    """The servers of examples/pairs are alike, and which one is chosen depends on whose slices come first: they are numbered in the order of the lines."""
    numbers = {}
    return [re.sub(r"/server-(\d+)/", lambda found: f"/server-{numbers.setdefault(found.group(1), len(numbers))}/", line) for line in lines]


def devices_of(box, kubectl):
    """(lines, settled): a line for each device of each pod; settled when every pod runs."""
    pods = box.get(kubectl, "pods -A").get("items", [])
    claims = box.get(kubectl, "resourceclaims -A").get("items", [])
    lines = []
    for pod in pods:
        for claim in claims:
            status = claim.get("status", {})
            if not any(r["uid"] == pod["metadata"]["uid"] for r in status.get("reservedFor", [])):
                continue
            for result in status["allocation"]["devices"]["results"]:
                used = "".join(f" {key}={value}" for key, value in sorted(result.get("consumedCapacity", {}).items()))
                admin = " (admin access)" if result.get("adminAccess") else ""
                lines.append(f"{plain_name(pod)} {result['request']} {result['driver']}/{result['pool']}/{result['device']}{used}{admin}")
    return number_servers(sorted(lines)), bool(pods) and all(p.get("status", {}).get("phase") == "Running" for p in pods)


def run(program, kubectl, folder, manifest, expected):
    """The devices of the manifest's pods: the expected lines as soon as they are complete, otherwise the lines after 15 s."""
    with sandbox.Sandbox(program, ["--fleet", path_of(folder, "fleet.yaml")]) as box:
        status, text = box.shell(kubectl, f"kubectl apply -f {path_of(folder, manifest)}")
        if status != 0:
            return ["refused: " + text.strip()]
        end = time.monotonic() + 15
        settled_since = None
        while time.monotonic() < end:
            lines, settled = devices_of(box, kubectl)
            if settled and lines == expected:
                return lines
            # A recording waits until nothing changes any more.
            settled_since = (settled_since or time.monotonic()) if settled else None
            if settled_since and time.monotonic() - settled_since > 2:
                break
            time.sleep(0.1)
        if settled:
            return lines
        events = box.shell(kubectl, "kubectl get events -A -o custom-columns=R:.reason,M:.message --no-headers | sort -u | tail -5")[1]
        return lines + ["not all pods run: " + events.strip()]


def main():
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    program = os.path.join(sys.argv[1], "dra-sandbox")
    words = [a for a in sys.argv[2:] if not a.startswith("--")]
    failed = 0
    for folder in [word for word in words if word in FOLDERS] or FOLDERS:
        failed += judge(program, kubectls[-1][1], folder, [word for word in words if word not in FOLDERS])
    return 1 if failed else 0


def judge(program, kubectl, folder, manifests):
    """How many manifests of the folder failed; all if none is named."""
    record, every = "--record" in sys.argv, not manifests
    manifests = manifests or sorted(name for name in os.listdir(path_of(folder, "")) if re.match(r"\d\d-.*\.yaml$", name))
    expected = {} if record else read_expected(folder)
    got, failed = {}, 0
    for manifest in manifests:
        got[manifest] = run(program, kubectl, folder, manifest, expected.get(manifest))
        if not record and got[manifest] != expected.get(manifest):
            failed += 1
            print(f"FAILED: {folder}/{manifest}\n  expected {expected.get(manifest)}\n  got      {got[manifest]}")
    if record:
        with open(path_of(folder, "expected.txt"), "w", encoding="utf-8") as out:
            out.write("# The devices that the pods of each manifest get on the fleet of fleet.yaml: POD REQUEST DRIVER/POOL/DEVICE.\n"
                      "# test/e2e/examples_test.py compares them; --record writes this file, to be read line by line.\n")
            for manifest in manifests:
                out.write(f"\n{manifest}\n" + "".join(f"  {line}\n" for line in got[manifest]))
        return 0
    for manifest in set(expected) - set(manifests) if every else ():
        failed += 1
        print(f"FAILED: {manifest} is expected and does not exist")
    print(f"examples/{folder}: {len(manifests) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
