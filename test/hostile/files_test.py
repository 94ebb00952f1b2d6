#!/usr/bin/env python3
"""Files and access of the sandbox: only their owner can read the kubeconfig and the database, which are never written through links that others
placed there; the administrator's token is new at every start; a fixed token, or a server that permits everything, needs a loopback address.

  files_test.py PROGRAMS_FOLDER"""
import os
import re
import stat
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/e2e")]
import sandbox  # noqa: E402

wrong = []


def expect(condition, what):
    print(("ok: " if condition else "not so: ") + what)
    if not condition:
        wrong.append(what)


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def token(path):
    with open(path, encoding="utf-8") as source:
        return re.search(r"token: \"([^\"]*)\"", source.read()).group(1)


def refused(program, arguments, why):
    answer = subprocess.run([program, "apiserver", "--port", "0", *arguments], capture_output=True, text=True, timeout=20)
    expect(answer.returncode != 0 and why in answer.stderr, f"{' '.join(arguments)} is refused: {answer.stderr.strip()[:200]}")


def main():
    program = os.path.join(sys.argv[1], "dra-sandbox")
    tokens = set()
    os.umask(0)
    with tempfile.TemporaryDirectory(prefix="dra-hostile-") as folder:
        victim = os.path.join(folder, "victim")
        with open(victim, "w", encoding="utf-8") as target:
            target.write("untouched")
        for _ in range(2):
            box = sandbox.Sandbox(program, ["--data-dir", os.path.join(folder, "data")], command="apiserver", ready_line="serving on")
            # A user who can write in the folder tries to redirect the token.
            for name in (".new", ".tmp", ""):
                os.symlink(victim, box.kubeconfig + name)
            with box:
                box.wait_for(lambda: not os.path.islink(box.kubeconfig), 10, "the kubeconfig to replace the link")
                tokens.add(token(box.kubeconfig))
                expect(mode(box.kubeconfig) == 0o600, "the kubeconfig is for its owner alone")
                expect(all(mode(os.path.join(folder, "data", f)) & 0o077 == 0 for f in os.listdir(os.path.join(folder, "data"))),
                       "so is all of the database")
                expect([f for f in os.listdir(box.folder) if f.startswith("kubeconfig.") and f[11:] not in ("new", "tmp")] == [],
                       "no temporary file is left")
        with open(victim, encoding="utf-8") as target:
            expect(target.read() == "untouched", "nothing was written through a link")
        expect(len(tokens) == 2 and all(len(t) >= 32 for t in tokens), "the token is new at every start")
        linked = os.path.join(folder, "linked")
        os.mkdir(linked)
        os.symlink(victim, os.path.join(linked, "objects.db"))
        refused(program, ["--data-dir", linked], "symbolic link")
    refused(program, ["--token", "fixed", "--bind-address", "0.0.0.0"], "loopback")
    refused(program, ["--token", "fixed", "--bind-address", "::"], "loopback")
    for address in ("0.0.0.0", "::", "192.0.2.1"):
        refused(program, ["--authorization-mode", "AlwaysAllow", "--bind-address", address], "AlwaysAllow: everybody who reaches the server")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
