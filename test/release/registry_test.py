#!/usr/bin/env python3
"""A release in a registry: Debian's docker-registry on loopback, filled by skopeo as docs/release.md says, then Helm 3 and 4 render and install the chart from
there, and from the .tgz, into the embedded API server; the image that they name is the one in the registry.

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
            out.write(rest.fleet(1, 1))
        with charts.sandbox_of(programs, fleet) as box:
            for helm in ("helm3", "helm4"):
                tool = os.path.join(TOOLS, helm)
                for chart, words in ((f"oci://{host}/dra/charts/{NAME}", ["--version", version, "--plain-http"]), (os.path.join(release, f"{NAME}-{version}.tgz"), [])):
                    image = install(tool, chart, box.kubeconfig, NAME, words)
                    assert image.endswith("@" + digest), image
                    passed += 1
        shutil.rmtree(os.path.join(folder, "data"), ignore_errors=True)
    print(f"{passed + 1} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
