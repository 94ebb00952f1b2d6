#!/usr/bin/env python3
"""Runs the commands of kubectl.commands with every available kubectl, against `dra-sandbox up`, and compares what they print with the recorded
output (kubectl-1.MINOR.txt). Usage: kubectl_test.py PROGRAM [--record]

What differs from run to run (ages, times, uids, resource versions, generated names) is masked on both sides. For a kubectl version without a
recording only the exit status is compared, with the nearest older recording.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sandbox  # noqa: E402

MASKS = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"(resourceVersion\"?: )\"?\d+\"?", r"\1<version>"),
    (r"(Resource Version:\s+)\d+", r"\1<version>"),
    # The names of generated claims end in a hash of the pod's uid; a proof's in a hash of the allocation.
    (r"(-training-gpu|-mig-devices)-[a-z0-9]{10}\b", r"\1-<hash>"),
    (r"(<uid>/)[0-9a-f]{16,64}", r"\1<hash>"),
    (r"(proven-for:)\s+(<pod>|\S+/<uid>\S*)", r"\1 <pod>"),  # whichever came first, and on a line of its own if there are several
    (r"\b198\.1[89]\.\d+\.\d+\b", "<ip>"),
    (r"https://127\.0\.0\.1:\d+", "<server>"),
    (r"([a-z0-9-]+)-[bcdfghjklmnpqrstvwxz2456789]{10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1-<hash>-<suffix>"),
    (r"\b(\d+[smhd])+\b", "<age>"),
    (r"<invalid>", "<age>"),
]


def mask(text):
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    # Column widths depend on the widest cell, which may be masked.
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines())


def read_commands():
    with open(os.path.join(HERE, "kubectl.commands"), encoding="utf-8") as source:
        return [line.rstrip("\n") for line in source if line.strip() and not line.startswith("#")]


def read_recording(path):
    """[(command, recorded text)]; each command follows "$ ", its exit status is on the last line of its text."""
    recorded = []
    with open(path, encoding="utf-8") as source:
        for line in source.read().splitlines():
            if line.startswith("$ "):
                recorded.append((line[2:], []))
            else:
                recorded[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in recorded]


def run_all(program, kubectl, commands):
    results = []
    with sandbox.Sandbox(program) as box:
        for command in commands:
            quiet = command.startswith("@")
            status, output = box.shell(kubectl, command.lstrip("@"))
            if quiet:
                if status != 0:
                    raise SystemExit(f"preparation failed with status {status}: {command}\n{output}")
                continue
            results.append((command, (mask(output) + f"\n[exit status {status}]").lstrip("\n")))
    return results


def compare(results, recorded, whole):
    if [command for command, _ in results] != [command for command, _ in recorded]:
        print("kubectl.commands has changed since the recording; record again with --record")
        return len(results)
    failures = 0
    for (command, text), (_, expected) in zip(results, recorded):
        if not whole:
            text, expected = text.splitlines()[-1], expected.splitlines()[-1]
        if text != expected:
            failures += 1
            print(f"--- $ {command}\nexpected:\n{expected}\ngot:\n{text}\n")
    return failures


def main():
    program, record = sys.argv[1], "--record" in sys.argv
    commands = read_commands()
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    passed = failed = 0
    for minor, kubectl in kubectls:
        path = os.path.join(HERE, f"kubectl-1.{minor}.txt")
        results = run_all(program, kubectl, commands)
        if record:
            with open(path, "w", encoding="utf-8") as out:
                for command, text in results:
                    out.write(f"$ {command}\n{text}\n")
            continue
        older = [m for m in range(minor + 1) if os.path.exists(os.path.join(HERE, f"kubectl-1.{m}.txt"))]
        recorded = read_recording(os.path.join(HERE, f"kubectl-1.{older[-1]}.txt"))
        failures = compare(results, recorded, older[-1] == minor)
        print(f"kubectl 1.{minor}: {len(results)} commands, {failures} differ from the recording of 1.{older[-1]}")
        passed, failed = passed + len(results) - failures, failed + failures
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
