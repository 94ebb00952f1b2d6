#!/usr/bin/env python3
"""A release in a registry: Debian's docker-registry on loopback, filled by skopeo as docs/release.md says, then Helm 3 and 4 render and install the chart from
there, and from the .tgz, into the embedded API server; the image that they name is the one in the registry. An upgrade whose pods do not become ready is
rolled back, and one that went well can be (docs/upgrade.md).

Usage: registry_test.py RELEASE FOLDER_OF_PROGRAMS
"""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402
import charts_test as charts  # noqa: E402

TOOLS = os.path.join(ROOT, "build/tools")
NAME = "dra-controller-manager"
SETTINGS = """version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}
http:
  addr: 127.0.0.1:{port}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def registry(folder):
    port = free_port()
    path = os.path.join(folder, "config.yml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(SETTINGS.format(folder=os.path.join(folder, "data"), port=port))
    with open(os.path.join(folder, "registry.log"), "w", encoding="utf-8") as log, \
            subprocess.Popen([os.path.join(TOOLS, "usr/bin/docker-registry"), "serve", path], stdout=log, stderr=log) as process:
        try:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=2).close()
                    break
                time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def push(release, version, host):
    """What docs/release.md says, with the flags that a registry without TLS needs."""
    triple = subprocess.run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], capture_output=True, text=True, check=False).stdout.strip() or "x86_64-linux-gnu"
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(os.path.join(TOOLS, at, triple) for at in ("usr/lib", "lib"))}
    skopeo = [os.path.join(TOOLS, "usr/bin/skopeo"), "--insecure-policy", "copy", "--dest-tls-verify=false"]
    run(*skopeo, "--all", f"oci:{release}/image:{version}", f"docker://{host}/dra/{NAME}:{version}", env=environment)
    run(*skopeo, f"oci:{release}/chart:{version}", f"docker://{host}/dra/charts/{NAME}:{version}", env=environment)


def digest_there(host, version):
    request = urllib.request.Request(f"http://{host}/v2/dra/{NAME}/manifests/{version}", headers={"Accept": "application/vnd.oci.image.index.v1+json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Docker-Content-Digest"]


def install(helm, chart, kubeconfig, name, plain):
    """Installs, looks for the Deployment, and uninstalls."""
    run(helm, "install", name, chart, "--namespace", name, "--create-namespace", "--kubeconfig", kubeconfig, "--set", "uninstall.releaseGates=false", *plain)
    api = rest.Api(kubeconfig)
    deployment = api.get(f"/apis/apps/v1/namespaces/{name}/deployments/{NAME}")
    run(helm, "uninstall", name, "--namespace", name, "--kubeconfig", kubeconfig)
    return deployment["spec"]["template"]["spec"]["containers"][0]["image"]


def give_addresses(api, name, stopped):
    """Helm waits until a Service has an address, which the embedded API server gives to none."""
    while not stopped.wait(0.2):
        status, service = api.request("GET", f"/api/v1/namespaces/{name}/services/{NAME}")
        if status == 200 and not service["spec"].get("clusterIP"):
            api.request("PATCH", f"/api/v1/namespaces/{name}/services/{NAME}", {"spec": {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]}},
                        "application/merge-patch+json")


def roll_back(helm, chart, kubeconfig, name):
    """The commands of docs/upgrade.md: an upgrade to nodes that do not exist fails and leaves the revision before; a good one is rolled back by hand."""
    api = rest.Api(kubeconfig)
    words = ["--namespace", name, "--kubeconfig", kubeconfig]

    def template():
        return api.get(f"/apis/apps/v1/namespaces/{name}/deployments/{NAME}")["spec"]["template"]["spec"]

    def revision():
        return json.loads(run(helm, "history", name, *words, "-o", "json"))[-1]
    quiet, stopped = ["--set", "uninstall.releaseGates=false"], threading.Event()
    threading.Thread(target=give_addresses, args=(rest.Api(kubeconfig), name, stopped), daemon=True).start()
    run(helm, "install", name, chart, *words, "--create-namespace", "--wait", "--timeout", "60s", *quiet)
    atomic = "--rollback-on-failure" if helm.endswith("helm4") else "--atomic"
    upgrade = [helm, "upgrade", name, chart, *words, "--reset-then-reuse-values", atomic, "--timeout"]
    failed = subprocess.run([*upgrade, "15s", "--set", "nodeSelector.nowhere=here"], capture_output=True, text=True, check=False, timeout=300)
    assert failed.returncode != 0 and "rolled back" in failed.stderr, failed
    assert "nowhere" not in template().get("nodeSelector", {}) and revision()["status"] == "deployed", (template(), revision())
    run(*upgrade, "60s", "--set", "claimTemplates=own")
    assert "--claim-templates=own" in template()["containers"][0]["args"] and "nowhere" not in template().get("nodeSelector", {}), template()
    run(helm, "rollback", name, *words, "--wait", "--timeout", "60s")
    assert "--claim-templates=own" not in template()["containers"][0]["args"] and revision()["description"].startswith("Rollback"), revision()
    run(helm, "uninstall", name, *words)
    stopped.set()


def main():
    release, programs = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    needed = [os.path.join(TOOLS, name) for name in ("usr/bin/docker-registry", "usr/bin/skopeo", "helm3", "helm4")]
    missing = [path for path in needed if not os.access(path, os.X_OK)]
    if missing:
        print(f"skipped: {', '.join(missing)} not there (scripts/fetch-test-tools --release)")
        return 77
    with open(os.path.join(release, "image/index.json"), encoding="utf-8") as file:
        entry, = json.load(file)["manifests"]
    version, digest = entry["annotations"]["org.opencontainers.image.ref.name"], entry["digest"]
    passed = 0
    with tempfile.TemporaryDirectory(prefix="dra-registry-") as folder, registry(folder) as host:
        push(release, version, host)
        assert digest_there(host, version) == digest, "the index in the registry is another one than the chart pins"
        fleet = os.path.join(folder, "fleet.yaml")
        with open(fleet, "w", encoding="utf-8") as out:
            out.write(rest.fleet(3, 1))
        with charts.sandbox_of(programs, fleet) as box:
            for helm in ("helm3", "helm4"):
                tool = os.path.join(TOOLS, helm)
                for chart, words in ((f"oci://{host}/dra/charts/{NAME}", ["--version", version, "--plain-http"]), (os.path.join(release, f"{NAME}-{version}.tgz"), [])):
                    image = install(tool, chart, box.kubeconfig, NAME, words)
                    assert image.endswith("@" + digest), image
                    passed += 1
        # With a manager, which binds the pods that Helm waits for.
        for helm in ("helm3", "helm4"):
            with charts.sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet]) as box:
                roll_back(os.path.join(TOOLS, helm), os.path.join(release, f"{NAME}-{version}.tgz"), box.kubeconfig, NAME)
            passed += 1
        shutil.rmtree(os.path.join(folder, "data"), ignore_errors=True)
    print(f"{passed + 1} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
