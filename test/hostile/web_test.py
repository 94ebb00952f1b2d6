#!/usr/bin/env python3
"""Hostile peers against the port of `kubectl dra web`: the connections and slow heads of connections_test.py, requests without the key, foreign
Host and Origin, another user of this machine, sessions that never read. Meanwhile a page that has the key keeps its stream, and its questions are answered.

  web_test.py KUBECTL-DRA [--long]"""
import gzip
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import kubectl_dra_test as snapshots  # noqa: E402
import connections_test as connections  # noqa: E402

MAX_SESSIONS = 16  # kMaxReaders in pkg/web/page_server.h
MAX_QUESTIONS = 16  # kMaxWaiting
KEY = "X-Dra-Key"
FOREIGN = ({"Host": "example.com"}, {"Host": "127.0.0.1.example.com"}, {"Host": "localhost."}, {"Host": "[::1"}, {"Host": "127.0.0.1:1:2"}, {"Host": "0.0.0.0"},
           {"Host": "user@127.0.0.1"}, {"Origin": "http://example.com"}, {"Origin": "null"}, {"Origin": ""}, {"Sec-Fetch-Site": "cross-site"})
wrong = []


def check(what, condition, shown=""):
    if not condition:
        wrong.append(f"{what}: {shown}")
        print(f"FAILED: {what}: {str(shown)[:500]}", flush=True)


def answer_to(port, raw):
    """The status of the answer to these bytes and its body; 0: the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        try:
            peer.sendall(raw)
        except OSError:
            pass  # it was refused before the whole of it was sent
        got = b""
        try:
            # A connection that stays after its answer is left.
            while more := peer.recv(65536):
                got += more
                head, end, body = got.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
                if end and length and len(body) >= int(length[1]):
                    break
        except OSError:
            pass
    head, _, body = got.partition(b"\r\n\r\n")
    found = re.match(rb"HTTP/1.[01] (\d+) ", head)
    return (int(found[1]) if found else 0), body


def request(path, method="GET", headers=(), body=b""):
    fields = {"Host": "127.0.0.1", "Connection": "close", **dict(headers)}
    if body:
        fields["Content-Length"] = str(len(body))
    return "".join([f"{method} {path} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in fields.items()), "\r\n"]).encode() + body


class Page(connections.Target):
    """The server, and what a page with its key does."""

    def __init__(self, process, port, ticket):
        super().__init__("web", process.pid, port)
        status, body = answer_to(port, request("/api/key", "POST", {KEY: ticket}))
        check("a ticket gives the key", status == 200, status)
        self.key = json.loads(body)["key"]

    def probe(self):
        start = time.monotonic()
        with self.connect() as peer:
            peer.sendall(request("/"))
            answer = peer.recv(4096)
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise OSError(f"the probe got {answer[:100]!r}")
        return time.monotonic() - start

    def ask(self, document):
        return answer_to(self.port, request("/api/ask", "POST", {KEY: self.key, "Content-Type": "application/json"}, document))

    def session(self):
        """A stream; nothing of it has been read but its head."""
        peer = self.connect(timeout=20)
        peer.sendall(request("/api/stream", headers={KEY: self.key}))
        got = b""
        while b"\r\n\r\n" not in got:
            more = peer.recv(64)
            if not more:
                break
            got += more
        return peer, int(got.split()[1]) if got else 0


def refusals(page):
    """401 before anything else, and for nobody a reason to try further."""
    for path in ("/api/stream", "/api/ask", "/api/key", "/api", "/api/", "/nothing", "/../etc/passwd", "/page/../../x", "/%00", "//", "/page/main.js/"):
        for method in ("GET", "POST", "HEAD"):
            for headers in ({}, {KEY: ""}, {KEY: page.key[:-1]}, {KEY: page.key + "0"}, {KEY: page.key.upper() + " "}, {"Authorization": f"Bearer {page.key}"}, {"Cookie": f"key={page.key}"}):
                status, body = answer_to(page.port, request(path, method, headers))
                # A wrong key in capitals is none, unless it has no letters.
                check(f"{method} {path} {[*headers]}", (status, body) == (401, b""), (status, body[:100]))
    for what, body in {"no JSON": b"{", "too large": b"x" * (2 << 20), "deep": b"[" * 100_000}.items():
        check(f"a question that is {what} and has no key", answer_to(page.port, request("/api/ask", "POST", body=body))[0] == 401)
    check("the key in the address", answer_to(page.port, request(f"/api/stream?key={page.key}"))[0] == 401)
    check("another method", answer_to(page.port, request("/api/ask", "DELETE", {KEY: page.key}))[0] == 405)
    for headers in FOREIGN:
        for path in ("/", "/page/main.js", "/api/stream", "/api/key"):
            status, body = answer_to(page.port, request(path, headers={KEY: page.key, **headers}))
            check(f"{headers} {path}", status in (400, 403) and b"<" not in body and b"format" not in body, (status, body[:100]))
    for raw in (b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: example.com\r\n\r\n", b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nOrigin: http://example.com\r\n\r\n"):
        status, body = answer_to(page.port, raw)
        check(raw, status in (400, 403) and b"<!doctype" not in body, (status, body[:100]))


def another_user(page, file):
    """What a user of this machine sees who is not the one that started the server."""
    if os.getuid() != 0:
        print("another user: left out, only root can become one")
        return
    code = """if True:
        import os, socket, sys
        "x".encode("idna")  # loads what this user could not read
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        port, pid, file = int(sys.argv[1]), sys.argv[2], sys.argv[3]
        peer = socket.create_connection(("127.0.0.1", port))
        peer.sendall(b"GET /api/stream HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n")
        print(peer.recv(4096).split()[1].decode())
        for path in (f"/proc/{pid}/environ", f"/proc/{pid}/mem", file):
            try:
                open(path, "rb").read(1)
                print("read", path)
            except OSError:
                pass
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                print(open(f"/proc/{pid}/cmdline", "rb").read().replace(b"\\0", b" "))
            except OSError:
                pass
    """
    said = subprocess.run([sys.executable, "-c", code, str(page.port), str(page.pid), file], capture_output=True, text=True, check=True, timeout=30).stdout
    ticket = re.search("#key=([0-9a-f]{64})", open(file, encoding="ascii").read())[1]
    check("another user gets 401 and reads nothing", said.startswith("401\n") and "\nread " not in said, said[:300])
    check("the process list has the browser, and neither key nor ticket", file in said and page.key not in said and ticket not in said, said[:300])


def sessions(page):
    """Readers that never read: as many as there may be, then a refusal; when they go, others may come."""
    before = connections.rss_mib(page.pid)
    opened = [page.session() for _ in range(MAX_SESSIONS)]
    check("sessions", all(status == 200 for _, status in opened), [status for _, status in opened])
    status, body = answer_to(page.port, request("/api/stream", headers={KEY: page.key}))
    check("one session more", status == 429 and b"close one" in body, (status, body))
    time.sleep(1)
    growth = connections.rss_mib(page.pid) - before
    print(f"{MAX_SESSIONS} sessions that do not read: {growth:.1f} MiB more", flush=True)
    check("memory of sessions that do not read", growth <= 64, growth)
    check("a question beside them", page.ask(b'{"verb":"explain"}')[0] == 200)
    for peer, _ in opened:
        peer.close()
    end = time.monotonic() + 10
    while True:
        peer, status = page.session()
        peer.close()
        if status == 200 or time.monotonic() > end:
            break
        time.sleep(0.1)
    check("a session after them", status == 200, status)


def questions(page):
    """Many at a time: each is answered or refused, and the server goes on."""
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(page.ask(b'{"verb":"explain"}')[0])) for _ in range(3 * MAX_QUESTIONS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    # More connections than one user needs are closed without an answer.
    check("many questions", statuses.count(200) > 0 and set(statuses) <= {200, 429, 0}, statuses)
    check("a question after them", page.ask(b'{"verb":"explain"}')[0] == 200)
    for document in ({"verb": "explain", "words": ["pod/" + "x" * 100_000]}, {"verb": "explain", "words": ["--kubeconfig=/etc/passwd"]}, {"verb": "explain", "words": ["-f", "/etc/passwd"]},
                     {"verb": "snapshot", "words": ["/tmp/x"]}, {"verb": "history", "words": ["pod"]}, {"verb": "fits", "document": "a: &a [*a]"},
                     {"verb": "fits", "document": "[" * 500_000}, {"verb": "whatif", "words": ["drain", "\u202ex\u001b[2J"]}, {"verb": "who\u0000", "words": []}):
        status, body = page.ask(json.dumps(document).encode())
        check(f"the question {str(document)[:60]}", status == 422 and "error" in json.loads(body) and b"root:" not in body, (status, body[:200]))


def attacked(page):
    """connections_test's attacks, beside a page that has its stream and asks."""
    stream, status = page.session()
    check("a session", status == 200, status)
    stream.settimeout(0.2)
    answered = []
    done = threading.Event()

    def asks():
        while not done.is_set():
            start = time.monotonic()
            try:
                answered.append((page.ask(b'{"verb":"explain"}')[0], time.monotonic() - start))
            except OSError as error:
                answered.append((error, 0))
            time.sleep(0.2)
    thread = threading.Thread(target=asks)
    thread.start()
    wrong.extend(connections.attack(page))
    done.set()
    thread.join()
    slowest = max(seconds for _, seconds in answered)
    print(f"meanwhile {len(answered)} questions with the key, slowest {slowest:.3f} s")
    check("questions with the key", all(status == 200 for status, _ in answered) and slowest < 5, [one for one in answered if one[0] != 200][:5])
    try:
        while stream.recv(1 << 20):
            pass
        check("the stream of the page", False, "it was ended")
    except TimeoutError:
        pass  # it is open, and says nothing
    stream.close()


def main():
    dra = os.path.abspath(sys.argv[1])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory(prefix="dra-hostile-web-") as folder:
        lists = snapshots.cluster()
        lists["pods"] += [{**lists["pods"][1], "metadata": {**lists["pods"][1]["metadata"], "name": f"many-{i}", "uid": f"many-{i}", "annotations": {"a": "x" * 500}}} for i in range(2_000)]
        os.chmod(folder, 0o711)  # what is in it is kept from others by the program, not by this test
        snapshot, opened = os.path.join(folder, "cluster.dra"), os.path.join(folder, "opened")
        with open(snapshot, "wb") as out:
            out.write(gzip.compress(b"\n".join(snapshots.lines_of(lists)) + b"\n"))
        # A browser that stays, with the file that it was opened with in the list of processes.
        os.mkdir(os.path.join(folder, "bin"))
        browser = os.path.join(folder, "bin/xdg-open")
        with open(browser, "w", encoding="ascii") as out:
            out.write(f'#!/bin/sh\necho "$1" > {opened}.new; mv {opened}.new {opened}; read forever < {folder}/pipe\n')
        os.chmod(browser, 0o755)
        os.mkfifo(os.path.join(folder, "pipe"))
        process = subprocess.Popen([dra, "web", "--from", snapshot], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "XDG_RUNTIME_DIR": folder})
        try:
            port = int(re.search(r"http://127.0.0.1:(\d+)/", process.stdout.readline())[1])
            end = time.monotonic() + 20
            while not os.path.exists(opened) and time.monotonic() < end:
                time.sleep(0.02)
            with open(opened, encoding="utf-8") as name:
                file = name.read().strip()
            with open(file, encoding="ascii") as page:
                ticket = re.search("#key=([0-9a-f]{64})", page.read())[1]
            others = Page.__new__(Page)  # no ticket is used up: the file stays
            connections.Target.__init__(others, "web", process.pid, port)
            others.key = ticket
            another_user(others, file)
            page = Page(process, port, ticket)
            check("the file goes with its ticket", not os.path.exists(file))
            check("a ticket works once", answer_to(port, request("/api/key", "POST", {KEY: ticket}))[0] == 401)
            for part in (refusals, questions, sessions):
                begin = time.monotonic()
                part(page)
                print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, connections.CONNECTIONS + 500), hard))
            attacked(page)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            check("the server goes on", process.poll() is None, process.returncode)
        finally:
            process.terminate()
            process.wait(timeout=20)
            # The browser waits for somebody to write.
            try:
                os.close(os.open(os.path.join(folder, "pipe"), os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
