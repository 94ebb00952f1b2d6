#!/usr/bin/env python3
"""The servers' memory is jemalloc's, with the settings of cmd/heap.cc: freed pages go back to the system without work of ours.

  heap_test.py PROGRAM..."""
import os
import re
import subprocess
import sys

SETTINGS = {"background_thread": "true", "dirty_decay_ms": "500", "muzzy_decay_ms": "0", "narenas": "4"}


def main():
    wrong = []
    for program in sys.argv[1:]:
        # jemalloc then prints its settings when the process ends.
        environment = {**os.environ, "MALLOC_CONF": "stats_print:true,stats_print_opts:mdablxe"}
        said = subprocess.run([program, "--help"], env=environment, capture_output=True, text=True, timeout=60, check=True).stderr
        found = dict(re.findall(r"opt\.(\w+): \"?([\w-]+)", said))
        wrong += [f"{program}: {name} is {found.get(name)}, not {value}" for name, value in SETTINGS.items() if found.get(name) != value]
    print("\n".join(wrong) or f"{len(sys.argv) - 1} programs have the settings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
