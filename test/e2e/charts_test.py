#!/usr/bin/env python3
"""The Helm chart's life, with Helm 3 and with Helm 4: install, upgrade to other modes, helm test, a second release that is refused, uninstall with
pods still gated; and charts/install.yaml by kubectl. The manager runs as in its pod: with the Deployment's arguments, the in-cluster
environment, and only the mounted token of the ServiceAccount under RBAC.

The service account's folder is mounted in a separate mount namespace of the manager; if none can be created the test is skipped.

Usage: charts_test.py FOLDER_OF_PROGRAMS
"""
import base64
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

CHART = "charts/dra-controller-manager"
NAME = "dra-controller-manager"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MOUNT = r'mount -t tmpfs tmpfs /run && mkdir -p "$(readlink -m /var/run/secrets/kubernetes.io)" && cp -r "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"'


class PodProcess(managers.Manager):
    """The manager's program as the kubelet would start it."""

    def __init__(self, program, box, api, account, arguments, log_path):
        super().__init__(program, box.kubeconfig, log_path)
        self.arguments = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, account, program, *arguments]
        self.environment = {"PATH": os.environ["PATH"], "KUBERNETES_SERVICE_HOST": api.url.hostname, "KUBERNETES_SERVICE_PORT": str(api.url.port)}

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment)
        return self


def apply(box, kubectl, arguments):
    status, text = box.shell(kubectl, f"kubectl apply --validate=true {arguments}")
    if status != 0 or "Warning" in text or "unknown field" in text:
        raise SystemExit(f"kubectl apply {arguments}: status {status}\n{text}")
    return text


def mounted_account(box, kubectl, account=NAME):
    folder = os.path.join(box.folder, "account-" + account)
    os.makedirs(folder, exist_ok=True)
    status, token = box.shell(kubectl, f"kubectl create token {account} -n {NAME}")
    if status != 0:  # kubectl before 1.24 has no such command
        made = rest.Api(box.kubeconfig).create(f"/api/v1/namespaces/{NAME}/serviceaccounts/{account}/token", {})
        token = made["status"]["token"]
    with open(box.kubeconfig, encoding="utf-8") as source:
        authority = re.search(r"certificate-authority-data: (\S+)", source.read()).group(1)
    for name, text in (("token", token.strip()), ("namespace", NAME), ("ca.crt", base64.b64decode(authority).decode())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)
    return folder


def program_arguments(arguments):
    """The arguments of a container, on a free port of this machine."""
    return [a for a in arguments if not a.startswith(("--metrics-port", "--secure-port", "--metrics-authentication", "--logging-format"))] + ["--metrics-port=0", "--bind-address=127.0.0.1"]


def deployed_arguments(api):
    deployment = api.get(f"/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}")
    return program_arguments(deployment["spec"]["template"]["spec"]["containers"][0]["args"])


def check_manifests(api):
    template = api.get(f"/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}")["spec"]["template"]["spec"]
    container = template["containers"][0]
    wanted = {"allowPrivilegeEscalation": False, "privileged": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container["securityContext"] == wanted, container["securityContext"]
    assert template["securityContext"]["runAsNonRoot"] and template["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= set(container)
    assert template["serviceAccountName"] == NAME
    service = api.get(f"/api/v1/namespaces/{NAME}/services/{NAME}")
    assert service["metadata"]["annotations"]["prometheus.io/scrape"] == "true"
    api.get(f"/apis/policy/v1/namespaces/{NAME}/poddisruptionbudgets/{NAME}")


def check_policies(api):
    """Each policy has its binding."""
    policies = {item["metadata"]["name"] for item in api.items(ADMISSION + "/validatingadmissionpolicies")}
    bound = {item["spec"]["policyName"] for item in api.items(ADMISSION + "/validatingadmissionpolicybindings")}
    assert NAME + ".marks" in policies and policies == bound, (policies, bound)


def gated_pod(name, claim, gates=("dra-controller-manager/allocation",)):
    made = rest.pod(name, "unused")
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
    made["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    return made


def by_hand(name):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": rest.template("x")["spec"]["spec"]}


def check_nothing_refused(manager):
    metrics = manager.metrics()
    assert 'code="403"' not in metrics, re.findall(r'.*code="403".*', metrics)
    assert "dra_missing_permissions{" not in metrics, re.findall(r"dra_missing_permissions.*", metrics)


class Release:
    """One chart release in one sandbox, driven with one Helm."""

    def __init__(self, box, api, kubectl, helm, program):
        self.box, self.api, self.kubectl, self.helm, self.program = box, api, kubectl, helm, program
        self.runs = 0

    def command(self, arguments, ok=True, timeout=120):
        status, text = self.box.shell(self.kubectl, f"{self.helm} {arguments} -n {NAME}", timeout=timeout)
        assert (status == 0) == ok, f"helm {arguments}: status {status}\n{text}"
        return text

    def manager(self, arguments, account=NAME):
        self.runs += 1
        folder = mounted_account(self.box, self.kubectl, account)
        return PodProcess(self.program, self.box, self.api, folder, arguments, os.path.join(self.box.folder, f"manager-{self.runs}.log"))

    def lifted(self, manager, pod):
        def done():
            return manager.process.poll() is not None or not self.api.get(f"{PODS}/{pod}")["spec"].get("schedulingGates")
        self.box.wait_for(done, 30, f"the gate of {pod} to be lifted:\n" + manager.log())
        assert manager.process.poll() is None, manager.log()

    def remove(self, path):
        status, answer = self.api.request("DELETE", path)
        assert status in (200, 202), answer

    def a_failed_test_stays(self):
        """No manager runs yet: the test's pod waits, and is there to be asked."""
        self.command("test r --timeout 4s", ok=False)
        pod = self.api.get(f"/api/v1/namespaces/{NAME}/pods/{NAME}-test")
        assert pod["spec"]["schedulingGates"] == [{"name": "dra-controller-manager/allocation"}], pod["spec"]

    def run_as_installed(self):
        manager = self.manager(deployed_arguments(self.api)).start()
        try:
            self.api.create(CLAIMS, by_hand("one"))
            self.api.create(PODS, gated_pod("gated", "one"))
            self.lifted(manager, "gated")
            assert rest.devices_of(self.api.get(CLAIMS + "/one"))
            lease = self.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases/{NAME}")
            assert lease["spec"]["holderIdentity"], lease
            check_nothing_refused(manager)
        finally:
            assert manager.stop() == 0, manager.log()

    def run_upgraded(self):
        """Started before the upgrade: reports missing permissions, and notices when the new release grants them."""
        modes = ["--claim-templates=own", "--scheduling=bind", "--scheduler-names=default-scheduler,ours"]
        old = [a for a in deployed_arguments(self.api) if not a.startswith(("--claim-templates", "--scheduling", "--scheduler-names"))]
        manager = self.manager(old + modes).start()
        try:
            text = self.box.wait_for(lambda: "missing permission" in manager.log() and "Leading" in manager.log() and manager.log(), 30, "the preflight")
            for said in ("missing permission: create resourceclaims.resource.k8s.io (controller claimtemplate is off)",
                         "missing permission: create pods/binding (controller allocation is off; --scheduling=gate does not need it)"):
                assert said in text, said + "\n" + text
            self.command(f"upgrade r {CHART} --reuse-values --set claimTemplates=own --set scheduling.mode=bind --set 'scheduling.names={{ours}}'")
            assert "--scheduler-names=ours" in deployed_arguments(self.api)
            self.box.wait_for(lambda: manager.log().count("Permission granted") >= 3, 75, "the new permissions to be noticed")
            self.api.create("/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", rest.template("one-gpu"))
            for i in range(3):
                self.api.create(PODS, rest.pod(f"p{i}", "one-gpu"))
            running = lambda: all(self.api.get(f"{PODS}/p{i}")["status"].get("phase") == "Running" for i in range(3))  # noqa: E731
            self.box.wait_for(running, 30, "the pods to run")
            for i in range(3):
                self.remove(f"{PODS}/p{i}")
            self.box.wait_for(lambda: all(c["metadata"]["name"] == "one" for c in self.api.items(CLAIMS)), 60, "the claims to go")
            text = self.command("test r --timeout 60s")  # deletes what the failed one left
            assert text.count("Succeeded") == 2, text
            self.box.wait_for(lambda: not self.api.items(f"/apis/resource.k8s.io/v1/namespaces/{NAME}/resourceclaims"), 30, "helm test's claim to go")
            check_nothing_refused(manager)
        finally:
            assert manager.stop() == 0, manager.log()
        self.remove("/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates/one-gpu")

    def uninstall(self):
        """A pod has our gate and another one; the hook's program runs while Helm waits for its Job."""
        self.api.create(CLAIMS, by_hand("late"))
        self.api.create(PODS, gated_pod("late", "late", ["dra-controller-manager/allocation", "example.com/other"]))
        helm = subprocess.Popen(["sh", "-c", f"{self.helm} uninstall r -n {NAME} --timeout 60s"], env=self.box.environment(self.kubectl),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        job = self.box.wait_for(lambda: self.api.request("GET", f"/apis/batch/v1/namespaces/{NAME}/jobs/{NAME}-uninstall")[1].get("spec"), 60, "the hook's Job")
        pod = job["template"]["spec"]
        # Nothing binds the Job's pod here. Its program runs first, then the simulated kubelet may report that it ran.
        manager = self.manager(program_arguments(pod["containers"][0]["args"]), pod["serviceAccountName"]).start()
        status = manager.process.wait(timeout=60)
        assert status == 0, manager.log()
        self.bind(f"/api/v1/namespaces/{NAME}/pods", f"{NAME}-uninstall")
        text = helm.communicate(timeout=90)[0]
        assert helm.returncode == 0, text
        gates = self.api.get(PODS + "/late")["spec"]["schedulingGates"]
        assert gates == [{"name": "example.com/other"}], gates
        # kube-controller-manager removes finalizers of allocated claims, but it does not run here.

    def bind(self, pods, prefix):
        def found():
            return next((p["metadata"]["name"] for p in self.api.items(pods) if p["metadata"]["name"].startswith(prefix)), None)
        name = self.box.wait_for(found, 30, "the pod to bind")
        node = self.api.items("/api/v1/nodes")[0]["metadata"]["name"]
        self.api.create(f"{pods}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                   "target": {"apiVersion": "v1", "kind": "Node", "name": node}})

    def uninstall_although_the_hook_cannot_run(self):
        """As with an image that cannot be pulled: Helm warns, but removes the release."""
        self.command(f"install r {CHART}")
        text = self.command("uninstall r --timeout 10s", ok=False)
        assert "uninstallation completed with 1 error" in text, text
        assert "not found" in self.command("status r", ok=False)
        if self.helm.endswith("helm3"):  # leaves the hook's objects; docs/install.md has this line
            for line in (f"clusterrole,clusterrolebinding {NAME}:uninstall", f"-n {NAME} serviceaccount {NAME}-uninstall"):
                status, text = self.box.shell(self.kubectl, f"kubectl delete {line}")
                assert status == 0, text

    def nothing_is_left(self):
        end = time.monotonic() + 30
        while left := self.left():
            assert time.monotonic() < end, f"left behind: {left}"
            time.sleep(0.1)

    def left(self):
        left = []
        for path in ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                     "/apis/rbac.authorization.k8s.io/v1/roles", "/apis/rbac.authorization.k8s.io/v1/rolebindings", "/api/v1/services",
                     "/apis/apps/v1/deployments", "/apis/coordination.k8s.io/v1/leases", "/apis/policy/v1/poddisruptionbudgets",
                     ADMISSION + "/validatingadmissionpolicies", ADMISSION + "/validatingadmissionpolicybindings",
                     f"/api/v1/namespaces/{NAME}/serviceaccounts", "/apis/batch/v1/jobs", "/api/v1/pods", "/apis/resource.k8s.io/v1/resourceclaims"):
            left += [f"{path}/{item['metadata']['name']}" for item in self.api.items(path) if "dra-controller-manager" in item["metadata"]["name"]
                     and not item["metadata"].get("deletionTimestamp")]
        return left

    def play(self):
        self.command(f"install r {CHART} --create-namespace --set test.deviceClassName=gpu")
        check_manifests(self.api)
        check_policies(self.api)
        refused = self.command(f"install second {CHART}", ok=False)
        assert f"a dra-controller-manager is installed in namespace {NAME} (release r), and a cluster has one" in refused, refused
        self.a_failed_test_stays()
        self.run_as_installed()
        self.run_upgraded()
        self.uninstall()
        self.nothing_is_left()
        self.uninstall_although_the_hook_cannot_run()
        self.nothing_is_left()


def apply_install_yaml(box, api, kubectl):
    """Twice: the second time nothing is created."""
    path = os.path.join(sandbox.ROOT, "charts/install.yaml")
    apply(box, kubectl, "-f " + path)
    again = apply(box, kubectl, "-f " + path)
    assert "created" not in again, again
    check_policies(api)
    api.get(f"/apis/networking.k8s.io/v1/namespaces/{NAME}/networkpolicies/{NAME}")
    check_manifests(api)
    status, text = box.shell(kubectl, f"kubectl delete -f {path} --wait=false --ignore-not-found")
    assert status == 0, text


def sandbox_of(programs, fleet_path):
    return sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet_path])


def main():
    programs = sys.argv[1]
    kubectls = sandbox.find_kubectls()
    probe = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "/etc/hostname", "true"], capture_output=True,
                           text=True, check=False) if shutil.which("unshare") else None
    helms = [path for path in (os.path.join(sandbox.ROOT, "build/tools", name) for name in ("helm3", "helm4")) if os.access(path, os.X_OK)]
    if not kubectls or not helms or probe is None or probe.returncode != 0:
        print("skipped: no kubectl, no Helm (scripts/fetch-test-tools), or no mount namespaces here")
        return 77
    kubectl = kubectls[-1][1]
    program = os.path.abspath(os.path.join(programs, "dra-controller-manager"))
    fleet_path = os.path.join("/tmp", f"charts-fleet-{os.getpid()}.yaml")
    with open(fleet_path, "w", encoding="utf-8") as out:
        out.write(rest.fleet(2, 4))
    def play(helm):
        with sandbox_of(programs, fleet_path) as box:
            Release(box, rest.Api(box.kubeconfig), kubectl, helm, program).play()

    def apply_twice():
        with sandbox_of(programs, fleet_path) as box:
            apply_install_yaml(box, rest.Api(box.kubeconfig), kubectl)

    # They mostly wait, so they run in parallel. (Threads: each has its own sandbox.)
    failed = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(len(helms) + 1) as pool:
            runs = {os.path.basename(helm): pool.submit(play, helm) for helm in helms} | {"install.yaml": pool.submit(apply_twice)}
            for name, run in runs.items():
                if problem := run.exception():
                    failed += 1
                    print(f"{name}:", *traceback.format_exception(problem), sep="\n")
    finally:
        os.remove(fleet_path)
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
