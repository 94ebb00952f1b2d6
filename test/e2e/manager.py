"""The controller manager as a separate process, for a sandbox that runs without one."""
import os
import re
import signal
import subprocess
import time
import urllib.request


class Manager:
    def __init__(self, program, kubeconfig, log_path, arguments=(), plain=False):
        """`plain`: with the manager's own defaults, beside kube-controller-manager, which makes the claims."""
        modes = [] if plain else ["--scheduling=bind", "--claim-templates=own"]
        self.arguments = [program, "--kubeconfig", kubeconfig, *modes, "--bind-address", "127.0.0.1", "--metrics-port", "0", *arguments]
        self.log_path = log_path
        self.process = None
        self.log_start = 0

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(self.arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def wait_until(self, text, seconds):
        """Waits until this run of the process has logged `text`."""
        end = time.monotonic() + seconds
        while text not in self.log()[self.log_start:]:
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the manager did not say {text!r}:\n{self.log()[-2000:]}")
            time.sleep(0.02)

    def kill(self):
        """kill -9, as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """SIGTERM, after the first line of the process; returns its exit status."""
        self.wait_until("Starting", 20)
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def metrics_port(self):
        found = re.findall(r"address=\"?[^ \"]*:(\d+)", self.log())
        return int(found[-1]) if found else None

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port()}/metrics", timeout=10) as answer:
            return answer.read().decode()


def peak_memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) / 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
