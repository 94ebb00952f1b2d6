#!/usr/bin/env python3
"""The archives of a release where glibc is older (2.31): their programs start, in a root that has Debian 11's libc6 and shell and nothing else.

Usage: old_glibc_test.py RELEASE       # scripts/fetch-test-tools --release unpacks the root
"""
import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = {"dra-controller-manager": "--version", "kubectl-dra": "--version", "dra-sandbox": "up --help"}
OLD = os.path.join(ROOT, "build/tools/glibc-2.31")


def shell(root, command, **environment):
    return subprocess.run(["unshare", "--user", "--map-root-user", f"--root={root}", "/bin/dash", "-c", command], capture_output=True, text=True,
                          env={"PATH": "/bin", **environment}, timeout=60, check=False)


def check(archive, root):
    """The shell of this root runs with glibc 2.31, and our program cannot; started as the archive starts it, it can."""
    with tarfile.open(archive) as tar:
        tar.extractall(root)
    program, = glob.glob(os.path.join(root, "**/libexec/kubectl-dra"), recursive=True)
    libexec = os.path.dirname("/" + os.path.relpath(program, root))
    top = os.path.dirname(libexec)
    library = "/lib/x86_64-linux-gnu/libc.so.6"
    assert " 2.31" in shell(root, library).stdout, shell(root, library)
    passed = 0
    for name in sorted(os.listdir(os.path.join(root, libexec.lstrip("/")))):
        words = WORDS[name]
        alone = shell(root, f"{libexec}/{name} {words}")
        assert alone.returncode != 0, f"{name} starts with glibc 2.31 by itself, so this root shows nothing"
        # A user's variable leads to the older libraries; a link leads to the program, as krew's does.
        os.symlink(f"{top}/bin/{name}", os.path.join(root, "linked-" + name))
        for command in (f"{top}/bin/{name} {words}", f"/linked-{name} {words}"):
            for environment in ({}, {"LD_LIBRARY_PATH": "/lib/x86_64-linux-gnu"}):
                done = shell(root, command, **environment)
                assert done.returncode == 0 and done.stdout, (command, environment, done)
                passed += 1
    return passed


def main():
    release = os.path.abspath(sys.argv[1])
    if not os.access(os.path.join(OLD, "bin/dash"), os.X_OK) or subprocess.run(["unshare", "--user", "--map-root-user", "true"], check=False).returncode != 0:
        print(f"skipped: {OLD} is not there (scripts/fetch-test-tools --release), or no user namespaces here")
        return 77
    archives = sorted(glob.glob(os.path.join(release, "*-linux-amd64.tar.gz")))
    assert len(archives) == 2, archives
    passed = 0
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="dra-old-glibc-") as place:
            root = os.path.join(place, "root")
            shutil.copytree(OLD, root, symlinks=True)
            passed += check(archive, root)
    print(f"{passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
