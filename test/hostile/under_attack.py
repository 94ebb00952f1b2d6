"""What the tests share that attack a manager on its own API server: the devices, claims and pods, and phases in which other namespaces' pods, /livez,
memory and tasks of the main thread are measured."""
import argparse
import multiprocessing
import os
import re
import sys
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/e2e")]
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

FLEET = """
kind: Fleet
deviceClasses:
- name: gpu
  selectors: ['device.driver == "gpu.example.com"']
- name: slice
  selectors: ['device.driver == "slice.example.com"']
models:
  gpu:
    driver: gpu.example.com
    name: gpu-{device}
    attributes: {type: gpu, uuid: "GPU-{uuid}", index: {int: "{device}"}}
    capacity: {memory: 80Gi}
  slice:
    driver: slice.example.com
    name: whole-{device}
    attributes: {type: whole, index: {int: "{device}"}}
    capacity: {memory: 40Gi}
    partitions:
      name: part-{device}-{id}-{start}
      counterSet: set-{device}
      memorySlices: 8
      attributes: {type: part, index: {int: "{device}"}, profile: "{profile}"}
      profiles:
      - {name: one, id: 1, size: 1, starts: [0, 1, 2, 3, 4, 5, 6], capacity: {memory: 5Gi}}
      - {name: two, id: 2, size: 2, starts: [0, 2, 4], capacity: {memory: 10Gi}}
      - {name: four, id: 4, size: 4, starts: [0, 4], capacity: {memory: 20Gi}}
nodes:
- name: node-{index}
  count: 79
  capacity: {cpu: "64000", memory: 256000Gi}
  devices: [{model: gpu, count: 127}]
- name: slices-{index}
  count: 20
  capacity: {cpu: "64000", memory: 256000Gi}
  devices: [{model: slice, count: 8}]
"""
ATTRIBUTES = 'device.attributes["gpu.example.com"]'
PARTS = 'device.attributes["slice.example.com"]'
CLAIMS = rest.RESOURCE + "/namespaces/{}/resourceclaims"
TEMPLATES = rest.RESOURCE + "/namespaces/{}/resourceclaimtemplates"
PODS = "/api/v1/namespaces/{}/pods"
MOST_MIB = 64
MOST_MIB_LEFT = 40
REQUESTS_OF_A_POD = 6  # it is created, its claim allocated and proven, the pod bound, and read until it has its node


def claim(name, requests, **spec):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": {"devices": {"requests": requests, **spec}}}


def wish(selectors=(), **fields):
    return {"deviceClassName": "gpu", **fields, "selectors": [{"cel": {"expression": s}} for s in selectors]}


def exactly(name, selectors=(), **fields):
    return {"name": name, "exactly": wish(selectors, **fields)}


def of_class(device_class, request):
    request["exactly"]["deviceClassName"] = device_class
    return request


def first_available(name, alternatives):
    return {"name": name, "firstAvailable": [{"name": f"a{i}", **wish(s)} for i, s in enumerate(alternatives)]}


def pod(name, claims, **metadata):
    refs = [f"d{i}" for i in range(len(claims))]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"schedulerName": "dra", "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": r} for r in refs]}}],
                     "resourceClaims": [{"name": r, "resourceClaimName": c} for r, c in zip(refs, claims)]}}


def nested_loops(width, inner):
    numbers = ",".join(str(i) for i in range(width))
    for variable in "cba":
        inner = f"[{numbers}].all({variable}, {inner})"
    return inner


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


class Prober:
    """Polls /livez; records the longest wait and the most memory of each phase. A process of its own, which nothing else in this test delays."""

    def __init__(self, port, pid):
        self.longest, self.most = multiprocessing.Value("d", 0.0), multiprocessing.Value("d", 0.0)
        self.process = multiprocessing.Process(target=self.poll, args=(f"http://127.0.0.1:{port}/livez", pid), daemon=True)
        self.process.start()

    def poll(self, url, pid):
        while True:
            start = time.monotonic()
            urllib.request.urlopen(url, timeout=60).read()
            self.longest.value = max(self.longest.value, time.monotonic() - start)
            self.most.value = max(self.most.value, resident_mib(pid))
            time.sleep(0.02)

    def take(self):
        longest, most, self.longest.value, self.most.value = self.longest.value, self.most.value, 0.0, 0.0
        return longest, most

    def end(self):
        """False: it ended before, since a request failed."""
        alive = self.process.is_alive()
        self.process.kill()
        self.process.join()
        return alive


class UnderAttack:
    """Derived classes define attacks()."""
    ARGUMENTS = ()  # more of the manager's

    def __init__(self, box, programs, flags):
        self.box, self.flags = box, flags
        self.api = self.client_of(box)
        self.manager = managers.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(box.folder, "manager.log"),
                                        ["--scheduler-names=dra", *self.ARGUMENTS]).start()
        self.settle = 20 if flags.long else 2  # seconds that an attack is watched after its last request
        self.most_seconds = 1.0 if flags.long else 3.0  # until another namespace's pod has its node
        self.most_probe = 0.1 if flags.long else 1.0
        self.ordinary = self.ordinary_gone = 0
        self.made = []  # the attack's objects: kind and path
        self.attacked = False
        self.wrong = []

    @staticmethod
    def client_of(box):
        return rest.Api(box.kubeconfig)

    def seconds_to_a_node(self):
        name = f"ordinary-{self.ordinary}"
        self.ordinary += 1
        self.api.create(CLAIMS.format("default"), claim(name, [exactly("r")]))
        start = time.monotonic()
        self.api.create(PODS.format("default"), pod(name, [name]))
        path = PODS.format("default") + "/" + name
        self.box.wait_for(lambda: self.api.get(path)["spec"].get("nodeName"), 120, f"pod {name} to get its node")
        return time.monotonic() - start

    def seconds_of_the_server(self):
        """What the API server alone takes for as many requests as such a pod needs, one after the other."""
        start = time.monotonic()
        for _ in range(REQUESTS_OF_A_POD):
            self.api.request("PATCH", "/api/v1/namespaces/default", {"metadata": {"annotations": {"count": str(time.monotonic())}}},
                             "application/merge-patch+json")
        return time.monotonic() - start

    def long_tasks(self):
        """The number of tasks of the manager's main thread above each limit in seconds, and by processor time."""
        found = {}
        for metric, words in (("dra_reactor_task_seconds", "s"), ("dra_reactor_task_cpu_seconds", "s of processor time")):
            counts = {match[1]: int(match[2]) for match in
                      re.finditer(rf'^{metric}_bucket\{{le="([^"]+)"\}} (\d+)', self.manager.metrics(), re.MULTILINE)}
            found |= {f"{limit} {words}": counts["+Inf"] - counts[limit] for limit in ("0.02", "0.05", "0.1", "0.2", "1")}
        return found

    def phase(self, name, attack, seconds, beside_server=False):
        """Runs the attack while ordinary pods are created, and for some seconds after it. `beside_server`: only what the manager adds counts."""
        self.prober.take()
        before = self.long_tasks()

        def run():
            try:
                attack()
            except BaseException as error:  # a request that was refused ends with SystemExit, which a thread would not show
                self.wrong.append(f"{name}: the attack ended early: {error!r}")
        thread = threading.Thread(target=run)
        thread.start()
        waits, of_the_server, end = [], [self.seconds_of_the_server()], time.monotonic() + seconds
        while thread.is_alive() or time.monotonic() < end:
            waits.append(self.seconds_to_a_node())
            of_the_server.append(self.seconds_of_the_server())
            time.sleep(0.2)
        thread.join()
        # Where the two share the processors with this program, only what the manager adds counts.
        beside_server = beside_server or not self.flags.long
        counted = max(waits) if not beside_server else max(wait - max(of_the_server[i:i + 2]) for i, wait in enumerate(waits))
        longest, most = self.prober.take()
        print(f"{name}: of {len(waits)} pods of another namespace the longest waited {max(waits):.3f} s, median {sorted(waits)[len(waits) // 2]:.3f} s "
              f"(the API server alone {max(of_the_server):.3f} s, median {sorted(of_the_server)[len(of_the_server) // 2]:.3f} s); "
              f"/livez at most {longest:.3f} s; memory {most - self.before:+.0f} MiB; tasks longer than "
              + ", ".join(f"{limit}: {count - before[limit]}" for limit, count in self.long_tasks().items()), flush=True)
        if counted > self.most_seconds:
            self.wrong.append(f"{name}: a pod of another namespace waited {counted:.3f} s"
                              + (" longer than the API server alone takes" if beside_server else ""))
        if longest > self.most_probe:
            self.wrong.append(f"{name}: /livez took {longest:.3f} s")
        if most - self.before > MOST_MIB:
            self.wrong.append(f"{name}: memory grew by {most - self.before:.0f} MiB")

    def make(self, kind, body, namespace="tenant"):
        path = kind.format(namespace)
        self.api.create(path, body)
        self.made.append((kind, f"{path}/{body['metadata']['name']}"))

    def expect_event(self, name, text):
        notes, end = [], time.monotonic() + 20
        while time.monotonic() < end:
            events = self.api.get("/apis/events.k8s.io/v1/namespaces/tenant/events")["items"]
            notes = [e["note"] for e in events if e["regarding"].get("name") == name]
            if any(text in note for note in notes):
                return
            time.sleep(0.2)
        self.wrong.append(f"no event about {name} says \"{text}\": {[note[:300] for note in notes[-3:]]}")

    def many_pods(self, prefix, make):
        self.api.many([lambda i=i: self.make(PODS, make(f"{prefix}-{i}")) for i in range(400 if self.flags.long else 40)], threads=4)

    def deletion(self):
        """Without reading the objects, which would keep this process busy for seconds."""
        made, self.made = self.made, []
        for kind in (PODS, CLAIMS, TEMPLATES):
            self.api.many([lambda p=path: self.api.request("DELETE", p, {"gracePeriodSeconds": 0}, parse=False)
                           for k, path in made if k is kind], threads=4)

    def remove_ordinary(self):
        """The pods that waited during the attack: what is kept of them is not the attack's."""
        for path in (PODS, CLAIMS):
            for i in range(self.ordinary_gone, self.ordinary):
                self.api.request("DELETE", f"{path.format('default')}/ordinary-{i}", {"gracePeriodSeconds": 0}, parse=False)
        self.ordinary_gone = self.ordinary

    def attack(self, *phases, beside_server=False):
        """Attacks with their names, then the deletion of their objects."""
        phases = [(name, attack) for name, attack in phases if not self.flags.only or self.flags.only in name]
        self.attacked = self.attacked or bool(phases)
        for name, attack in phases:
            self.phase(name, attack, self.settle, beside_server)
        if phases:
            self.phase("deletion of these", self.deletion, 1, beside_server)
            self.remove_ordinary()
            self.recovered()

    def recovered(self):
        """Most of the attack's memory is freed within 20 s."""
        end = time.monotonic() + 20
        while (more := resident_mib(self.manager.process.pid) - self.before) > MOST_MIB_LEFT and time.monotonic() < end:
            time.sleep(0.5)
        print(f"memory {more:+.0f} MiB once the objects are gone", flush=True)
        if more > MOST_MIB_LEFT:
            self.wrong.append(f"memory stays {more:.0f} MiB above what it was")

    def run(self):
        try:
            self.box.wait_for(self.manager.metrics_port, 20, "the manager to listen")
            self.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant"}})
            idle = [self.seconds_to_a_node() for _ in range(3)]
            self.before = resident_mib(self.manager.process.pid)
            print(f"idle: a pod waits {min(idle):.3f} s, memory {self.before:.0f} MiB, seed {self.flags.seed}", flush=True)
            self.prober = Prober(self.manager.metrics_port(), self.manager.process.pid)
            self.attacks()
            if not self.attacked:
                self.wrong.append(f"no attack has {self.flags.only!r} in its name")
            self.phase("afterwards", lambda: None, self.settle)
            if not self.prober.end():
                self.wrong.append("/livez was not answered")
            if self.manager.process.poll() is not None:
                self.wrong.append(f"the manager ended with {self.manager.process.returncode}")
            for line in re.findall(r".*Stopped leading.*", self.manager.log()):
                self.wrong.append("the lease: " + line)
        finally:
            self.manager.kill()
        for line in self.wrong:
            print(line)
        return 1 if self.wrong else 0


def flags_of(text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def main(test, text):
    flags = flags_of(text)
    fleet = os.path.join(flags.programs, f"{test.__name__.lower()}-fleet.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(FLEET)
    try:
        with sandbox.Sandbox(os.path.join(flags.programs, "dra-sandbox"), ["--fleet", fleet, "--without-manager"]) as box:
            return test(box, flags.programs, flags).run()
    finally:
        os.remove(fleet)
