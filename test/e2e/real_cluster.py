"""A control plane of real binaries for a test: etcd and kube-apiserver from $KUBEBUILDER_ASSETS, with RBAC, service accounts and static tokens.
Python's standard library only. No controllers run: the test creates their objects (default service accounts, nodes).

DRA_REAL_EMULATES=1.35: the Kubernetes programs serve the APIs and gates of that release (--emulated-version); a 1.36 emulates 1.33 to 1.35."""
import functools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import api as rest


# Feature gates of devices that are on in 1.36 and off before, with the first release that knows them.
SINCE = {"DRADeviceTaints": 33, "DRAPartitionableDevices": 33, "DRAConsumableCapacity": 34, "DRAExtendedResource": 34, "DRADeviceBindingConditions": 34}


@functools.lru_cache
def release():
    """The release that the Kubernetes programs are, or emulate: 36 for 1.36."""
    emulated = os.environ.get("DRA_REAL_EMULATES")
    if not emulated:
        server = os.path.join(os.environ["KUBEBUILDER_ASSETS"], "kube-apiserver")
        emulated = subprocess.run([server, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]  # Kubernetes v1.36.2
    return int(emulated.split(".")[1])


def rules_version():
    """The version of resource.k8s.io that has DeviceTaintRules."""
    return "v1beta2" if release() >= 36 else "v1alpha3"


def policies_version():
    """The version of admissionregistration.k8s.io that has mutating policies."""
    return "v1" if release() >= 36 else "v1beta1"


def features(policies=False, rules=False):
    """Keyword arguments of RealCluster: any release since 1.34 has what 1.36 has of devices; `policies`: mutating ones (a newer server that emulates an older
    release does not start with them); `rules`: DeviceTaintRules."""
    names, served = [name for name, since in SINCE.items() if since <= release() < 36], []
    if policies and release() < 36:
        names.append("MutatingAdmissionPolicy")
        served.append(f"admissionregistration.k8s.io/{policies_version()}=true")
    if rules:
        names += ["DRADeviceTaintRules"] if release() >= 35 else []
        served.append(f"resource.k8s.io/{rules_version()}=true")
    return {"gates": [f"--feature-gates={name}=true" for name in names], "server_flags": [f"--runtime-config={one}" for one in served]}


def pod_groups(*more):
    """Keyword arguments of RealCluster: what it needs for PodGroups, which 1.36 has; also these gates."""
    names = ["GenericWorkload", *more] if release() >= 36 else []
    return {"gates": [f"--feature-gates={name}=true" for name in names], "server_flags": ["--runtime-config=scheduling.k8s.io/v1alpha2=true"] if names else []}


def join(pod, group, size):
    """Makes the pod a member of a group: of a PodGroup, which 1.36 has, or before of a Job, by the annotation."""
    if release() >= 36:
        pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    else:
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": group, "uid": f"{group}-uid", "controller": True}]
        pod["metadata"].setdefault("annotations", {})["dra-controller-manager/group"] = str(size)


def group_of(pod):
    """What join() wrote, or nothing."""
    owners = pod["metadata"].get("ownerReferences") or [{}]
    return pod["spec"].get("schedulingGroup", {}).get("podGroupName") or (owners[0].get("name") if owners[0].get("kind") == "Job" else None)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Watcher(threading.Thread):
    """Calls its look() until it is stopped; what is wrong is recorded."""

    def __init__(self, api, every=0.2):
        super().__init__(daemon=True)
        self.api, self.every, self.stopped, self.wrong, self.looks = api, every, threading.Event(), [], 0

    def run(self):
        while not self.stopped.wait(self.every):
            try:
                self.look()
            except BaseException as failure:  # nobody else sees that a thread has ended
                if not self.stopped.is_set():
                    self.wrong.append(f"the watcher failed: {failure!r}")
                return


class RealCluster:
    """Use as a context manager. `users`: names that get a token; "admin" is in system:masters. `server_flags`: more flags of kube-apiserver; `gates`: flags of all
    Kubernetes programs."""

    def __init__(self, users=(), programs=None, server_flags=(), gates=()):
        self.server_flags, self.gates = server_flags, tuple(gates)
        self.programs = programs or os.environ.get("KUBEBUILDER_ASSETS", "")
        self.folder = tempfile.mkdtemp(prefix="dra-real-")
        self.tokens = {user: secrets.token_hex(16) for user in ("admin", *users)}
        self.processes = []

    @staticmethod
    def available(whole=False):
        """`whole`: kube-controller-manager and kube-scheduler as well."""
        folder = os.environ.get("KUBEBUILDER_ASSETS", "")
        needed = ("etcd", "kube-apiserver") + (("kube-controller-manager", "kube-scheduler") if whole else ())
        return all(os.access(os.path.join(folder, name), os.X_OK) for name in needed)

    def start(self, name, *arguments):
        emulated = os.environ.get("DRA_REAL_EMULATES")
        if name.startswith("kube-"):
            arguments += self.gates + ((f"--emulated-version=kube={emulated}",) if emulated else ())
        with open(os.path.join(self.folder, name + ".log"), "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen([os.path.join(self.programs, name), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def __enter__(self):
        try:
            return self.start_server()
        except BaseException:
            self.stop()  # __exit__ is not called if __enter__ fails
            raise

    def start_server(self):
        etcd, peer, self.port = free_ports(3)
        key = os.path.join(self.folder, "sa.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        with open(os.path.join(self.folder, "tokens.csv"), "w", encoding="utf-8") as out:
            for user, token in self.tokens.items():
                out.write(f'{token},{user},{user}-uid' + (',"system:masters"\n' if user == "admin" else "\n"))
        self.start("etcd", f"--data-dir={self.folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                   f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                   f"--initial-cluster=default=http://127.0.0.1:{peer}", "--unsafe-no-fsync", "--log-level=warn")
        self.start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                   "--endpoint-reconciler-type=none", f"--secure-port={self.port}", f"--cert-dir={self.folder}/certificates",
                   f"--token-auth-file={self.folder}/tokens.csv", "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24",
                   "--disable-admission-plugins=TaintNodesByCondition", *self.server_flags)
        self.wait_for(lambda: os.path.exists(f"{self.folder}/certificates/apiserver.crt"), 60, "the API server's certificate")
        self.wait_for(self.ready, 120, "the API server")
        return self

    def ready(self):
        try:
            # kube-controller-manager waits 10 s for /healthz and then ends; under load the bootstrap of RBAC takes longer.
            return all(self.api("admin").request("GET", path, parse=False)[0] == 200 for path in ("/api/v1/namespaces/default", "/healthz"))
        except OSError:
            return False

    def __exit__(self, *unused):
        self.stop()

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_controllers(self, names, *flags, scheduler=False):
        """kube-controller-manager with these controllers alone; also kube-scheduler; waits for the service account that pods need."""
        common = [f"--kubeconfig={self.kubeconfig('admin')}", "--secure-port=0", "--leader-elect=false"]
        self.start("kube-controller-manager", *common, f"--controllers={names}", f"--service-account-private-key-file={self.folder}/sa.key", *flags)
        if scheduler:
            self.start("kube-scheduler", *common)
        api = self.api("admin")
        self.wait_for(lambda: api.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200, 90, "the service account")

    def wait_for(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for process in self.processes:
                if process.poll() is not None:
                    with open(os.path.join(self.folder, os.path.basename(process.args[0]) + ".log"), encoding="utf-8", errors="replace") as log:
                        last = "".join(log.readlines()[-3:])
                    raise SystemExit(f"{process.args[0]} ended with status {process.returncode} while waiting for {what}:\n{last}")
            if value := condition():
                return value
            time.sleep(0.1)
        raise SystemExit(f"waited {seconds} s in vain for {what}")

    def kubeconfig(self, user, token=None):
        path = os.path.join(self.folder, user.replace(":", "-") + ".kubeconfig")
        written = f"{path}.{threading.get_ident()}"  # a program that starts meanwhile must not read half of it, and two threads not write the same
        with open(written, "w", encoding="utf-8") as out:
            out.write(f"""apiVersion: v1
kind: Config
current-context: real
clusters:
- name: real
  cluster:
    server: "https://127.0.0.1:{self.port}"
    certificate-authority: {self.folder}/certificates/apiserver.crt
users:
- name: user
  user:
    token: "{token or self.tokens[user]}"
contexts:
- name: real
  context: {{cluster: real, user: user}}
""")
        os.replace(written, path)
        return path

    def api(self, user, token=None):
        client = rest.Api(self.kubeconfig(user, token))
        client.context = rest.ssl.create_default_context(cafile=f"{self.folder}/certificates/apiserver.crt")
        return client

    def account_token(self, namespace, name):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return self.api("admin").create(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
