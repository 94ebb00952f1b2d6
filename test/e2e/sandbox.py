"""Starts `dra-sandbox up` for a demo or a test, and runs kubectl against it. Python's standard library only."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_kubectls():
    """The available kubectl programs, as [(minor version, path)], oldest first: Debian's from build/tools, and the one on PATH."""
    found = {}
    for path in (os.path.join(ROOT, "build/tools/usr/bin/kubectl"), shutil.which("kubectl")):
        if not path or not os.access(path, os.X_OK):
            continue
        answer = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=30)
        try:
            version = json.loads(answer.stdout)["clientVersion"]["gitVersion"]
        except (ValueError, KeyError):
            continue
        found.setdefault(int(re.match(r"v1\.(\d+)", version).group(1)), path)
    return sorted(found.items())


class Sandbox:
    """A running sandbox. Use as a context manager; leaving it stops the process and checks its exit status."""

    def __init__(self, program, arguments=(), command="up", ready_line="is ready", ready_within=30):
        self.folder = tempfile.mkdtemp(prefix="dra-sandbox-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.log_path = os.path.join(self.folder, "log")
        self.arguments = [program, command, "--port", "0", "--kubeconfig", self.kubeconfig, *arguments]
        self.ready_line, self.ready_within = ready_line, ready_within
        self.process = None

    def __enter__(self):
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: os.path.exists(self.kubeconfig) and self.ready_line in self.log(), self.ready_within, "the sandbox to be ready")
        except BaseException:
            # Python calls no __exit__ then.
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, *unused):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "none within 15 s of SIGTERM"
        if kind is None and status != 0:
            raise SystemExit(f"dra-sandbox ended with status {status}:\n{self.log()[-3000:]}")
        if kind is not None:
            sys.stderr.write(f"--- end of the sandbox's log\n{self.log()[-3000:]}\n")
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"dra-sandbox ended with status {self.process.returncode} while waiting for {what}:\n{self.log()[-3000:]}")
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise SystemExit(f"waited {seconds} s in vain for {what}")

    def environment(self, kubectl):
        folder = os.path.join(self.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, "kubectl")
        if not os.path.islink(link) or os.readlink(link) != kubectl:
            if os.path.islink(link):
                os.remove(link)
            os.symlink(kubectl, link)
        return {**os.environ, "KUBECONFIG": self.kubeconfig, "HOME": self.folder, "PATH": folder + ":" + os.environ["PATH"]}

    def shell(self, kubectl, command, timeout=60):
        """Runs a shell line with this kubectl; returns (exit status, interleaved standard output and error)."""
        answer = subprocess.run(["sh", "-c", command], env=self.environment(kubectl), cwd=ROOT, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=timeout)
        return answer.returncode, answer.stdout

    def get(self, kubectl, what):
        """The parsed JSON of `kubectl get WHAT -o json`; an empty object when it fails."""
        status, text = self.shell(kubectl, f"kubectl get {what} -o json 2>/dev/null")
        return json.loads(text) if status == 0 else {}
