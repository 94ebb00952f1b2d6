#!/usr/bin/env python3
"""kubectl-dra under attack: truncated, foreign and hostile snapshots (bombs, deep and wide JSON, wrong types, owners in circles), unknown verbs and
objects, servers that refuse, never answer, answer nonsense or stop in the middle, a closed pipe. Each ends in at most 20 s (a silent server: 60) and 3 GiB with a status that
docs/kubectl-dra.md lists (0 yes, 1 no, 2 usage, 3 could not find out) and, if it could not answer, one line that says why.

Usage: kubectl_dra_test.py KUBECTL_DRA
"""
import gzip
import json
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECONDS, BYTES = 20, 3 << 30
HEADER = {"format": "kubectl-dra snapshot", "version": 1, "taken": "2026-03-01T12:00:00Z", "serverVersion": "v1.36.2", "draVersions": ["v1"]}
VERBS = (["top"], ["doctor"], ["explain", "pod/p"], ["explain"], ["who", "n1"], ["who", "pod/p"], ["whatif", "drain", "n1"])
PLURALS = ("pods", "nodes", "resourceclaims", "resourceslices", "deviceclasses", "resourceclaimtemplates", "devicetaintrules")
checks, failures = 0, []


def check(what, condition, shown=""):
    global checks
    checks += 1
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n    {shown}", flush=True)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


class Asker:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def ask(self, what, words, statuses, says=None, seconds=SECONDS):
        """Runs it: one of the statuses, no crash, and for 2 or 3 one line on standard error, with these words."""
        try:
            answer = subprocess.run([self.program, *words], capture_output=True, text=True, errors="replace", timeout=seconds, stdin=subprocess.DEVNULL,
                                    preexec_fn=limited, check=False)
        except subprocess.TimeoutExpired:
            return check(what, False, f"no answer in {seconds} s")
        # An error in an expression is the answer: with its position, on standard output.
        lines = [line for line in answer.stderr.splitlines() if line.strip()] or answer.stdout.splitlines()[:1]
        shown = f"{' '.join(words)}: status {answer.returncode}: {answer.stderr[:600]!r}"
        check(what + ": status", answer.returncode in statuses, shown)
        if answer.returncode in (2, 3):
            check(what + ": one line", len(lines) == 1 and len(lines[0]) < 1000, shown)
            check(what + ": says why", says is None or says in answer.stderr, shown)
        return None

    def file(self, raw):
        path = os.path.join(self.folder, "hostile.dra")
        with open(path, "wb") as out:
            out.write(raw)
        return path

    def snapshot(self, what, lines, statuses, says=None, verbs=VERBS):
        path = self.file(gzip.compress(b"\n".join(lines) + b"\n", 1))
        for words in verbs:
            self.ask(f"{what}, {' '.join(words)}", [*words, "--from", path], statuses, says)


def header(**changes):
    return json.dumps({**HEADER, **changes}).encode()


def page(plural, items):
    return plural.encode() + b"\t" + json.dumps({"items": items}).encode()


def cluster():
    """Two nodes with two devices each, a claim in use and a pod that waits: the base for hostile pieces."""
    term = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]}}
    meta = lambda name: {"name": name, "namespace": "default", "uid": name + "-uid", "creationTimestamp": "2026-03-01T11:00:00Z"}  # noqa: E731
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    return {
        "nodes": [{"metadata": {"name": n, "uid": n}, "status": {"allocatable": amounts, "capacity": amounts}} for n in ("n1", "n2")],
        "deviceclasses": [{"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}],
        "resourceslices": [{"metadata": {"name": n}, "spec": {"driver": "d.example.com", "nodeName": n, "devices": [{"name": "a"}, {"name": "b"}],
                            "pool": {"name": n, "generation": 1, "resourceSliceCount": 1}}} for n in ("n1", "n2")],
        "resourceclaims": [
            {"metadata": meta("held"), "spec": spec, "status": {
                "allocation": {"devices": {"results": [{"request": "gpu", "driver": "d.example.com", "pool": "n1", "device": "a"}]}, "nodeSelector": term},
                "reservedFor": [{"resource": "pods", "name": "runs", "uid": "runs-uid"}]}},
            {"metadata": meta("wanted"), "spec": spec, "status": {}}],
        "pods": [{"metadata": meta("runs"), "status": {"phase": "Running"},
                  "spec": {"nodeName": "n1", "containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "held"}]}},
                 {"metadata": meta("p"), "status": {"phase": "Pending"},
                  "spec": {"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "wanted"}]}}]}


def lines_of(lists):
    return [header()] + [page(plural, items) for plural, items in lists.items()]


def files(asker):
    good = gzip.compress(b"\n".join(lines_of(cluster())) + b"\n")
    for words in VERBS:
        asker.ask("the cluster itself", [*words, "--from", asker.file(good)], (0, 1))
    for size in sorted({0, 1, 2, 9, 10, 11, len(good) - 1, len(good) - 8, *random.Random(1).sample(range(len(good)), 30)}):
        asker.ask(f"cut off after {size} of {len(good)} bytes", ["top", "--from", asker.file(good[:size])], (2,))
    foreign = {"text": b"apiVersion: v1\n", "zeros": bytes(4096), "a picture": b"\x89PNG\r\n\x1a\n" + bytes(64), "gzip of text": gzip.compress(b"hello\n"),
               "gzip of a list": gzip.compress(b"[]\n"), "gzip of another header": gzip.compress(b'{"format":"tar"}\n'),
               "no end of line": gzip.compress(header()), "another version": gzip.compress(header(version=2) + b"\n"),
               "a version that is a text": gzip.compress(header(version="1") + b"\n"), "no time": gzip.compress(header(taken="noon") + b"\n")}
    for what, raw in foreign.items():
        asker.ask(what, ["top", "--from", asker.file(raw)], (2,))
    asker.ask("bytes that are not UTF-8", ["top", "--from", asker.file(gzip.compress(header() + b'\npods\t{"items":[{"metadata":{"name":"\xff\xfe"}}]}\n'))], (0, 2))
    asker.ask("no such file", ["top", "--from", os.path.join(asker.folder, "absent.dra")], (2, 3), "absent.dra")
    asker.ask("a folder", ["top", "--from", asker.folder], (2, 3))
    asker.ask("an endless file", ["top", "--from", "/dev/zero"], (2, 3))


def bombs(asker):
    asker.ask("600 MiB in one line", ["top", "--from", asker.file(gzip.compress(header() + b"\npods\t" + b" " * (600 << 20), 1))], (2,), "longer than")
    many = gzip.compress(b"pods\t" + json.dumps({"items": []}).encode() + b"\n", 1)
    asker.ask("many members", ["top", "--from", asker.file(gzip.compress(header() + b"\n") + many * 1000)], (0, 1, 2))
    deep = 1_000_000
    asker.ask("a deep header", ["top", "--from", asker.file(gzip.compress(b"[" * deep + b"]" * deep + b"\n"))], (2,))
    asker.ask("a deep member of the header", ["top", "--from", asker.file(gzip.compress(header()[:-1] + b',"x":' + b"[" * deep + b"]" * deep + b"}\n"))], (0, 1, 2))
    for plural in PLURALS:
        for place in (b'{"items":%s}', b'{"items":[%s]}', b'{"items":[{"metadata":{"name":"x","labels":%s}}]}', b'{"items":[{"spec":%s}]}'):
            asker.ask(f"deep JSON in {plural}: {place.decode()}", ["top", "--from", asker.file(gzip.compress(
                header() + b"\n" + plural.encode() + b"\t" + place % (b'{"a":' * deep + b"1" + b"}" * deep) + b"\n", 1))], (0, 1, 2))
    keys = b",".join(b'"k%d":"v"' % i for i in range(1_000_000))
    for plural, place in (("nodes", b'{"items":[{"metadata":{"name":"n1","labels":{%s}}}]}'), ("pods", b'{"items":[{"metadata":{"name":"x",%s}}]}'),
                          ("resourceslices", b'{"items":[{"metadata":{"name":"n1"},"spec":{"driver":"d.example.com","nodeName":"n1","pool":{"name":"n1",'
                           b'"generation":1,"resourceSliceCount":1},"devices":[{"name":"a","attributes":{%s}}]}}]}')):
        asker.ask(f"a million keys in {plural}", ["top", "--from", asker.file(gzip.compress(header() + b"\n" + plural.encode() + b"\t" + place % keys + b"\n", 1))],
                  (0, 1, 2))
    asker.ask("a million keys in the header", ["top", "--from", asker.file(gzip.compress(header()[:-1] + b"," + keys + b"}\n", 1))], (0, 1, 2))
    asker.ask("a name of 10 MB", ["explain", "pod/p", "--from", asker.file(gzip.compress(b"\n".join(lines_of(
        {**cluster(), "nodes": [{"metadata": {"name": "n" * 10_000_000}}]})) + b"\n", 1))], (0, 1, 2, 3))


def places_in(value, path=()):
    yield path
    for key, inner in (value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield from places_in(inner, (*path, key))


def put_at(value, path, what):
    if not path:
        return what
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put_at(value[path[0]], path[1:], what)
    return changed


def wrong_types(asker, rounds=150):
    """Every value of every object replaced by one of another type or beyond any bound, in random order."""
    lists = cluster()
    places = [(plural, path) for plural, items in lists.items() for path in places_in(items) if path]
    dice = random.Random(7)
    dice.shuffle(places)
    for plural, path in places[:rounds]:
        what = dice.choice([None, True, -1, 1 << 70, 1e300, "", "\u0000", "x" * 300, [], {}, [None], {"": None}, [[]], "9" * 400, -(1 << 63)])
        changed = {**lists, plural: put_at(lists[plural], path, what)}
        asker.snapshot(f"{plural}{list(path)} = {json.dumps(what)[:40]}", lines_of(changed), (0, 1, 2, 3), verbs=[dice.choice(VERBS)])
    for plural in PLURALS:
        for items in (None, 1, "x", {}, [None], [1], ["x"], [[]], [{}], [{"metadata": None}], [{"metadata": []}], [{"metadata": {"name": 1}}]):
            asker.snapshot(f"{plural} are {json.dumps(items)}", [header(), plural.encode() + b"\t" + json.dumps({"items": items}).encode()], (0, 1, 2, 3),
                           verbs=[["top"]])
    asker.snapshot("a kind that nobody knows", [header(), page("elephants", [{}])], (0, 1, 2), verbs=[["top"]])
    asker.snapshot("lines without a tab", [header(), b"pods", b"\t", b""], (2,), verbs=[["top"]])


def circles(asker):
    lists = cluster()
    owner = lambda kind, name, version="v1": [{"apiVersion": version, "kind": kind, "name": name, "uid": name + "-uid", "controller": True}]  # noqa: E731
    lists["pods"][1]["metadata"]["ownerReferences"] = owner("Pod", "p")
    asker.snapshot("a pod that owns itself", lines_of(lists), (0, 1))
    lists["pods"][1]["metadata"]["ownerReferences"] = owner("ResourceClaim", "wanted", "resource.k8s.io/v1")
    lists["resourceclaims"][1]["metadata"]["ownerReferences"] = owner("Pod", "p")
    asker.snapshot("a pod and a claim that own each other", lines_of(lists), (0, 1))
    lists = cluster()
    lists["resourceclaims"][0]["status"]["reservedFor"] = [{"apiGroup": "resource.k8s.io", "resource": "resourceclaims", "name": "held", "uid": "held-uid"}]
    asker.snapshot("a claim that is reserved for itself", lines_of(lists), (0, 1))
    lists = cluster()
    lists["pods"].append(json.loads(json.dumps(lists["pods"][1])))
    lists["nodes"] *= 2
    lists["resourceslices"] *= 2
    asker.snapshot("everything twice", lines_of(lists), (0, 1, 2))


def usage(asker):
    good = asker.file(gzip.compress(b"\n".join(lines_of(cluster())) + b"\n"))
    for words in (["elephant"], ["explain", "-l", "((("], ["explain", "pod/p", "-A"], ["who", "pod/absent"], ["who", "deploy/"], ["top", "--sort-by", "x"], ["explain", "elephant/x"], ["explain", "pod/"], ["explain", "/"], ["explain", "pod/a/b"], ["explain", "pod/absent"],
                  ["who", "absent"], ["who", "n1/absent"], ["who", "/"], ["top", "elephants"], ["whatif", "explode", "n1"], ["whatif", "drain"],
                  ["whatif", "drain", "absent"], ["whatif", "scale", "x"], ["whatif", "taint", "n1", "a=b:Never"], ["fits"], ["fits", "-f", "/absent"],
                  ["fits", "-f", "/dev/null"], ["lint", "-f", "/dev/null"], ["lint", "-f", "/dev/zero"], ["cel", "((("], ["cel", "x" * 100_000], ["cel", "(" * 50_000],
                  ["top", "-o", "elephant"], ["--nonsense"], ["top", "--nonsense"], ["replay", "pod/absent"]):
        known = {"lint": (0, 1, 2, 3), "cel": (1, 2)}.get(words[0], (1, 2, 3))
        from_file = [] if words[0] == "--nonsense" else ["--from", good]
        asker.ask("usage: " + " ".join(words)[:60], [*words, *from_file], known)


MANIFEST = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {parallelism: 2, template: {spec: {restartPolicy: Never, resourceClaims: [{name: g, resourceClaimName: c}], containers: [{name: c, image: i, resources: {limits: {cpu: 1}, claims: [{name: g}]}}]}}}
"""


def manifests(asker, rounds=150):
    """Files for lint, migrate and fits: binary, huge, deep, with anchors, of wrong types, unreadable, no files at all."""
    good = asker.file(gzip.compress(b"\n".join(lines_of(cluster())) + b"\n"))
    verbs = (["lint", "--offline"], ["lint", "--from", good], ["migrate"], ["fits", "--from", good])

    def each(what, raw, statuses=(0, 1, 2), says=None):
        path = os.path.join(asker.folder, "hostile.yaml")
        with open(path, "wb") as out:
            out.write(raw)
        for words in verbs:
            # What lint cannot read is a finding, with its place.
            asker.ask(f"{what}, {words[0]}", [*words, "-f", path], (1, *statuses) if words[0] == "lint" and 2 in statuses else statuses, says)

    each("the manifest itself", MANIFEST.encode(), (0,))
    each("zeros", bytes(4096), (2,))
    each("a picture", b"\x89PNG\r\n\x1a\n" + bytes(64), (2,))
    each("random bytes", random.Random(5).randbytes(10_000), (2,))
    each("a NUL in the middle", MANIFEST.encode()[:60] + b"\x00" + MANIFEST.encode()[60:], (2,))
    each("a NUL that is written", b'apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: "a\\0b"}\nspec: {devices: {requests: []}}\n')
    each("UTF-16", MANIFEST.encode("utf-16"), (0, 1, 2))
    each("bytes that are not UTF-8", MANIFEST.encode().replace(b"name: gpu", b"name: \xff\xfe"), (2,))
    each("100 MB", b"# comment\n" * 10_000_000, (2,), "larger than")
    each("a line of 8 MB", b"kind: " + b"x" * 8_000_000 + b"\n")
    each("deep brackets", b"[" * 1_000_000, (2,))
    each("deep maps", b"{a: " * 100_000 + b"1" + b"}" * 100_000, (2,))
    each("deep indentation", b"".join(b" " * i + b"a:\n" for i in range(2_000)), (2,))
    each("laughing anchors", b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 12)), (2,))
    each("an anchor in itself", b"a: &a [*a]\n", (2,))
    each("an alias of nothing", b"a: *b\n", (2,))
    each("many anchors", b"".join(b"- &a%d 1\n" % i for i in range(50_000)), (2,))
    each("many documents", b"---\na: 1\n" * 200_000)
    each("many items", json.dumps({"kind": "List", "items": [{"kind": "Service", "apiVersion": "v1"}] * 200_000}).encode())
    each("a million keys", b"".join(b"k%d: v\n" % i for i in range(1_000_000)))
    each("a merge key", MANIFEST.encode().replace(b"metadata: {name: c}", b"metadata: {<<: &m {name: c}}"), (0, 1, 2))
    each("tags", b"!!python/object/apply:os.system [ls]\n")
    each("tabs", b"kind:\tx\n\tmetadata: 1\n", (2,))
    each("nothing but documents", b"---\n---\n---\n")
    each("a list of lists", b"[[1],[2]]")
    each("a selector of 1 MB", MANIFEST.encode().replace(b"deviceClassName: gpu", b"deviceClassName: gpu, selectors: [{cel: {expression: '%s'}}]" % (b"(" * 1_000_000)))
    each("2,000 requests", MANIFEST.encode().replace(b"[{name: gpu, exactly: {deviceClassName: gpu}}]", b"[" + b", ".join(
        b"{name: r%d, exactly: {deviceClassName: gpu}}" % i for i in range(2_000)) + b"]"))
    each("a count beyond any bound", MANIFEST.encode().replace(b"deviceClassName: gpu", b"deviceClassName: gpu, count: 9223372036854775807"))
    each("many copies", MANIFEST.encode().replace(b"parallelism: 2", b"parallelism: 2147483647"))
    each("old and broken", b"apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: 7\nparametersRef: [1]\n")
    documents = [{"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t", "namespace": "default"}, "spec": {
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu", "count": 1, "selectors": [{"cel": {"expression": "true"}}]}],
                             "config": [{"opaque": {"driver": "d.example.com", "parameters": {"a": 1}}}]}}}},
                 {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 2, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                     "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}], "tolerations": [{"key": "k", "operator": "Exists"}],
                     "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}, "claims": [{"name": "g"}]}}]}}}},
                 {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}]
    places = [path for path in places_in(documents) if path]
    dice = random.Random(11)
    for _ in range(rounds):
        path = dice.choice(places)
        what = dice.choice([None, True, -1, 1 << 70, 1e300, "", "\u0000", "x" * 300, [], {}, [None], {"": None}, [[]], "9" * 400, -(1 << 63)])
        raw = json.dumps({"kind": "List", "items": put_at(documents, path, what)}).encode()
        words = dice.choice(verbs)
        name = os.path.join(asker.folder, "hostile.yaml")
        with open(name, "wb") as out:
            out.write(raw)
        asker.ask(f"{list(path)} = {json.dumps(what)[:40]}, {words[0]}", [*words, "-f", name], (0, 1, 2))
    locked = os.path.join(asker.folder, "locked.yaml")
    with open(locked, "wb") as out:
        out.write(MANIFEST.encode())
    os.chmod(locked, 0)
    for words in verbs:
        if os.getuid() != 0:
            asker.ask("an unreadable file", [*words, "-f", locked], (2,), "locked.yaml")
        asker.ask("a folder", [*words, "-f", asker.folder], (2,), asker.folder)
        asker.ask("no file", [*words, "-f", os.path.join(asker.folder, "absent")], (2,), "absent")
        asker.ask("an endless file", [*words, "-f", "/dev/zero"], (2,), "larger than")
        asker.ask("a file name with a NUL's neighbour", [*words, "-f", "\x01\x1b[2J"], (2,))
        asker.ask("standard input that is empty", [*words, "-f", "-"], (0, 1, 2))


def expressions(asker):
    good = asker.file(gzip.compress(b"\n".join(lines_of(cluster())) + b"\n"))
    for text in ("", " ", "true", "1", "device", "device.driver", "(" * 10_000 + "true" + ")" * 10_000, "!" * 50_000 + "true", "-" * 50_000 + "1", "[" * 50_000,
                 "true && " * 12_000 + "true", '"' + "x" * 60_000 + '"', "\x01", "\u00e9\U0001f600", "'\\u0000' == device.driver",
                 "device.attributes[1 << 70]", "device.attributes['a']['b']['c']", "[1,2,3].all(x, [1,2,3].all(y, [1,2,3].all(z, x + y + z > 0)))",
                 "'a'.matches('(a+)+$')", "'" + "a" * 1000 + "'.matches('" + "(a?)" * 500 + "')", "quantity('1e999999')", "semver('1.2.3-')",
                 "9223372036854775807 + 1 > 0", "1 / 0 == 1", "[1][9] == 1", "true ? 1 : 'a'", "device.driver == 'd.example.com' ? true : device.nope"):
        asker.ask(f"cel {text[:40]!r}", ["cel", text, "--from", good], (0, 1, 2))


class Server(threading.Thread):
    """Answers every connection with `raw`, and closes it; None: never answers."""

    def __init__(self, raw):
        super().__init__(daemon=True)
        self.raw, self.socket, self.open = raw, socket.create_server(("127.0.0.1", 0)), []
        self.port = self.socket.getsockname()[1]

    def run(self):
        while True:
            try:
                one, _ = self.socket.accept()
                self.open.append(one)
                if self.raw is None:
                    continue
                one.settimeout(5)
                one.recv(65536)
                one.sendall(self.raw)
                one.close()
            except OSError:
                if self.socket.fileno() < 0:
                    return

    def stop(self):
        for one in [self.socket, *self.open]:
            one.close()


def servers(asker):
    def config(port):
        path = os.path.join(asker.folder, "config")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
                      "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n")
        return ["--kubeconfig", path]

    unused = socket.create_server(("127.0.0.1", 0))
    port = unused.getsockname()[1]
    unused.close()
    asker.ask("nobody listens", ["top", *config(port)], (3,))
    asker.ask("no kubeconfig", ["top", "--kubeconfig", os.path.join(asker.folder, "absent")], (2, 3))
    body = b'{"kind":"APIGroup"'
    for what, raw in {"nothing": b"", "nonsense": b"\x00\xff" * 500, "a page": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
                      "an error": b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "a refusal": b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n{}",
                      "the half of it": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + body,
                      "an endless header": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 5_000_000,
                      "deep JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"[" * 1_000_000 + b"]" * 1_000_000}.items():
        server = Server(raw)
        server.start()
        asker.ask(f"a server that answers {what}", ["top", *config(server.port)], (2, 3))
        server.stop()
    server = Server(None)
    server.start()
    asker.ask("a server that says nothing", ["top", *config(server.port)], (3,), "no answer in time", seconds=60)
    server.stop()


def closed_pipe(asker):
    good = asker.file(gzip.compress(b"\n".join(lines_of(cluster())) + b"\n"))
    for words in (*VERBS, ["--help"]):
        read, write = os.pipe()
        os.close(read)
        answer = subprocess.run([asker.program, *words, *([] if words == ["--help"] else ["--from", good])], stdout=write, stderr=subprocess.PIPE, text=True,
                                timeout=SECONDS, check=False)
        os.close(write)
        check(f"a closed pipe, {' '.join(words)}", answer.returncode == 3 and answer.stderr.count("\n") == 1, f"{answer.returncode} {answer.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        asker = Asker(os.path.abspath(sys.argv[1]), folder)
        for part in (files, usage, manifests, expressions, servers, closed_pipe, circles, wrong_types, bombs):
            begin = time.monotonic()
            part(asker)
            print(f"{part.__name__}: {checks} checks so far, {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{checks} checks, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
