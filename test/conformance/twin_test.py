#!/usr/bin/env python3
"""Sends the sequences of own_sequences.py and edge_sequences.py to a real API server ($KUBEBUILDER_ASSETS: etcd, kube-apiserver) and to `dra-sandbox apiserver`, and
compares the answers, normalised by the replayer of the recordings (data.py).

usage: twin_test.py PROGRAM [--only REGEX] [--keep FILE] [--from FILE] [--least PERCENT] [--mutations N [--seed S]]
--mutations: instead of those, N of the recorded sequences of ../shared/conformance with changes at random places (mutated_sequences.py).
--keep: save the real server's answers; --from: compare with saved answers instead of a real server. Steps that the real server answers
differently a second time are left out, and counted. Exit status 77 (skipped) without the binaries or the replayer."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]
import data  # noqa: E402
import edge_sequences  # noqa: E402,F401
import mutated_sequences  # noqa: E402
import own_sequences  # noqa: E402
import real_cluster  # noqa: E402

# Their texts contain a diff of Go structs, or come from the Go YAML parser, which this server does not imitate: as for the steps of
# apiserver_tolerant.txt, only status, reason, details and the causes' reasons and fields are compared.
TOLERANT = ("own-pod-gates / 10", "own-pod-claims / 8", "own-volumes / 3", "own-appliers / 14")
# Their messages show whole documents in the order of Go's fields, or come from Go's parsers.
TOLERANT_SEQUENCES = ("own-time-", "own-integer-", "own-yaml-", "own-body-", "own-identity-", "own-apply-identity", "own-selector-syntax",
                      "own-pod-level / 39", "own-pod-level / 40")
FLAGS = ("--disable-admission-plugins=ServiceAccount", "--runtime-config=resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true,resource.k8s.io/v1alpha3=true",
         "--feature-gates=DRADeviceTaintRules=true")


def replay(replayer, url, token, *arguments):
    """Runs the replayer; returns its output."""
    command = [sys.executable, replayer, "--server", url, "--admin-token", token, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def chosen_sequences(options, replayer):
    if not options.mutations:
        return [q for q in own_sequences.SEQUENCES if not options.only or re.search(options.only, q["id"] + " own")]
    print(f"seed {options.seed}")
    with open(os.path.join(os.path.dirname(replayer), "apiserver_golden.json"), encoding="utf-8") as file:
        return mutated_sequences.sequences(json.load(file)["sequences"], options.mutations, options.seed)


def ask_real_server(replayer, sequences, path):
    """Writes the sequences with the real server's answers; returns the failures of a second round ("id / step")."""
    with tempfile.TemporaryDirectory() as folder, real_cluster.RealCluster(server_flags=FLAGS) as cluster:
        asked = os.path.join(folder, "asked.json")
        with open(asked, "w", encoding="utf-8") as out:
            json.dump({"sequences": sequences}, out)
        url, token = f"https://127.0.0.1:{cluster.port}", cluster.tokens["admin"]
        print(replay(replayer, url, token, "--record", asked, path).strip(), flush=True)
        again = replay(replayer, url, token, "--golden", path, "--ns-prefix", "probe-api-s")
        return [line[5:].split(": ")[0] for line in again.splitlines() if line.startswith("FAIL ")]


def tolerant_steps(path, folder):
    """The file with the full names of TOLERANT."""
    out = os.path.join(folder, "tolerant.txt")
    with open(path, encoding="utf-8") as file, open(out, "w", encoding="utf-8") as lines:
        names = (f"{q['id']} / {s['name']}" for q in json.load(file)["sequences"] for s in q["steps"])
        tolerant = {line.strip() for line in open(os.path.join(data.folder(), "apiserver_tolerant.txt"), encoding="utf-8")}
        lines.writelines(name + "\n" for name in names
                         if name.startswith((*(t + " " for t in TOLERANT), *TOLERANT_SEQUENCES)) or name.split(" of ")[-1] in tolerant)
    return out


def ask_ours(program, replayer, path, only, folder):
    server = subprocess.Popen([program, "apiserver", "--port", "0", "--token", "admintoken"], stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"https://\S+", server.stdout.readline()).group(0)
        return replay(replayer, url, "admintoken", "--golden", path, "--tolerant", tolerant_steps(path, folder), *(["--only", only] if only else []))
    finally:
        server.terminate()
        server.wait(timeout=20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only")
    parser.add_argument("--keep")
    parser.add_argument("--from", dest="recorded")
    parser.add_argument("--least", type=float, default=98.5)
    parser.add_argument("--mutations", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    replayer = os.path.join(data.folder(), "apiserver_replay.py")
    if not (options.recorded or real_cluster.RealCluster.available()):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = options.recorded or options.keep or os.path.join(folder, "answers.json")
        if not options.recorded:
            unstable = ask_real_server(replayer, chosen_sequences(options, replayer), path)
            with open(path, encoding="utf-8") as file:
                # A binary built from vendored sources names its files differently.
                recorded = json.loads(file.read().replace("k8s.io/kubernetes/pkg/api/legacyscheme", "pkg/api/legacyscheme"))
            for sequence in recorded["sequences"]:
                for step in sequence["steps"]:
                    step["unstable"] = f"{sequence['id']} / {step['name']}" in unstable
            with open(path, "w", encoding="utf-8") as out:
                json.dump(recorded, out, indent=1)
        with open(path, encoding="utf-8") as file:
            recorded = json.load(file)["sequences"]
        unstable = {f"{q['id']} / {s['name']}" for q in recorded for s in q["steps"] if s.get("unstable")}
        asked = sum(len(q["steps"]) for q in recorded if not options.only or re.search(options.only, q["id"] + " own")) - len(unstable)
        failed, counts = 0, True
        for line in ask_ours(options.program, replayer, path, options.only, folder).splitlines():
            if line.startswith("FAIL "):
                counts = line[5:].split(": ")[0] not in unstable
                failed += counts
            if counts:
                print(line)
    share = 100 * (asked - failed) / max(asked, 1)
    print(f"{asked} requests, {failed} answered differently, {len(unstable)} left out: the real server's own answers differ; {share:.2f} % agree")
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
