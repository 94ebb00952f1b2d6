#!/usr/bin/env python3
"""Starts `dra-sandbox apiserver` and replays recorded request sequences against it.

usage: apiserver_replay_test.py PROGRAM [REGEX]
REGEX chooses sequences; without it those listed in apiserver_sequences.txt. Fails if a sequence is listed and not recorded, or recorded and neither
listed nor left out by name (a smaller set of recordings, as in test/data, need not have them all), and if a request was not sent.
"""
import json
import os
import re
import subprocess
import sys

import data

LISTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apiserver_sequences.txt")


def read_list(path):
    """({name: the version that must be switched on for it, "" for none}, the names that are left out)."""
    names, left_out = {}, set()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, _, version = line.strip().partition(" ")
                if name == "-":
                    left_out.add(version)
                else:
                    names[name] = version
    return names, left_out


def read_recordings(path):
    """{name: sequence}"""
    with open(path, encoding="utf-8") as file:
        return {sequence["id"]: sequence for sequence in json.load(file)["sequences"]}


def disagreements(names, left_out, recorded, whole):
    """What keeps the list and the recordings from being compared in full, as lines."""
    lines = [f"{name} is recorded, and neither listed nor left out" for name in recorded if name not in names and name not in left_out]
    if whole:
        lines += [f"{name} is listed and not recorded" for name in (*names, *sorted(left_out)) if name not in recorded]
    if not any(name in names for name in recorded):
        lines.append("none of the listed sequences is recorded")
    return lines


def was_replayed(output, steps):
    """Whether the replayer's output says that each of so many requests was sent and compared; prints why not."""
    if "\n0 sequences skipped" not in "\n" + output:
        print("a sequence was skipped: the server does not serve what it needs")
        return False
    counts = re.search(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
    compared = sum(map(int, counts.groups())) if counts else 0
    if not steps or compared != steps:
        print(f"{compared} of {steps} requests were compared")
        return False
    return True


def replay(program, version, only, steps):
    arguments = ["--runtime-config", version + "=true"] if version else []
    server = subprocess.Popen([program, "apiserver", "--port", "0", "--token", "admintoken", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        found = re.search(r"https://\S+", line)
        if not found:
            print("the server did not start: " + line)
            return 1
        replayer = [sys.executable, os.path.join(data.folder(), "apiserver_replay.py"), "--server", found.group(0), "--only", only]
        done = subprocess.run(replayer, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="")
        return done.returncode if was_replayed(done.stdout, steps) else 1
    finally:
        server.terminate()
        server.wait(timeout=20)


def main():
    recorded = read_recordings(os.path.join(data.folder(), "apiserver_golden.json"))
    if len(sys.argv) > 2:
        # As the replayer chooses them.
        steps = sum(len(q["steps"]) for q in recorded.values() if re.search(sys.argv[2], q["id"] + " " + " ".join(q["tags"])))
        return replay(sys.argv[1], "", sys.argv[2], steps)
    names, left_out = read_list(LISTED)
    wrong = disagreements(names, left_out, recorded, data.is_whole())
    print("".join(line + "\n" for line in wrong), end="")
    status = 1 if wrong else 0
    for version in sorted(set(names.values())):
        chosen = [name for name, of in names.items() if of == version and name in recorded]
        if chosen:
            only = "^(" + "|".join(map(re.escape, chosen)) + ") "
            status = max(status, replay(sys.argv[1], version, only, sum(len(recorded[name]["steps"]) for name in chosen)))
    return status


if __name__ == "__main__":
    sys.exit(main())
