"""A real control plane for a benchmark: etcd, kube-apiserver and, on request, kube-scheduler and kube-controller-manager, from a folder
of binaries of one release. Everything listens on 127.0.0.1 and is stopped and removed at the end. Python's standard library only."""
import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402

TOKEN = "benchmark-administrator"
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def add_stock_options(parser):
    """The stock side is any kube-scheduler: another release, with any flags."""
    parser.add_argument("--scheduler", metavar="FILE", help="kube-scheduler of another release than that of --assets")
    parser.add_argument("--scheduler-args", action="append", default=[], metavar="FLAG", help="one more flag of kube-scheduler; may be repeated")
    parser.add_argument("--server-args", action="append", default=[], metavar="FLAG", help="one more flag of kube-apiserver; may be repeated")


class ControlPlane:
    """Use as a context manager: etcd and kube-apiserver run inside it. `start` starts more programs."""

    def __init__(self, assets, server_args=(), scheduler=None, scheduler_args=()):
        self.server_args, self.scheduler, self.scheduler_args = list(server_args), scheduler, list(scheduler_args)
        missing = [name for name in PROGRAMS if not os.access(os.path.join(assets, name), os.X_OK)]
        if missing:
            raise SystemExit(f"{assets} has no executable {', '.join(missing)}: put etcd and the programs of one Kubernetes release there")
        self.assets = assets
        self.folder = tempfile.mkdtemp(prefix="dra-real-cluster-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.started = []
        self.api = None

    def __enter__(self):
        try:
            self.start_server()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        for process in reversed(self.started):
            self.stop(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as target:
                target.write(text)
        return path

    def start(self, name, arguments, program=None):
        with open(self.file(name + ".log"), "a", encoding="utf-8") as log:
            process = subprocess.Popen([program or os.path.join(self.assets, name), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        process.label = name
        self.started.append(process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, name):
        with open(self.file(name + ".log"), encoding="utf-8", errors="replace") as source:
            return source.read()

    def last_words(self):
        return "\n".join(f"--- {p.label}\n{self.log(p.label)[-1500:]}" for p in self.started)

    def wait_until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            for process in self.started:
                if process.poll() is not None:
                    raise SystemExit(f"{process.label} ended with status {process.returncode}:\n{self.log(process.label)[-3000:]}")
            if time.monotonic() > end:
                raise SystemExit(f"waited {seconds} s in vain for {what}\n{self.last_words()}")
            time.sleep(0.1)

    def start_server(self):
        etcd, peer, port = free_port(), free_port(), free_port()
        store = f"http://127.0.0.1:{etcd}"
        self.start("etcd", [f"--data-dir={self.folder}/etcd", f"--listen-client-urls={store}", f"--advertise-client-urls={store}",
                            f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                            f"--initial-cluster=default=http://127.0.0.1:{peer}", "--unsafe-no-fsync", "--log-level=error"])
        key = self.file("service-account.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        self.file("tokens.csv", f'{TOKEN},admin,admin-uid,"system:masters"\n')
        # Flow control is off, so that it does not limit the contenders. ServiceAccount is off because nothing creates service accounts,
        # TaintNodesByCondition because nothing removes the taint of new nodes.
        self.start("kube-apiserver", [
            f"--etcd-servers={store}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            f"--secure-port={port}", f"--cert-dir={self.folder}/certificates", f"--token-auth-file={self.folder}/tokens.csv",
            "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24", "--enable-priority-and-fairness=false",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", *self.server_args])
        certificate = self.file("certificates/apiserver.crt")  # self-signed, created when it starts
        self.wait_until(lambda: os.path.exists(certificate) and os.path.getsize(certificate), 30, "kube-apiserver's certificate")
        with open(certificate, "rb") as source:
            authority = base64.b64encode(source.read()).decode()
        self.file("kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                  f"clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:{port}\n    certificate-authority-data: {authority}\n"
                  f"users:\n- name: u\n  user:\n    token: {TOKEN}\ncontexts:\n- name: c\n  context:\n    cluster: c\n    user: u\n")
        self.api = rest.Api(self.kubeconfig)
        self.wait_until(self.ready, 60, "kube-apiserver to be ready")

    def ready(self):
        try:
            return self.api.request("GET", "/readyz")[0] == 200 and self.api.request("GET", "/api/v1/namespaces/default")[0] == 200
        except OSError:
            return False

    def start_scheduler(self, qps):
        config = self.file("scheduler.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                           "leaderElection: {leaderElect: false}\n"
                           f"clientConnection: {{kubeconfig: {self.kubeconfig}, qps: {qps}, burst: {qps}}}\n")
        return self.start("kube-scheduler", [f"--config={config}", "--secure-port=0", *self.scheduler_args], self.scheduler)

    def start_claim_controller(self, qps, burst):
        return self.start("kube-controller-manager", [f"--kubeconfig={self.kubeconfig}", "--controllers=resourceclaim-controller", "--leader-elect=false",
                                                      "--secure-port=0", f"--kube-api-qps={qps}", f"--kube-api-burst={burst}"])

    def add_nodes(self, nodes, devices):
        """Ready nodes with `devices` GPUs each, and their device class."""
        self.api.create(rest.RESOURCE + "/deviceclasses", {
            "metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}})
        calls = []
        for i in range(nodes):
            name = f"node-{i}"
            calls.append(lambda name=name: self.api.create("/api/v1/nodes", node(name)))
            calls.append(lambda name=name: self.api.create(rest.RESOURCE + "/resourceslices", slice_of(name, devices)))
        self.api.many(calls)


def node(name):
    room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True", "reason": "Benchmark"}]}}


def slice_of(name, devices):
    return {"metadata": {"name": f"{name}-gpu"}, "spec": {
        "driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{i}", "attributes": {"type": {"string": "gpu"}}, "capacity": {"memory": {"value": "80Gi"}}} for i in range(devices)]}}
