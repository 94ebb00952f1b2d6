#!/usr/bin/env python3
"""Hundreds of watches of the embedded API server while others create, patch and delete big objects: first clients that read nothing, or one byte a
second, then some that read all the time, but little at once. The server's memory grows by 64 MiB at most over what the same writes take without them,
probes and an ordinary client's writes and watch are served in time, a new watch finds a place, and everything is freed once the attackers are gone.

  slow_watches_test.py PROGRAMS_FOLDER [--long]

The long form opens 1,000 watches and needs an otherwise idle machine; the short one, for CI, 300."""
import itertools
import multiprocessing
import os
import re
import resource
import socket
import ssl
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/e2e")]
import api as rest  # noqa: E402
import sandbox  # noqa: E402

LONG = "--long" in sys.argv
WATCHES = 1_000 if LONG else 300
ROUNDS = 12 if LONG else 3
OBJECTS = 60  # of each kind in a round
MOST_MIB = 64
MOST_MIB_LEFT = 32
# What attackers may add to a probe, in seconds, and how long an ordinary write may take. Where this program and the server share two processors with other
# tests, only what is far off counts.
MOST_PROBE = 0.1 if LONG else 1.0
MOST_LATENCY = 0.25 if LONG else 1.5
# Who reads is sent what he reads: those that read all the time have a share of the server, and of this machine.
MOST_OF_BUSY = 0.5 if LONG else 2.0
TEXT = "x" * 100_000
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
SLICES = rest.RESOURCE + "/resourceslices"
MAPS = "/api/v1/namespaces/kube-public/configmaps"
MERGE = "application/merge-patch+json"


def big(name, **spec):
    return {"metadata": {"name": name, "annotations": {"text": TEXT}}, **spec}


def big_objects(i):
    """The path of a collection, an object for it."""
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    yield PODS, big(f"big-{i}", spec={"containers": [{"name": "c", "image": "x"}]})
    yield CLAIMS, big(f"big-{i}", spec={"devices": {"requests": [request]}})
    yield SLICES, big(f"big-{i}", spec={"driver": "d.example.com", "allNodes": True, "devices": [{"name": "d"}],
                                        "pool": {"name": f"big-{i}", "generation": 1, "resourceSliceCount": 1}})


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def kernel_mib():
    """What all sockets of the machine keep in the kernel."""
    with open("/proc/net/sockstat", encoding="ascii") as stat:
        return int(re.search(r"TCP:.* mem (\d+)", stat.read()).group(1)) * 4 / 1024


class Attacker:
    """The watches of the attack, in a process of its own."""
    PATHS = ("/api/v1/pods", rest.RESOURCE + "/resourceclaims", rest.RESOURCE + "/resourceslices", PODS)
    ACCEPT = ("application/json", "application/vnd.kubernetes.protobuf;stream=watch,application/json")

    def __init__(self, client, busy):
        self.client, self.busy = client, busy
        self.opened = multiprocessing.Value("i", 0)
        self.process = multiprocessing.Process(target=self.run, daemon=True)

    def open(self, i):
        plain = socket.socket()
        if i % 2 == 0:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)  # before connect(), so that the window is small
        plain.settimeout(20)
        plain.connect(("127.0.0.1", self.client.url.port))
        peer = self.client.context.wrap_socket(plain, server_hostname="localhost")
        query = "" if i % 3 else "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        peer.sendall(f"GET {self.PATHS[i % 4]}?watch=true{query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.client.token}\r\n"
                     f"Accept: {self.ACCEPT[i // 4 % 2]}\r\n\r\n".encode())
        return peer

    def run(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, WATCHES + 200), hard))
        peers = []
        for i in range(WATCHES):
            try:
                peers.append(self.open(i))
            except OSError:
                pass
            self.opened.value = i + 1
        for peer in peers:
            peer.settimeout(0)
        for turn in itertools.count():
            if turn % 50 == 0:
                self.read(peers[::3], 1)
            if self.busy:
                self.read(peers[1::3], 4096)
            time.sleep(0.02)

    @staticmethod
    def read(peers, most):
        for peer in peers:
            try:
                peer.recv(most)
            except OSError:
                continue


class Prober:
    """Asks for /livez and /readyz on new connections, in a process of its own."""

    def __init__(self, port):
        self.longest, self.count = multiprocessing.Value("d", 0.0), multiprocessing.Value("i", 0)
        self.process = multiprocessing.Process(target=self.run, args=(port,), daemon=True)

    def run(self, port):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        while True:
            for path in ("livez", "readyz"):
                start = time.monotonic()
                with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30)) as peer:
                    peer.sendall(f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                    if not peer.recv(4096).startswith(b"HTTP/1.1 200 "):
                        raise SystemExit("a probe failed")
                self.longest.value = max(self.longest.value, time.monotonic() - start)
                self.count.value += 1
            time.sleep(0.05)


class Ordinary:
    """A client that writes small objects and sees them in its watch, in a process of its own."""

    def __init__(self, client):
        self.write, self.event = multiprocessing.Value("d", 0.0), multiprocessing.Value("d", 0.0)
        self.count = multiprocessing.Value("i", 0)
        self.process = multiprocessing.Process(target=self.run, args=(client,), daemon=True)

    def run(self, client):
        client.local = threading.local()
        lines = client.watch(MAPS + "?watch=true&resourceVersion=" + client.get(MAPS)["metadata"]["resourceVersion"], 30)
        while True:
            name = f"small-{self.count.value}"
            start = time.monotonic()
            client.create(MAPS, {"metadata": {"name": name}})
            self.write.value = max(self.write.value, time.monotonic() - start)
            while f'"{name}"'.encode() not in next(lines):
                pass
            self.event.value = max(self.event.value, time.monotonic() - start)
            self.count.value += 1
            time.sleep(0.05)


class Measured:
    """One server, and no attackers, "slow" ones or "busy" ones."""

    def __init__(self, programs, attackers=None, probe_alone=0.0):
        self.programs, self.attackers, self.probe_alone, self.wrong = programs, attackers, probe_alone, []
        self.most_probe, self.most_latency = (MOST_OF_BUSY, MOST_OF_BUSY) if attackers == "busy" else (MOST_PROBE, MOST_LATENCY)
        self.peak = self.kernel = 0.0

    def write(self, path, method, body=None):
        code, answer = self.client.request(method, path, body, MERGE if method == "PATCH" else "application/json", parse=False)
        if code not in (200, 201):
            self.wrong.append(f"{method} {path}: HTTP {code}: {answer}")

    def one(self, i):
        for path, body in big_objects(i):
            name = f"{path}/{body['metadata']['name']}"
            self.write(path, "POST", body)
            for turn in range(2):
                self.write(name, "PATCH", {"metadata": {"annotations": {"turn": str(turn)}}})
            self.write(name + "?gracePeriodSeconds=0", "DELETE")
        self.sample()

    def sample(self):
        self.peak = max(self.peak, status_of(self.pid))
        self.kernel = max(self.kernel, kernel_mib())

    def writes(self):
        for _ in range(ROUNDS):
            self.client.many([lambda i=i: self.one(i) for i in range(OBJECTS)], threads=4)

    def new_watch(self):
        """Seconds until somebody who comes late sees what exists."""
        start = time.monotonic()
        for line in self.client.watch("/api/v1/namespaces?watch=true", 20):
            if b'"kube-system"' in line:
                return time.monotonic() - start
        raise SystemExit("the watch of a latecomer ended")

    def released(self, before_fds):
        end = time.monotonic() + 15
        while time.monotonic() < end and descriptors(self.pid) > before_fds + 4:
            time.sleep(0.1)
        time.sleep(2)  # freed memory goes back within about a second
        if descriptors(self.pid) > before_fds + 4:
            self.wrong.append(f"{descriptors(self.pid)} descriptors are open once the attackers are gone, {before_fds} were")
        return status_of(self.pid)

    def run(self):
        with sandbox.Sandbox(os.path.join(self.programs, "dra-sandbox"), command="apiserver", ready_line="serving on") as box:
            self.pid, self.client = box.process.pid, rest.Api(box.kubeconfig)
            for i in range(100, 120):  # the initial state of the watches
                for path, body in big_objects(i):
                    self.write(path, "POST", body)
            ordinary, prober = Ordinary(self.client), Prober(self.client.url.port)
            attacker = Attacker(self.client, self.attackers == "busy") if self.attackers else None
            ordinary.process.start()
            prober.process.start()
            time.sleep(0.5)
            fds = descriptors(self.pid)
            start = time.monotonic()
            if attacker:
                attacker.process.start()
                while attacker.opened.value < WATCHES and attacker.process.is_alive():
                    self.sample()
                    time.sleep(0.05)
            opened = time.monotonic() - start
            self.writes()
            late = self.new_watch()
            seconds = time.monotonic() - start
            held = descriptors(self.pid) - fds
            alive = [p.process.is_alive() for p in (ordinary, prober)]
            if attacker:
                attacker.process.kill()
                attacker.process.join()
            left = self.released(fds)
            for p in (ordinary, prober):
                p.process.kill()
                p.process.join()
        print(f"{f'with {self.attackers}' if self.attackers else 'without'} watches: {seconds:.1f} s ({opened:.1f} s to open), peak {self.peak:.0f} MiB, "
              f"in the end {left:.0f} MiB, sockets in the kernel {self.kernel:.0f} MiB, {held} connections held, a late watch {late:.3f} s, "
              f"{prober.count.value} probes at most {prober.longest.value:.3f} s, {ordinary.count.value} small writes at most "
              f"{ordinary.write.value:.3f} s, events {ordinary.event.value:.3f} s", flush=True)
        if not all(alive):
            self.wrong.append(f"the ordinary client and the prober are alive: {alive}")
        self.longest_probe = prober.longest.value
        if self.longest_probe - self.probe_alone > self.most_probe:
            self.wrong.append(f"a probe took {self.longest_probe:.3f} s, {self.probe_alone:.3f} s without attackers")
        if max(ordinary.write.value, ordinary.event.value) > self.most_latency or late > self.most_latency:
            self.wrong.append(f"a write took {ordinary.write.value:.3f} s, an event {ordinary.event.value:.3f} s, a new watch {late:.3f} s")
        return self.peak, left


def main():
    plain = Measured(sys.argv[1])
    peak, left = plain.run()
    wrong = plain.wrong
    for attackers in ("slow", "busy"):
        attacked = Measured(sys.argv[1], attackers, plain.longest_probe)
        attacked_peak, attacked_left = attacked.run()
        wrong += attacked.wrong
        if attacked_peak - peak > MOST_MIB:
            wrong.append(f"{attackers}: memory grew by {attacked_peak - peak:.0f} MiB over what the objects need")
        if attacked_left - left > MOST_MIB_LEFT:
            wrong.append(f"{attackers}: {attacked_left - left:.0f} MiB stay once the attackers are gone")
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
