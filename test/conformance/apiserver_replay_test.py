#!/usr/bin/env python3
"""Starts `dra-sandbox apiserver` and replays recorded request sequences against it.

usage: apiserver_replay_test.py PROGRAM [REGEX]
REGEX chooses sequences; without it those listed in apiserver_sequences.txt.
"""
import os
import re
import subprocess
import sys

import data


def listed():
    """Names by the version that must be switched on for them; "" for none."""
    names = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "apiserver_sequences.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, _, version = line.strip().partition(" ")
                names.setdefault(version, []).append(name)
    return {version: "^(" + "|".join(re.escape(name) for name in of) + ") " for version, of in names.items()}


def replay(program, version, only):
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
        if "\n0 sequences skipped" not in "\n" + done.stdout:
            print("a sequence was skipped: the server does not serve what it needs")
            return 1
        return done.returncode
    finally:
        server.terminate()
        server.wait(timeout=20)


def main():
    chosen = {"": sys.argv[2]} if len(sys.argv) > 2 else listed()
    return max([replay(sys.argv[1], version, only) for version, only in chosen.items()])


if __name__ == "__main__":
    sys.exit(main())
