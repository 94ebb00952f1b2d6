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


def main():
    program = sys.argv[1]
    replayer = os.path.join(data.folder(), "apiserver_replay.py")
    if len(sys.argv) > 2:
        only = sys.argv[2]
    else:
        listing = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apiserver_sequences.txt")
        with open(listing, encoding="utf-8") as lines:
            names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        only = "^(" + "|".join(re.escape(name) for name in names) + ") "
    server = subprocess.Popen([program, "apiserver", "--port", "0", "--token", "admintoken"], stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        found = re.search(r"https://\S+", line)
        if not found:
            print("the server did not start: " + line)
            return 1
        return subprocess.call([sys.executable, replayer, "--server", found.group(0), "--only", only])
    finally:
        server.terminate()
        server.wait(timeout=20)


if __name__ == "__main__":
    sys.exit(main())
