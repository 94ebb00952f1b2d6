#!/usr/bin/env python3
"""Real DRA drivers beside the manager: each publishes its slices, a pod gets devices of it, and the driver prepares and unprepares the claim for a test client
that stands in for the kubelet (kubelet_client.mjs). In the sandbox and, where $KUBEBUILDER_ASSETS has one, on a real API server.

$DRA_DRIVERS names a folder with programs of drivers that run here without special hardware; without it the test is skipped. Nothing of a driver is in this tree.

  real_drivers_test.py FOLDER_OF_PROGRAMS
"""
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

NODE = "node-of-drivers"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
SLICES = rest.RESOURCE + "/resourceslices"


@dataclasses.dataclass
class Driver:
    """A way to start a driver's program: `words` beside those that say where its sockets and files are; `asks`: a request for each claim."""
    program: str
    name: str
    asks: list
    words: tuple = ()
    check: object = lambda slices, claims: True  # of the published slices and the allocated claims
    what: str = ""


def exactly(**fields):
    return {"exactly": {"deviceClassName": "of-driver", **fields}}


def counters_are_shared(slices, _claims):
    return any(s["spec"].get("sharedCounters") for s in slices) and any(d.get("consumesCounters") for s in slices for d in s["spec"].get("devices", []))


EXAMPLE = "dra-example-kubeletplugin"
DRIVERS = [
    Driver(EXAMPLE, "gpu.example.com", [exactly(), exactly(count=2), exactly(selectors=[{"cel": {"expression": "device.attributes['gpu.example.com'].index == 5"}}])],
           ("--num-devices=8",), what="whole devices"),
    Driver(EXAMPLE, "gpu.example.com", [exactly(selectors=[{"cel": {"expression": "'memory' in device.capacity['gpu.example.com']"}}]) for _ in range(3)],
           ("--num-devices=2", "--gpu-partitions=4"), counters_are_shared, "partitions with shared counters"),
    Driver(EXAMPLE, "gpu.example.com", [exactly(capacity={"requests": {"compute": "30", "memory": "10Gi"}}) for _ in range(3)], ("--num-devices=1", "--gpu-allow-multiple-allocations"),
           lambda _, claims: len({device for claim in claims for device in rest.devices_of(claim)}) == 1, "one device for several claims"),
    Driver(EXAMPLE, "cpu.example.com", [exactly(capacity={"requests": {"cpu.example.com/cpu": "3"}}) for _ in range(2)],
           ("--device-profile=cpu", "--cpu-numa-nodes=2", "--cpus-per-numa-node=4"), what="consumable capacity"),
    Driver(EXAMPLE, "net.example.com", [exactly(), exactly()], ("--device-profile=net", "--num-devices=4"), what="network devices"),
]


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"waited {seconds} s in vain for {what}")
        time.sleep(0.1)
    return found


class Node:
    """A driver as it runs on a node, and the kubelet's part."""

    def __init__(self, driver, kubeconfig):
        self.driver = driver
        self.folder = tempfile.mkdtemp(prefix="dra-drivers-")  # short: a socket's path has at most 108 bytes
        for name in ("cdi", "plugins", "registry"):
            os.mkdir(os.path.join(self.folder, name))
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(os.environ["DRA_DRIVERS"], driver.program), f"--kubeconfig={kubeconfig}", f"--node-name={NODE}", f"--cdi-root={self.folder}/cdi",
                 f"--kubelet-plugins-directory-path={self.folder}/plugins", f"--kubelet-registrar-directory-path={self.folder}/registry", *driver.words],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.endpoint = None

    def kubelet(self, *words):
        answer = subprocess.run(["node", os.path.join(HERE, "kubelet_client.mjs"), *words], capture_output=True, text=True, timeout=60, check=False)
        if answer.returncode != 0:
            raise SystemExit(f"kubelet_client {' '.join(words)}: {answer.stderr}\n{self.last_words()}")
        return json.loads(answer.stdout)

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-1500:]

    def register(self):
        def sockets():
            if self.process.poll() is not None:
                raise SystemExit(f"{self.driver.program} ended with {self.process.returncode}:\n{self.last_words()}")
            return [name for name in os.listdir(f"{self.folder}/registry") if name.endswith(".sock")]
        name, = wait_for(sockets, 60, f"{self.driver.program} to register")
        info = self.kubelet("info", f"{self.folder}/registry/{name}")
        if info["type"] != "DRAPlugin" or info["name"] != self.driver.name or "v1.DRAPlugin" not in info["versions"]:
            raise SystemExit(f"{self.driver.program} registers as {info}")
        self.endpoint = info["endpoint"]

    def of_claim(self, verb, claim):
        said = self.kubelet(verb, self.endpoint, "default", claim["metadata"]["uid"], claim["metadata"]["name"])
        if said["error"]:
            raise SystemExit(f"{verb} of {claim['metadata']['name']}: {said['error']}")
        return said

    def cdi_devices(self):
        """The names that container runtimes would know."""
        found = set()
        for name in os.listdir(f"{self.folder}/cdi"):
            with open(f"{self.folder}/cdi/{name}", encoding="utf-8") as file:
                text = file.read()
            try:
                spec = json.loads(text)
                found |= {f"{spec['kind']}={device['name']}" for device in spec["devices"]}
            except ValueError:  # YAML: kind and names are lines of their own
                kind = next(line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("kind:"))
                found |= {f"{kind}={line.split(':', 1)[1].strip()}" for line in text.splitlines() if line.strip().lstrip("- ").startswith("name:")}
        return found

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def pod_of(number):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": {
        "schedulerName": "dra", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "example.test/none", "resources": {"claims": [{"name": "d"}]}}],
        "resourceClaims": [{"name": "d", "resourceClaimName": f"claim-{number}"}]}}


def run_driver(driver, api, kubeconfig):
    node = Node(driver, kubeconfig)
    try:
        node.register()
        slices = wait_for(lambda: (found := [s for s in api.items(SLICES) if s["spec"]["driver"] == driver.name]) and
                          len(found) >= found[0]["spec"]["pool"]["resourceSliceCount"] and found, 30, f"slices of {driver.name}")
        api.create(rest.RESOURCE + "/deviceclasses", {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "of-driver"},
                                                      "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver.name}'"}}]}})
        for number, ask in enumerate(driver.asks):
            api.create(CLAIMS, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": f"claim-{number}"},
                                "spec": {"devices": {"requests": [{"name": "r", **ask}]}}})
            api.create(PODS, pod_of(number))
        wait_for(lambda: all(p["spec"].get("nodeName") == NODE for p in api.items(PODS)), 60, "the pods to get their node")
        claims = api.items(CLAIMS)
        if not driver.check(slices, claims):
            raise SystemExit(f"not as expected: {json.dumps(claims)[:3000]}")
        for claim in claims:
            said = node.of_claim("prepare", claim)
            results = claim["status"]["allocation"]["devices"]["results"]
            wanted = sorted((r["pool"], r["device"], r.get("shareID", "")) for r in results)
            if sorted((d["pool"], d["device"], d["share"]) for d in said["devices"]) != wanted or any(d["requests"] != ["r"] for d in said["devices"]):
                raise SystemExit(f"allocated {wanted}, prepared {said}")
            missing = {name for device in said["devices"] for name in device["cdi"]} - node.cdi_devices()
            if missing or not any(device["cdi"] for device in said["devices"]):
                raise SystemExit(f"prepared {said}, but no container could use {missing}")
            if node.of_claim("prepare", claim) != said:
                raise SystemExit("a second preparation says something else")
        for number, claim in enumerate(claims):
            node.of_claim("unprepare", claim)
            node.of_claim("unprepare", claim)  # kubelets may ask again
            api.request("DELETE", f"{PODS}/pod-{number}", {"gracePeriodSeconds": 0}, parse=False)
        wait_for(lambda: not any(c.get("status", {}).get("allocation") for c in api.items(CLAIMS)), 60, "the devices to be free")
    finally:
        node.stop()
    for number in range(len(driver.asks)):
        api.request("DELETE", f"{CLAIMS}/claim-{number}", parse=False)
    for path in [rest.RESOURCE + "/deviceclasses/of-driver", *(f"{SLICES}/{s['metadata']['name']}" for s in slices)]:
        api.request("DELETE", path, parse=False)
    wait_for(lambda: not api.items(CLAIMS) and not api.items(PODS), 30, "the test's objects to be gone")
    return len(slices), sum(len(s["spec"].get("devices", [])) for s in slices)


def run_all(where, api, kubeconfig, programs, drivers):
    api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}})
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    api.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"allocatable": allocatable, "capacity": allocatable, "conditions": [
        {"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}},
        "application/merge-patch+json")
    with tempfile.TemporaryDirectory() as folder:
        manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), kubeconfig, os.path.join(folder, "log"), ["--scheduler-names=dra"]).start()
        try:
            for driver in drivers:
                slices, devices = run_driver(driver, api, kubeconfig)
                print(f"ok    {where}: {driver.program}, {driver.what}: {devices} devices in {slices} slices, {len(driver.asks)} claims prepared and unprepared", flush=True)
        except BaseException:
            print(manager.log()[-3000:])
            raise
        finally:
            manager.kill()


def main():
    programs, folder = sys.argv[1], os.environ.get("DRA_DRIVERS", "")
    drivers = [driver for driver in DRIVERS if os.access(os.path.join(folder or "-", driver.program), os.X_OK)]
    if not drivers:
        print("skipped: DRA_DRIVERS names no folder with " + " or ".join(sorted({driver.program for driver in DRIVERS})))
        return 77

    with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), command="apiserver", ready_line="serving on") as box:
        run_all("sandbox", rest.Api(box.kubeconfig), box.kubeconfig, programs, drivers)
    if not real_cluster.RealCluster.available():
        print("no real API server: KUBEBUILDER_ASSETS does not name one")
        return 0
    with real_cluster.RealCluster() as cluster:
        api = cluster.api("admin")
        cluster.wait_for(lambda: api.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})[0] in (201, 409), 30, "an account for pods")
        run_all("a real API server", api, cluster.kubeconfig("admin"), programs, drivers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
