#!/usr/bin/env python3
"""Runs every command of docs/kubectl-dra.md on the cluster of scenario.py and compares its output with the page.
Usage: docs_test.py KUBECTL_DRA [--record]     --record rewrites the page.

In a block of the page a line "$ kubectl dra ..." is a command and the next lines are its output, with "(exit status N)" at the end if it is not 0. A block
with a file's name after "yaml" is written to that file first; the same file is in this folder.
"""
import os
import re
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGE = os.path.join(ROOT, "docs", "kubectl-dra.md")
sys.path.insert(0, HERE)
import scenario  # noqa: E402

SHIM = """#!/bin/sh
# kubectl as far as this page needs it: its plugin, on a snapshot.
shift
case $1 in migrate | completion | version) exec "{program}" "$@" ;; esac
exec "{program}" "$@" --from "{folder}/cluster.dra"
"""


def blocks_of(text):
    """The page as [(info string or None, [lines])]: text between fences has no info string."""
    blocks, current, info = [], [], None
    for line in text.splitlines():
        if line.startswith("```"):
            blocks.append((info, current))
            info = line[3:] if info is None else None
            current = []
        else:
            current.append(line)
    blocks.append((info, current))
    return blocks


def on_the_page(line):
    """The line as a terminal of 80 columns shows it; rows of tables (columns are three blanks apart) stay whole."""
    if len(line) <= 80 or re.search(r"\S {3,}\S", line):
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    later = " " * (indent + 2 if indent else 0)
    return textwrap.wrap(line.lstrip(" "), 80, initial_indent=" " * indent, subsequent_indent=later, break_long_words=False, break_on_hyphens=False)


def run(command, folder):
    environment = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)  # nothing is wrapped in a pipe
    answer = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    lines = answer.stdout.rstrip("\n").split("\n") if answer.stdout.strip() else []
    if " -o " not in command:
        lines = [part for line in lines for part in on_the_page(line)]
    return lines + ([f"(exit status {answer.returncode})"] if answer.returncode else [])


def renew(lines, folder):
    """The lines of a block with the current output of each command."""
    renewed, commands = [], 0
    for line in lines:
        if line.startswith("$ "):
            if renewed:
                renewed.append("")
            renewed.append(line)
            renewed += run(line[2:], folder)
            commands += 1
    return renewed, commands


def main():
    program, record = os.path.abspath(sys.argv[1]), "--record" in sys.argv
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    failures = commands = 0
    out = []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "cluster.dra"), "wb") as snapshot:
            snapshot.write(scenario.build().bytes())
        shim = os.path.join(folder, "kubectl")
        with open(shim, "w", encoding="utf-8") as script:
            script.write(SHIM.format(program=program, folder=folder))
        os.chmod(shim, 0o755)
        for info, lines in blocks_of(text):
            if info is not None:
                out.append("```" + info)
            named = re.fullmatch(r"yaml (\S+)", info or "")
            if named:
                content = "\n".join(lines) + "\n"
                for place in [folder, HERE] if record else [folder]:
                    with open(os.path.join(place, named.group(1)), "w", encoding="utf-8") as file:
                        file.write(content)
                with open(os.path.join(HERE, named.group(1)), encoding="utf-8") as file:
                    if file.read() != content:
                        failures += 1
                        print(f"{named.group(1)} on the page is not that of test/inspect")
            if info == "console":
                renewed, count = renew(lines, folder)
                commands += count
                if renewed != lines and not record:
                    failures += 1
                    print("--- the page shows:\n" + "\n".join(lines) + "\n--- the program prints:\n" + "\n".join(renewed) + "\n")
                lines = renewed
            out += lines
            if info is not None:
                out.append("```")
    if record:
        with open(PAGE, "w", encoding="utf-8") as page:
            page.write("\n".join(out).rstrip("\n") + "\n")
    if commands < 10:
        print(f"only {commands} commands on the page: is it the right one?")
        failures += 1
    print(f"{commands} commands, {failures} blocks differ" + ("; write the page anew with --record" if failures else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
