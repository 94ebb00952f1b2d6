#!/usr/bin/env python3
"""Runs the demo and compares what it prints with docs/demo.txt, names and times masked. Usage: demo_test.py FOLDER_OF_PROGRAMS [--record]"""
import difflib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kubectl_test  # noqa: E402
import sandbox  # noqa: E402

RECORDED = os.path.join(sandbox.ROOT, "docs/demo.txt")


def mask(text):
    text = kubectl_test.mask(text)
    text = re.sub(r"finetune-qwen-[a-z0-9]{5}\b", "finetune-qwen-<suffix>", text)
    # The names of generated claims end in a hash of the pod's uid.
    text = re.sub(r"((?:finetune-qwen|mig-inference)[a-z0-9<>-]*?)-(training-gpu|mig-devices)-[a-z0-9]+", r"\1-\2-<hash>", text)
    text = re.sub(r"in \d+\.\d s", "in <seconds> s", text)
    # Replicas are spread over nodes once ReplicaSets are listed. Pods wait for the first list, but at most 1 s: on an overloaded machine the second
    # replica may be placed without it, and what comes later goes elsewhere, too. The demo itself checks its claim about them (show_mig_parents).
    text = re.sub(r"^((?:mig-inference|training)\S+ .*?)\b[ah]100-\d\b", r"\1<node>", text, flags=re.M)
    text = re.sub(r"\bgpu-\d+-mig-", "gpu-<number>-mig-", text)
    # Rows are sorted by names that differ from run to run; the order within a table has no meaning.
    return sorted_tables(text)


def sorted_tables(text):
    out, table = [], []
    for line in text.splitlines() + [""]:
        if line.startswith(("$", "#")) or not line:
            out += table[:1] + sorted(table[1:]) + [line]
            table = []
        else:
            table.append(line)
    return "\n".join(out).rstrip()


def main():
    if not sandbox.find_kubectls():
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    answer = subprocess.run([sys.executable, os.path.join(sandbox.ROOT, "scripts/demo"), sys.argv[1]], capture_output=True, text=True, timeout=300)
    if answer.returncode != 0:
        print(answer.stdout[-3000:] + answer.stderr[-3000:])
        return 1
    if "--record" in sys.argv:
        with open(RECORDED, "w", encoding="utf-8") as out:
            out.write(answer.stdout)
        return 0
    with open(RECORDED, encoding="utf-8") as recorded:
        expected, got = mask(recorded.read()), mask(answer.stdout)
    if expected != got:
        print("\n".join(difflib.unified_diff(expected.splitlines(), got.splitlines(), "docs/demo.txt", "this run", lineterm="")))
        return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
