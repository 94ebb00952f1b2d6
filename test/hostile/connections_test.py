#!/usr/bin/env python3
"""Hostile connections against the manager's ports and the sandbox: thousands of them, slow heads, slow bodies, malformed chunks, gigabytes on
one. Memory grows by 32 MiB at most, and a probe is answered within 1 s throughout.

  connections_test.py PROGRAMS_FOLDER [--long]

The long form opens 10,000 connections and sends 2 GB on one; the short one, for CI, 2,000 and 200 MB."""
import multiprocessing
import os
import re
import resource
import socket
import ssl
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test/e2e")]
import api as rest  # noqa: E402
import manager  # noqa: E402
import sandbox  # noqa: E402

LONG = "--long" in sys.argv
CONNECTIONS = 10_000 if LONG else 2_000
BYTES = (2_000 if LONG else 200) * 1_000_000
MAX_GROWTH_MIB = 32
MAX_PROBE_SECONDS = 1.0


def rss_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


class Target:
    """A port to attack. `context` is set for TLS."""

    def __init__(self, name, pid, port, context=None):
        self.name, self.pid, self.port, self.context = name, pid, port, context

    def connect(self, handshake=True, timeout=10):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        return self.context.wrap_socket(plain, server_hostname="localhost") if self.context and handshake else plain

    def probe(self):
        """Seconds until /livez answered; raises if it did not."""
        start = time.monotonic()
        with self.connect() as peer:
            peer.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = peer.recv(4096)
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise OSError(f"the probe got {answer[:100]!r}")
        return time.monotonic() - start


class Watcher:
    """Probes and measures in the background while an attack goes on. A process of its own: as a thread of the attacker's it could wait between connect
    and send while the attacker opens more connections than the server keeps, and would lose its own, as a client that sends nothing should."""

    def __init__(self, target):
        self.target = target
        self.before = self.peak = rss_mib(target.pid)
        self.slowest, self.failures, self.probes = 0.0, [], 0
        fork = multiprocessing.get_context("fork")
        self.done = fork.Event()
        self.answer, self.told = fork.Pipe(duplex=False)
        self.process = fork.Process(target=self.run, daemon=True)

    def run(self):
        while not self.done.is_set():
            try:
                self.slowest = max(self.slowest, self.target.probe())
            except OSError as error:
                self.failures.append(str(error))
            self.probes += 1
            self.peak = max(self.peak, rss_mib(self.target.pid))
            time.sleep(0.05)
        self.told.send((self.slowest, self.failures, self.probes, self.peak))

    def __enter__(self):
        self.process.start()
        self.told.close()  # the process has its own: one that dies is an error here, not a wait without end
        return self

    def __exit__(self, *unused):
        self.done.set()
        self.slowest, self.failures, self.probes, self.peak = self.answer.recv()
        self.process.join()


def half_sent(target):
    """Connections that start a request and never finish it."""
    openings = [b"", b"GET", b"GET /livez HTTP/1.1\r\nX: ", b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"x" * 8000,
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + b"y" * 60_000,
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;" + b"e" * 5000, b"\x16\x03\x01\x02\x00\x01", b"\0" * 3000]
    peers = []
    for i in range(CONNECTIONS):
        try:
            # One in four completes the TLS handshake, if there is one.
            peer = target.connect(handshake=i % 4 == 0)
            peer.settimeout(0.2)
            peers.append(peer)
            peer.sendall(openings[i % len(openings)])
        except OSError:
            continue
    time.sleep(1)
    for peer in peers:
        peer.close()


def idle_after_one_answer(target):
    """Keep-alive connections after one request."""
    peers = []
    for _ in range(CONNECTIONS // 4):
        try:
            peer = target.connect()
            peers.append(peer)
            peer.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        except OSError:
            continue
    time.sleep(0.5)
    for peer in peers:
        peer.close()


def pour(target, head, piece):
    """Sends `piece` repeatedly on one connection, reconnecting when it is closed, until all bytes are sent or 20 s are over."""
    sent, end = 0, time.monotonic() + (60 if LONG else 5)
    while sent < BYTES and time.monotonic() < end:
        try:
            with target.connect() as peer:
                peer.sendall(head)
                while sent < BYTES and time.monotonic() < end:
                    peer.sendall(piece)
                    sent += len(piece)
        except OSError:
            sent += len(piece)
    return sent


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
ATTACKS = [
    ("half-sent requests", half_sent),
    ("idle connections", idle_after_one_answer),
    ("an endless head", lambda t: pour(t, b"GET / HTTP/1.1\r\nX: ", b"x" * 65536)),
    ("an endless body", lambda t: pour(t, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000\r\n\r\n", b"x" * 65536)),
    ("an endless chunk extension", lambda t: pour(t, CHUNKED + b"5;", b"x" * 65536)),
    ("endless trailers", lambda t: pour(t, CHUNKED + b"0\r\n", b"A: " + b"x" * 4000 + b"\r\n")),
    ("an extension on every byte", lambda t: pour(t, CHUNKED, (b"1;" + b"x" * 1000 + b"\r\ny\r\n") * 60)),
    ("many requests on one connection", lambda t: pour(t, b"", b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 500)),
]


def attack(target):
    wrong = []
    for name, run in ATTACKS:
        with Watcher(target) as watcher:
            start = time.monotonic()
            run(target)
            seconds = time.monotonic() - start
        growth = watcher.peak - watcher.before
        print(f"{target.name}: {name}: {seconds:.1f} s, RSS + {growth:.1f} MiB, {watcher.probes} probes, slowest {watcher.slowest:.3f} s, "
              f"{len(watcher.failures)} failed", flush=True)
        if growth > MAX_GROWTH_MIB:
            wrong.append(f"{target.name}: {name}: memory grew by {growth:.1f} MiB")
        if watcher.slowest > MAX_PROBE_SECONDS or watcher.failures or not watcher.probes:
            wrong.append(f"{target.name}: {name}: slowest probe {watcher.slowest:.3f} s, failures {watcher.failures[:3]}")
    return wrong


def anything():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def main():
    programs = sys.argv[1]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Only this process needs a higher limit; the servers keep theirs.
    with tempfile.TemporaryDirectory(prefix="dra-hostile-") as folder:
        with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), command="apiserver", ready_line="serving on") as box:
            client = rest.Api(box.kubeconfig)
            process = manager.Manager(os.path.join(programs, "dra-controller-manager"), box.kubeconfig, os.path.join(folder, "log"),
                                      ["--leader-elect=false"]).start()
            try:
                process.wait_until("Serving health", 20)
                box.wait_for(process.metrics_port, 20, "the manager's port")
                time.sleep(1)
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CONNECTIONS + 500), hard))
                wrong = attack(Target("manager", process.process.pid, process.metrics_port()))
                wrong += attack(Target("sandbox", box.process.pid, client.url.port, anything()))
            finally:
                process.kill()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
