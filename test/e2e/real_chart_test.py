#!/usr/bin/env python3
"""The chart's life on a whole real control plane ($KUBEBUILDER_ASSETS with kube-scheduler and kube-controller-manager): install, a Deployment that opts
in by its namespace's label in mode gate and in mode bind, what a viewer and a tenant see, the manager down, helm test, 300 opted-in pods and 300 others on one driver with either
exclusivity, an upgrade meanwhile, uninstall; metrics over HTTPS for a scraper and nobody else. The manager runs as a process with the Deployment's arguments and its account's token. There is no
kubelet: a thread reports bound pods as running, those of Jobs and hooks as done. Before 1.36 with the feature gates that 1.36 has on. Skipped if programs are missing.

Usage: real_chart_test.py FOLDER_OF_PROGRAMS [--pods N]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

NAME = "dra-controller-manager"
CHART = "charts/dra-controller-manager"
GATE = "dra-controller-manager/allocation"
ALLOCATE = "dra-controller-manager/allocate"
TAINT = "example.com/ours"
DRA = "/apis/resource.k8s.io/v1"
MERGE = "application/merge-patch+json"
POLICIES = "/apis/admissionregistration.k8s.io"


class Plane(real_cluster.RealCluster):
    """With kube-scheduler and kube-controller-manager, nodes and devices, and a stand-in for kubelets."""

    def __enter__(self):
        super().__enter__()
        self.admin = self.api("admin")
        ca = f"{self.folder}/certificates/apiserver.crt"
        common = ["--bind-address=127.0.0.1", "--leader-elect=false"]
        self.start("kube-controller-manager", f"--kubeconfig={self.kubeconfig('system:kube-controller-manager')}", "--use-service-account-credentials=true",
                   f"--service-account-private-key-file={self.folder}/sa.key", f"--root-ca-file={ca}", *common, f"--secure-port={real_cluster.free_ports(1)[0]}",
                   "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller", "--kube-api-qps=200", "--kube-api-burst=400")
        self.start("kube-scheduler", f"--kubeconfig={self.kubeconfig('system:kube-scheduler')}", *common, f"--secure-port={real_cluster.free_ports(1)[0]}")
        self.done = threading.Event()
        self.kubelet = threading.Thread(target=self.run_pods, daemon=True)
        self.kubelet.start()
        return self

    def __exit__(self, *unused):
        self.done.set()
        self.kubelet.join(timeout=30)
        super().__exit__(*unused)

    def run_pods(self):
        api = self.api("admin")
        while not self.done.wait(0.3):
            status, answer = api.request("GET", "/api/v1/pods")
            for pod in answer.get("items", []) if status == 200 else []:
                meta, where = pod["metadata"], f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
                if meta.get("deletionTimestamp"):
                    api.request("DELETE", where + "?gracePeriodSeconds=0")
                elif pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending" and not self.held(meta["name"]):
                    ends = pod["spec"].get("restartPolicy") == "Never"
                    api.request("PATCH", where + "/status", {"status": {"phase": "Succeeded" if ends else "Running"}}, MERGE)

    def held(self, name):
        """The uninstall Job's pod: its program runs first."""
        return name.startswith(NAME + "-uninstall") and not getattr(self, "uninstaller_ran", False)

    def add_nodes(self, count, devices):
        self.admin.create(DRA + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}})
        resources = {"cpu": "64", "memory": "256Gi", "pods": "500"}
        for i in range(count):
            name = f"n{i}"
            self.admin.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}}})
            self.admin.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"allocatable": resources, "capacity": resources, "conditions": [{"type": "Ready", "status": "True"}]}}, MERGE)
        self.publish(count, devices, taint=False)

    def publish(self, count, devices, taint):
        for i in range(count):
            name = f"n{i}"
            bears = {"taints": [{"key": TAINT, "effect": "NoSchedule"}]} if taint else {}
            body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
                    "spec": {"driver": "gpu.example.com", "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                             "devices": [{"name": f"gpu-{d}", **bears} for d in range(devices)]}}
            self.admin.request("DELETE", f"{DRA}/resourceslices/{name}")
            self.admin.create(DRA + "/resourceslices", body)


class Deployed(managers.Manager):
    """The manager with the Deployment's arguments: metrics are served over HTTPS alone, to bearers of a scraper's token."""

    def __init__(self, scraper, *arguments):
        super().__init__(*arguments)
        self.scraper, self.ports = scraper, {}

    def fetch(self, path, token=None, scheme="https"):
        """(status, body); the certificate is self-signed."""
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{self.ports[scheme]}{path}", headers={"Authorization": f"Bearer {token}"} if token else {})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def metrics(self):
        status, text = self.fetch("/metrics", self.scraper)
        assert status == 200, (status, text)
        return text


class Chart:
    def __init__(self, plane, helm, program):
        self.plane, self.helm, self.program, self.runs, self.scraper = plane, helm, program, 0, None

    def command(self, *arguments, ok=True):
        done = subprocess.run([self.helm, *arguments, "-n", NAME], cwd=sandbox.ROOT, env=self.environment(), capture_output=True, text=True, timeout=200, check=False)
        assert (done.returncode == 0) == ok, f"helm {arguments}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def environment(self):
        return {**os.environ, "KUBECONFIG": self.plane.kubeconfig("admin")}

    def upgrade(self, values):
        return self.command("upgrade", "r", CHART, "--reuse-values", *(word for path, value in values.items() for word in ("--set-json", f"{path}={json.dumps(value)}")))

    def manager(self, arguments=None, account=NAME):
        """With the Deployment's arguments, or with these."""
        if arguments is None:
            template = self.plane.admin.get(f"/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}")["spec"]["template"]["spec"]
            arguments = template["containers"][0]["args"]
        self.runs += 1
        token = self.plane.account_token(NAME, account)
        kubeconfig = self.plane.kubeconfig(f"account-{self.runs}", token)
        made = Deployed(self.scraper, self.program, kubeconfig, os.path.join(self.plane.folder, f"manager-{self.runs}.log"))
        # Only the ports are others: those of the chart may be in use on this machine.
        free = dict(zip(("--metrics-port=8080", "--secure-port=8443"), real_cluster.free_ports(2)))
        made.arguments = [self.program, "--kubeconfig", kubeconfig, *(f"{a.split('=')[0]}={free[a]}" if a in free else a for a in arguments),
                          "--bind-address=127.0.0.1"]
        made.ports = dict(zip(("http", "https"), free.values()))
        return made.start()

    def account(self, name, cluster_role=None):
        """The token of a new ServiceAccount in namespace default."""
        self.plane.admin.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        if cluster_role:
            self.plane.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
                "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": cluster_role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
        return self.plane.account_token("default", name)


def namespace(plane, name, **labels):
    plane.admin.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    plane.wait_for(lambda: plane.admin.request("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default")[0] == 200, 30, "the namespace's account")
    plane.admin.create(f"{DRA}/namespaces/{name}/resourceclaimtemplates", rest.template("one-gpu"))


def deploy(plane, where, name, replicas):
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}], "tolerations": [],
                                                           "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]}}
    plane.admin.create(f"/apis/apps/v1/namespaces/{where}/deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
                       "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod}})


def pods_of(plane, where):
    return plane.admin.items(f"/api/v1/namespaces/{where}/pods")


def running(plane, where):
    return sum(pod["status"].get("phase") == "Running" for pod in pods_of(plane, where))


def ours(pod):
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", []))


def probe(plane, where):
    """The spec of a pod with a claim after admission; empty if it is refused."""
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}
    status, made = plane.admin.request("POST", f"/api/v1/namespaces/{where}/pods?dryRun=All", {"metadata": {"name": "probe"}, "spec": spec})
    return made if status == 201 else {"spec": {}}


def claims_by_device(plane):
    held = collections.Counter()
    for claim in plane.admin.items(DRA + "/resourceclaims"):
        for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
            held[result["pool"], result["device"]] += 1
    return held


def remove_workloads(plane, *namespaces):
    for where in namespaces:
        for name in [d["metadata"]["name"] for d in plane.admin.items(f"/apis/apps/v1/namespaces/{where}/deployments")]:
            plane.admin.request("DELETE", f"/apis/apps/v1/namespaces/{where}/deployments/{name}")
    plane.wait_for(lambda: not any(pods_of(plane, where) for where in namespaces) and not plane.admin.items(DRA + "/resourceclaims"), 240, "pods and claims to go")


def rendered_without_a_server(chart, *settings):
    """What GitOps applies is what Helm installed."""
    installed = chart.command("get", "manifest", "r").strip()
    assert installed.count("\nkind: ") > 40, installed
    served = [word for kind in ("v1/ValidatingAdmissionPolicy", f"{real_cluster.policies_version()}/MutatingAdmissionPolicy") for word in ("--api-versions", "admissionregistration.k8s.io/" + kind)]
    asked = [] if real_cluster.policies_version() == "v1" else [*served, "--api-versions", "resource.k8s.io/v1/DeviceClass"]
    assert chart.command("template", "r", CHART, "--no-hooks", *settings, *asked).strip() == installed


def viewers(plane, chart, programs):
    """A tenant with `view` in a namespace; with the chart's role for viewers as well; and that role alone. A pod waits at its gate, and no manager has led."""
    namespace(plane, "seen", **{ALLOCATE: "gate"})
    plane.wait_for(lambda: ours(probe(plane, "seen")), 60, "opting in")
    deploy(plane, "seen", "waits", 1)
    pod = plane.wait_for(lambda: pods_of(plane, "seen"), 30, "the pod")[0]["metadata"]["name"]
    tokens = {name: chart.account(name, role) for name, role in (("tenant", None), ("viewer", NAME + ":viewer"), ("watcher", NAME + ":viewer"))}
    configurations = {name: plane.kubeconfig(name, token) for name, token in tokens.items()}
    plane.admin.create("/apis/rbac.authorization.k8s.io/v1/namespaces/seen/rolebindings", {
        "metadata": {"name": "view"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"} for name in ("tenant", "viewer")]})

    def ask(name, status, *arguments):
        done = subprocess.run([os.path.join(programs, "kubectl-dra"), arguments[0], "--kubeconfig", configurations[name], *arguments[1:]],
                              capture_output=True, text=True, timeout=60, check=False)
        text = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == status, f"{name}: {arguments}: status {done.returncode}, not {status}:\n{done.stdout}{done.stderr}"
        return text
    here = ("-n", "seen")
    nobody = f"o dra-controller-manager has ever led (Lease {NAME}/{NAME})"
    reader = plane.api("viewer-reads", tokens["tenant"])
    plane.wait_for(lambda: reader.request("GET", "/api/v1/namespaces/seen/pods")[0] == 200, 30, "the role")
    blind = ask("tenant", 3, "explain", "pod/" + pod, *here)
    assert "not visible" in blind and NAME + ":viewer" in blind and "does not exist" not in blind, blind
    doctor = ask("tenant", 3, "doctor", *here)
    assert "not visible: the manager's Lease" in doctor and " ill " not in doctor and f"ClusterRole {NAME}:viewer" in doctor, doctor
    for verb in (["doctor"], ["top", "nodes"]):
        assert f"ask for the ClusterRole {NAME}:viewer" in ask("tenant", 3, *verb)
    seen = ask("viewer", 1, "explain", "pod/" + pod, *here)
    assert "Fits on node" in seen and "N" + nobody in seen, seen
    doctor = ask("viewer", 1, "doctor", *here)
    assert f"manager ill n{nobody}, and 1 pod waits for one" in doctor, doctor
    # Claims of others are hidden: what is free is not known.
    assert "n0 gpu.example.com 2" in ask("viewer", 3, "top", "nodes", *here)
    ask("viewer", 0, "top", "claims", *here)
    assert "is not visible: you may not list pods" in ask("watcher", 3, "explain", "pod/" + pod, *here)
    assert f"manager warning n{nobody}" in ask("watcher", 3, "doctor")
    manager = chart.manager()
    try:
        manager.wait_until("Leading", 30)
        plane.wait_for(lambda: running(plane, "seen") == 1, 60, "the pod to run")
        for name, status in (("viewer", 3), ("watcher", 3)):
            doctor = ask(name, status, "doctor", *here)
            assert "manager fine" in doctor and "has led for" in doctor and "mode gate, opt-in labels" in doctor, doctor
        ask("viewer", 0, "explain", "pod/" + pod, *here)
    finally:
        assert manager.stop() == 0
    deploy(plane, "seen", "later", 1)
    later = plane.wait_for(lambda: [p for p in pods_of(plane, "seen") if ours(p)], 30, "the pod")[0]["metadata"]["name"]
    seen = ask("viewer", 1, "explain", "pod/" + later, *here)
    assert "No dra-controller-manager has led since 20" in seen and "see why none runs" in seen, seen
    assert "manager ill no dra-controller-manager has led since 20" in ask("viewer", 1, "doctor", *here)
    remove_workloads(plane, "seen")
    print("  a viewer sees who leads; who may not read the Lease hears that it is not visible")


def tested(plane, chart):
    """helm test: in the manager's namespace, in one that is opted in, and in one that is not, where it says so."""
    text = chart.command("test", "r", "--timeout", "60s")
    assert text.count("Succeeded") == 2, text
    flip = lambda value: plane.admin.request("PATCH", "/api/v1/namespaces/theirs", {"metadata": {"labels": {ALLOCATE: value}}}, MERGE)  # noqa: E731
    chart.upgrade({"test.namespace": "theirs"})
    refusal = "was not opted in: label namespace theirs with dra-controller-manager/allocate=gate"
    trial = {"metadata": {"name": "t", "labels": {"app.kubernetes.io/name": NAME + "-test"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    plane.wait_for(lambda: refusal in plane.admin.request("POST", "/api/v1/namespaces/theirs/pods?dryRun=All", trial)[1].get("message", ""), 60, "the test's policy")
    text = chart.command("test", "r", "--timeout", "30s", ok=False)
    assert refusal in text, text
    assert flip("gate")[0] == 200
    plane.wait_for(lambda: ours(probe(plane, "theirs")), 60, "opting in")
    text = chart.command("test", "r", "--timeout", "60s")
    assert text.count("Succeeded") == 2, text
    left = lambda: [c for c in plane.admin.items(f"{DRA}/namespaces/theirs/resourceclaims") if c["metadata"]["name"].startswith(NAME + "-test")]  # noqa: E731
    plane.wait_for(lambda: not left(), 30, "the test's claim to go")
    assert flip(None)[0] == 200
    chart.upgrade({"test.namespace": ""})
    print("  helm test allocates in an opted-in namespace, and refuses one that is not")


def opted_in_by_the_label(plane, chart):
    """Mode gate, then mode bind: a Deployment's template is unchanged, and its pods are ours if the namespace has the label."""
    namespace(plane, "mine", **{ALLOCATE: "gate"})
    # A policy takes effect a moment after its creation.
    unknown = {"metadata": {"name": "bound", "labels": {ALLOCATE: "bind"}}}
    plane.wait_for(lambda: "opts in by gate" in plane.admin.request("POST", "/api/v1/namespaces?dryRun=All", unknown)[1].get("message", ""), 60, "a label that means nothing to be refused")
    plane.wait_for(lambda: ours(probe(plane, "mine")), 60, "opting in")
    namespace(plane, "bound")
    namespace(plane, "theirs")
    deploy(plane, "mine", "before", 2)
    deploy(plane, "theirs", "before", 2)
    # No manager runs yet: others are not delayed, ours wait, and a test that fails leaves its pod and claim.
    chart.command("test", "r", "--timeout", "5s", ok=False)
    pod = plane.admin.get(f"/api/v1/namespaces/{NAME}/pods/{NAME}-test")
    claims = [claim["metadata"]["name"] for claim in plane.admin.items(f"{DRA}/namespaces/{NAME}/resourceclaims")]
    assert ours(pod) and len(claims) == 1 and claims[0].startswith(f"{NAME}-test-device-"), claims
    plane.wait_for(lambda: running(plane, "theirs") == 2, 60, "pods of others, with the manager down")
    assert all(map(ours, pods_of(plane, "mine"))) and len(pods_of(plane, "mine")) == 2
    # The label is removed while they wait, and added again: they stay ours.
    flip = lambda value: plane.admin.request("PATCH", "/api/v1/namespaces/mine", {"metadata": {"labels": {ALLOCATE: value}}}, MERGE)  # noqa: E731
    assert flip(None)[0] == 200
    manager = chart.manager()
    try:
        plane.wait_for(lambda: running(plane, "mine") == 2, 60, "the opted-in pods:\n" + manager.log()[-2000:])
        assert not any(map(ours, pods_of(plane, "theirs")))
        tested(plane, chart)
        assert 'code="403"' not in manager.metrics() and "dra_missing_permissions{" not in manager.metrics()
    finally:
        assert manager.stop() == 0
    assert flip("gate")[0] == 200
    chart.upgrade({"scheduling.mode": "bind", "scheduling.names": ["ours"]})
    manager = chart.manager()
    try:
        label = {"metadata": {"labels": {ALLOCATE: "bind"}}}
        plane.wait_for(lambda: plane.admin.request("PATCH", "/api/v1/namespaces/bound", label, MERGE)[0] == 200, 60, "the label to be known")
        plane.wait_for(lambda: probe(plane, "bound")["spec"].get("schedulerName") == "ours", 60, "the policy of mode bind")
        deploy(plane, "bound", "after", 3)
        plane.wait_for(lambda: running(plane, "bound") == 3, 60, "pods that are bound here:\n" + manager.log()[-2000:])
        assert all(pod["spec"]["schedulerName"] == "ours" and not pod["spec"].get("schedulingGates") for pod in pods_of(plane, "bound"))
        assert 'code="403"' not in manager.metrics()
    finally:
        assert manager.stop() == 0
    chart.upgrade({"scheduling.mode": "gate", "scheduling.names": []})
    assert max(claims_by_device(plane).values()) == 1
    remove_workloads(plane, "mine", "bound", "theirs")


def metrics_are_for_scrapers(plane, chart):
    """The chart's default: over HTTPS with a token whose account has the scraper's role. The other port serves probes."""
    chart.scraper, stranger = chart.account("scraper", NAME + ":metrics-reader"), chart.account("stranger")
    manager = chart.manager()
    try:
        manager.wait_until("Leading", 30)
        assert "--metrics-authentication=always" in manager.arguments and manager.ports["https"], manager.arguments
        answers = {who: manager.fetch("/metrics", token)[0] for who, token in (("nobody", None), ("stranger", stranger), ("forger", "x" * 40), ("scraper", chart.scraper))}
        assert answers == {"nobody": 401, "stranger": 403, "forger": 401, "scraper": 200}, answers
        assert "\ndra_devices{" in manager.metrics()
        for path in ("/metrics", "/configz"):
            assert manager.fetch(path, scheme="http")[0] == manager.fetch(path, chart.scraper, "http")[0] == 403, path
        assert manager.fetch("/configz", chart.scraper)[0] == 403, "the role is for metrics alone"
        for scheme in ("http", "https"):
            for path in ("/livez", "/readyz"):
                plane.wait_for(lambda: manager.fetch(path, scheme=scheme)[0] == 200, 30, f"{scheme} {path}")
        print(f"  metrics over HTTPS: {answers}; the port of the probes has none")
    finally:
        assert manager.stop() == 0, manager.log()[-2000:]


def side_by_side(plane, chart, count, devices, expect_others):
    """`count` opted-in pods and as many others at once, with an upgrade meanwhile."""
    manager = chart.manager()
    try:
        manager.wait_until("Leading", 30)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda where: deploy(plane, where, "many", count), ("mine", "theirs")))
        plane.wait_for(lambda: running(plane, "mine") + running(plane, "theirs") > 10, 120, "the first pods")
        chart.upgrade({"podAnnotations": {"touched": "yes"}})
        plane.wait_for(lambda: len(pods_of(plane, "mine")) == len(pods_of(plane, "theirs")) == count, 240, "all pods to be made")

        def settled():
            held = claims_by_device(plane)
            assert not held or max(held.values()) == 1, "a device is in two claims"
            return running(plane, "mine") + running(plane, "theirs") == devices and len(held) == devices
        plane.wait_for(settled, 300, f"every device to be used: {running(plane, 'mine')} + {running(plane, 'theirs')} pods run\n" + manager.log()[-1500:])
        mine, others = running(plane, "mine"), running(plane, "theirs")
        assert (others > 0) == expect_others, (mine, others)
        metrics = manager.metrics()
        assert "dra_over_committed 0" in metrics and 'dra_driver_exclusive{driver="gpu.example.com"} 1' in metrics
        assert 'code="403"' not in metrics
        print(f"  {2 * count} pods for {devices} devices: {mine} opted-in and {others} other pods run, no device in two claims ({time.monotonic() - began:.0f} s)")
    finally:
        assert manager.stop() == 0, manager.log()[-2000:]


def uninstall(plane, chart):
    """With the manager down and gated pods."""
    waiting = [pod["metadata"]["name"] for pod in pods_of(plane, "mine") if ours(pod)]
    assert waiting
    helm = subprocess.Popen([chart.helm, "uninstall", "r", "-n", NAME, "--timeout", "120s"], env=chart.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    jobs = f"/apis/batch/v1/namespaces/{NAME}/jobs/{NAME}-uninstall"
    job = plane.wait_for(lambda: plane.admin.request("GET", jobs)[1].get("spec"), 60, "the hook's Job")
    pod = job["template"]["spec"]
    process = chart.manager(pod["containers"][0]["args"], pod["serviceAccountName"])
    assert process.process.wait(timeout=100) == 0, process.log()[-2000:]
    plane.uninstaller_ran = True
    text = helm.communicate(timeout=130)[0]
    assert helm.returncode == 0, text
    assert not any(map(ours, pods_of(plane, "mine"))), "gates are left"
    rbac = "/apis/rbac.authorization.k8s.io/v1/"
    kinds = (f"{POLICIES}/v1/validatingadmissionpolicies", f"{POLICIES}/v1/validatingadmissionpolicybindings", f"{POLICIES}/{real_cluster.policies_version()}/mutatingadmissionpolicies",
             f"{POLICIES}/{real_cluster.policies_version()}/mutatingadmissionpolicybindings", rbac + "clusterroles", rbac + "clusterrolebindings", rbac + "roles", rbac + "rolebindings",
             "/apis/apps/v1/deployments", "/apis/coordination.k8s.io/v1/leases", "/apis/batch/v1/jobs", "/apis/networking.k8s.io/v1/networkpolicies",
             f"/api/v1/namespaces/{NAME}/serviceaccounts", f"/api/v1/namespaces/{NAME}/services", "/apis/policy/v1/poddisruptionbudgets")

    def left():
        return [f"{path}/{item['metadata']['name']}" for path in kinds for item in plane.admin.items(path) if NAME in item["metadata"]["name"]]
    plane.wait_for(lambda: not left(), 30, f"nothing to be left of the release: {left()}")
    print(f"  uninstalled with the manager down: {len(waiting)} gates lifted, nothing is left")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--helm", choices=["helm3", "helm4"], default="helm4")
    parser.add_argument("--pods", type=int, default=20, help="opted-in pods, beside as many others (20)")
    options = parser.parse_args()
    helm = os.path.join(sandbox.ROOT, "build/tools", options.helm)
    if not real_cluster.RealCluster.available(whole=True) or not os.access(helm, os.X_OK):
        print("skipped: no whole control plane in $KUBEBUILDER_ASSETS, or no Helm (scripts/fetch-test-tools)")
        return 77
    program = os.path.abspath(os.path.join(options.programs, NAME))
    nodes, count = 10, options.pods
    devices = max(1, count // nodes)
    with Plane(users=("system:kube-scheduler", "system:kube-controller-manager"), **real_cluster.features(policies=True)) as plane:
        plane.add_nodes(nodes, max(devices, 2))
        chart = Chart(plane, helm, program)
        settings = ("--set", "optIn.mode=labels", "--set", "test.deviceClassName=gpu", "--set-json", 'policies.actions=["Deny"]')
        chart.command("install", "r", CHART, "--create-namespace", *settings)
        rendered_without_a_server(chart, *settings)
        second = chart.command("install", "other", CHART, ok=False)
        assert f"a dra-controller-manager is installed in namespace {NAME} (release r), and a cluster has one" in second, second
        viewers(plane, chart, options.programs)
        metrics_are_for_scrapers(plane, chart)
        opted_in_by_the_label(plane, chart)
        plane.publish(nodes, devices, taint=True)
        chart.upgrade({"exclusive.mode": "taint", "exclusive.taintKey": TAINT})
        side_by_side(plane, chart, count, nodes * devices, expect_others=False)
        remove_workloads(plane, "mine", "theirs")
        chart.upgrade({"optIn.mode": "all-claims", "exclusive.mode": "all-claims", "exclusive.taintKey": ""})
        plane.publish(nodes, devices, taint=False)
        plane.wait_for(lambda: ours(probe(plane, "theirs")), 60, "everything to be opted in")
        side_by_side(plane, chart, count, nodes * devices, expect_others=True)
        uninstall(plane, chart)
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
