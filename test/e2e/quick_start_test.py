#!/usr/bin/env python3
"""The quick start works as printed: the commands of README.md and of docs/user/quick-start.md are read from a fresh clone and run there, word by word.

What costs minutes elsewhere is replaced: `make` checks that the target exists in the clone, and uses the programs that are built already; `.ci/run` has run the
real `make demo`. /tmp/sandbox is a file in the test's own folder. On the cluster's half, `helm` is real and talks to the sandbox; what needs a registry, a
kubelet or names of the reader's is checked for its form only.

Usage: quick_start_test.py FOLDER_OF_PROGRAMS
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sandbox  # noqa: E402

STARTS_THE_SERVER = "dra-sandbox up"
# Commands of the cluster's half that cannot run here, and why.
FORM_ONLY = {
    "skopeo copy": "needs a registry",
    "rollout status": "needs kubelets",
    "helm test": "needs kubelets",
    "kubectl -n NAME": "NAME and POD are the reader's",
    "kubectl label namespace NAME": "NAME is the reader's",
}
MAKE = """#!/bin/sh
# The target exists; the programs are those that the test was given. The demonstration takes seconds: it runs once.
/usr/bin/make -n "$1" >/dev/null || exit 2
[ "$1" = demo ] && [ ! -e demonstrated ] || exit 0
scripts/demo build/quick/bin && touch demonstrated
"""


def section(page, title):
    found = re.search(rf"^## {re.escape(title)}.*?$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"no section {title!r}")
    return found.group(1)


def blocks_of(text):
    """The commands of each block: fenced as sh, or indented by four spaces."""
    fenced = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:^    (?! *[-*|]).*\n)+", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    for block in fenced + indented:
        joined = re.sub(r"\\\n\s*", "", block)
        yield [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]


class Reader:
    """Somebody who has cloned the project and types what a page says."""

    def __init__(self, folder, programs, kubectl):
        self.folder, self.clone, self.tools = folder, os.path.join(folder, "clone"), os.path.join(folder, "tools")
        self.servers, self.failures, self.ran = [], [], 0
        subprocess.run(["git", "clone", "--quiet", sandbox.ROOT, self.clone], check=True, timeout=120)
        os.makedirs(self.tools)
        os.makedirs(os.path.join(self.clone, "build/quick"))
        os.symlink(programs, os.path.join(self.clone, "build/quick/bin"))
        for name, text in (("make", MAKE), ("docker", "exit 1\n")):
            path = os.path.join(self.tools, name)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, 0o755)
        os.symlink(kubectl, os.path.join(self.tools, "kubectl"))
        helm = os.path.join(sandbox.ROOT, "build/tools/helm3")
        self.helm = os.access(helm, os.X_OK)
        if self.helm:
            os.symlink(helm, os.path.join(self.tools, "helm"))
        self.environment = {**os.environ, "PATH": self.tools + ":" + os.environ["PATH"], "HOME": folder, "TERM": "dumb"}
        self.environment.pop("KUBECONFIG", None)

    def here(self, command):
        return command.replace("/tmp/sandbox", os.path.join(self.folder, "kubeconfig"))

    def type(self, command):
        """One line; export changes what later lines see."""
        print(f"$ {command}", flush=True)
        self.ran += 1
        if STARTS_THE_SERVER in command:
            return self.start(command)
        answer = subprocess.run(["bash", "-c", self.here(command.split("  #")[0]) + "\nstatus=$?\nenv -0 >&9\nexit $status"], cwd=self.clone, env=self.environment,
                                capture_output=True, text=True, timeout=300, pass_fds=(9,), check=False)
        with open(os.path.join(self.folder, "environment"), encoding="utf-8") as lines:
            after = dict(item.split("=", 1) for item in lines.read().split("\0") if "=" in item)
        os.truncate(9, 0)
        os.lseek(9, 0, os.SEEK_SET)
        self.environment.update({name: after[name] for name in ("PATH", "KUBECONFIG") if name in after})
        print(answer.stdout[-600:] + answer.stderr[-600:], flush=True)
        if answer.returncode != 0 or "error" in answer.stderr.lower():
            self.failures.append(f"{command}: status {answer.returncode}\n{answer.stdout[-1500:]}{answer.stderr[-1500:]}")
        return answer.stdout

    def start(self, command):
        log = os.path.join(self.folder, f"server-{len(self.servers)}")
        with open(log, "w", encoding="utf-8") as out:
            server = subprocess.Popen(["bash", "-c", "exec " + self.here(command.split("  #")[0])], cwd=self.clone, env=self.environment, stdout=out, stderr=out,
                                      stdin=subprocess.DEVNULL)
        self.servers.append(server)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with open(log, encoding="utf-8") as text:
                if "is ready" in text.read():
                    return ""
            if server.poll() is not None:
                break
            time.sleep(0.05)
        with open(log, encoding="utf-8") as text:
            self.failures.append(f"{command}: not ready\n{text.read()[-1500:]}")
        return ""

    def stop(self):
        for server in self.servers:
            if server.poll() is None:
                server.send_signal(signal.SIGINT)  # Ctrl-C
                if server.wait(timeout=15) != 0:
                    self.failures.append("the server ended with another status than 0 after Ctrl-C")
        self.servers = []

    def page(self, name):
        with open(os.path.join(self.clone, name), encoding="utf-8") as text:
            return text.read()


def laptop(reader):
    commands = [command for block in blocks_of(section(reader.page("docs/user/quick-start.md"), "On a laptop")) for command in block]
    said = {command: reader.type(command) for command in commands}
    shown = "\n".join(text for text in said.values() if text)
    for expected in ("deviceclass", "resourceslice", "mig", "allocated"):
        if expected not in shown:
            reader.failures.append(f"the laptop's half shows no {expected!r}")


def readme(reader):
    page = reader.page("README.md")
    for title in ("Two commands", "Try it by hand"):
        for block in blocks_of(section(page, title)):
            for command in block:
                reader.type(command)


def cluster(reader):
    """Against the sandbox that the laptop's half started."""
    page = reader.page("docs/user/quick-start.md")
    checked = 0
    for title in ("On a cluster", "Let one namespace opt in"):
        for block in blocks_of(section(page, title)):
            for command in block:
                why = next((why for start, why in FORM_ONLY.items() if start in command), None)
                if why or (command.startswith("helm ") and not reader.helm):
                    checked += 1
                    print(f"# {command}: {why or 'no Helm in build/tools'}")
                    if subprocess.run(["bash", "-n", "-c", command], check=False, timeout=30).returncode != 0:
                        reader.failures.append(f"{command}: the shell cannot read it")
                    continue
                reader.type(command)
    if checked < 4:
        reader.failures.append("the cluster's half has changed: look at FORM_ONLY")


def main():
    kubectls = sandbox.find_kubectls()
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=sandbox.ROOT, capture_output=True, check=False).returncode != 0:
        print("skipped: not a clone, so it cannot be cloned")
        return 77
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dra-quick-start-") as folder:
        seen = os.open(os.path.join(folder, "environment"), os.O_RDWR | os.O_CREAT)
        os.dup2(seen, 9, inheritable=True)
        reader = Reader(folder, os.path.abspath(sys.argv[1]), kubectls[-1][1])
        try:
            laptop(reader)
            cluster(reader)
            reader.stop()
            readme(reader)
        finally:
            reader.stop()
    for failure in reader.failures:
        print("FAILED: " + failure)
    print(f"{reader.ran} commands, {len(reader.failures)} failed, {time.monotonic() - began:.1f} s")
    return 1 if reader.failures or reader.ran < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
