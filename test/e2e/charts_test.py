#!/usr/bin/env python3
"""The manifests in charts/ are applied with strict validation, and the manager runs as their pod would: with the Deployment's arguments, the
in-cluster environment, and nothing but the mounted token of the ServiceAccount under RBAC. First as shipped (--scheduling=gate), then with both
optional roles (--claim-templates=own --scheduling=bind).

The service account's folder is mounted in a mount namespace of the manager's own; where none can be made this test says "skipped".

Usage: charts_test.py FOLDER_OF_PROGRAMS
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

CHARTS = "charts/dra-controller-manager"
NAME = "dra-controller-manager"
PODS = "/api/v1/namespaces/default/pods"
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


def mounted_account(box, kubectl):
    folder = os.path.join(box.folder, "serviceaccount")
    os.makedirs(folder, exist_ok=True)
    status, token = box.shell(kubectl, f"kubectl create token {NAME} -n {NAME}")
    if status != 0:  # kubectl before 1.24 has no such command
        made = rest.Api(box.kubeconfig).create(f"/api/v1/namespaces/{NAME}/serviceaccounts/{NAME}/token", {})
        token = made["status"]["token"]
    with open(box.kubeconfig, encoding="utf-8") as source:
        authority = re.search(r"certificate-authority-data: (\S+)", source.read()).group(1)
    for name, text in (("token", token.strip()), ("namespace", NAME), ("ca.crt", base64.b64decode(authority).decode())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)
    return folder


def shipped_arguments(api):
    """The Deployment's, on a port of this machine that is free."""
    deployment = api.get(f"/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return [a for a in arguments if not a.startswith(("--metrics-port", "--logging-format"))] + ["--metrics-port=0", "--bind-address=127.0.0.1"]


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


def gated_pod(name, claim):
    made = rest.pod(name, "unused")
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
    made["spec"]["schedulingGates"] = [{"name": "dra-controller-manager/allocation"}]
    return made


def by_hand(name):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": rest.template("x")["spec"]["spec"]}


def check_nothing_refused(manager):
    metrics = manager.metrics()
    assert 'code="403"' not in metrics, re.findall(r'.*code="403".*', metrics)
    assert "dra_missing_permissions{" not in metrics, re.findall(r"dra_missing_permissions.*", metrics)


def run_as_shipped(box, api, program, account):
    manager = PodProcess(program, box, api, account, shipped_arguments(api), os.path.join(box.folder, "gate.log")).start()
    try:
        api.create("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", by_hand("one"))
        api.create(PODS, gated_pod("gated", "one"))
        lifted = lambda: manager.process.poll() is not None or not api.get(PODS + "/gated")["spec"].get("schedulingGates")  # noqa: E731
        box.wait_for(lifted, 30, "the gate to be lifted:\n" + manager.log())
        assert manager.process.poll() is None, manager.log()
        assert rest.devices_of(api.get("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/one"))
        lease = api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases/{NAME}")
        assert lease["spec"]["holderIdentity"], lease
        check_nothing_refused(manager)
    finally:
        assert manager.stop() == 0, manager.log()


def run_with_all(box, api, kubectl, program, account):
    arguments = [a for a in shipped_arguments(api) if not a.startswith(("--claim-templates", "--scheduling"))]
    arguments += ["--claim-templates=own", "--scheduling=bind"]
    manager = PodProcess(program, box, api, account, arguments, os.path.join(box.folder, "bind.log")).start()
    try:
        text = box.wait_for(lambda: "missing permission" in manager.log() and "Leading" in manager.log() and manager.log(), 30, "the preflight")
        for said in ("missing permission: create resourceclaims.resource.k8s.io (controller claimtemplate is off)",
                     "missing permission: create pods/binding (controller allocation is off; --scheduling=gate does not need it)"):
            assert said in text, said + "\n" + text
        apply(box, kubectl, f"-f {CHARTS}/optional")
        box.wait_for(lambda: manager.log().count("Permission granted") >= 3, 75, "the new permissions to be noticed")
        api.create("/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", rest.template("one-gpu"))
        for i in range(3):
            api.create(PODS, rest.pod(f"p{i}", "one-gpu"))
        running = lambda: all(api.get(f"{PODS}/p{i}")["status"].get("phase") == "Running" for i in range(3))  # noqa: E731
        box.wait_for(running, 30, "the pods to run")
        for i in range(3):
            status, answer = api.request("DELETE", f"{PODS}/p{i}")
            assert status in (200, 202), answer
        claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        box.wait_for(lambda: all(c["metadata"]["name"] == "one" for c in api.items(claims)), 60, "the claims to go")
        check_nothing_refused(manager)
    finally:
        assert manager.stop() == 0, manager.log()


def main():
    programs = sys.argv[1]
    kubectls = sandbox.find_kubectls()
    probe = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "/etc/hostname", "true"], capture_output=True,
                           text=True, check=False) if shutil.which("unshare") else None
    if not kubectls or probe is None or probe.returncode != 0:
        print("skipped: no kubectl, or no mount namespaces here")
        return 77
    kubectl = kubectls[-1][1]
    fleet_path = os.path.join("/tmp", f"charts-fleet-{os.getpid()}.yaml")
    with open(fleet_path, "w", encoding="utf-8") as out:
        out.write(rest.fleet(2, 4))
    try:
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet_path]) as box:
            api = rest.Api(box.kubeconfig)
            apply(box, kubectl, f"-k {CHARTS}")
            again = apply(box, kubectl, f"-k {CHARTS}")
            assert "created" not in again, again
            check_manifests(api)
            account = mounted_account(box, kubectl)
            program = os.path.abspath(os.path.join(programs, "dra-controller-manager"))
            run_as_shipped(box, api, program, account)
            run_with_all(box, api, kubectl, program, account)
    finally:
        os.remove(fleet_path)
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
