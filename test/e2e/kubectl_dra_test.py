#!/usr/bin/env python3
"""kubectl-dra as a plugin of a real kubectl, against `dra-sandbox up`: its answers agree with the API, a user who may only read can use all of it,
a user with permissions in one namespace learns what is hidden, and bad input ends in one line and a status. With KUBEBUILDER_ASSETS the same
questions go to a real control plane.

Usage: kubectl_dra_test.py FOLDER_OF_PROGRAMS
"""
import base64
import http.server
import json
import os
import subprocess
import sys
import tarfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
READ = ["get", "list"]
EVERYTHING_READ = [{"apiGroups": ["", "resource.k8s.io", "coordination.k8s.io"], "resources": ["*"], "verbs": READ}]
NAMESPACE_READ = [{"apiGroups": ["", "resource.k8s.io"], "resources": ["pods", "resourceclaims", "resourceclaimtemplates"], "verbs": READ}]

passed, failures = 0, []


def check(what, condition, details=""):
    global passed
    if condition:
        passed += 1
    else:
        failures.append(what)
        print(f"FAILED: {what}\n{details}")


class Asker:
    """Runs `kubectl dra ...` (or kubectl-dra by itself) as the user of a kubeconfig."""

    def __init__(self, programs, kubeconfig, kubectl, folder):
        self.programs, self.kubectl, self.folder = os.path.abspath(programs), kubectl, folder
        self.environment = {**os.environ, "KUBECONFIG": kubeconfig, "HOME": folder, "PATH": self.programs + ":" + os.environ["PATH"]}

    def ask(self, *words, status=None, plugin=True):
        program = [self.kubectl, "dra"] if plugin and self.kubectl else [os.path.join(self.programs, "kubectl-dra")]
        answer = subprocess.run([*program, *words], env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=60)
        if status is not None:
            check(f"status of {' '.join(words)} is {status}", answer.returncode == status, f"{answer.returncode}\n{answer.stdout}\n{answer.stderr}")
        return answer

    def json(self, *words, status=None):
        answer = self.ask(*words, "-o", "json", status=status)
        try:
            return json.loads(answer.stdout)
        except ValueError:
            check(f"{' '.join(words)} gives JSON", False, answer.stdout + answer.stderr)
            return {}


def kubeconfig_of(api, folder, name, token):
    authority = base64.b64encode(api.authority.encode()).decode() if getattr(api, "authority", None) else ""
    cluster = {"server": f"{api.url.scheme}://{api.url.netloc}"}
    cluster.update({"certificate-authority-data": authority} if authority else {"insecure-skip-tls-verify": True})
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": cluster}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}], "users": [{"name": "u", "user": {"token": token}}]}
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(config, out)
    return path


def account(api, folder, name, rules, cluster_wide):
    """The kubeconfig of a new service account with these rules."""
    api.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
    group, kind = "/apis/rbac.authorization.k8s.io/v1", "ClusterRole" if cluster_wide else "Role"
    prefix = group + ("" if cluster_wide else "/namespaces/default")
    plural = kind.lower() + "s"
    api.create(f"{prefix}/{plural}", {"metadata": {"name": name}, "rules": rules})
    api.create(f"{prefix}/{kind.lower()}bindings", {"metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
               "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
    token = api.create(f"/api/v1/namespaces/default/serviceaccounts/{name}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    return kubeconfig_of(api, folder, name, token["status"]["token"])


def count_devices(api):
    return sum(len(s["spec"].get("devices", [])) for s in api.items(rest.RESOURCE + "/resourceslices"))


def questions(asker, api, folder):
    """Compares the program's answers with the API. Pod "runs" has devices, pod "waits" asks for too many."""
    top = asker.json("top", status=0)
    check("top counts every device once", sum(row["names"] for row in top.get("nodes", [])) == count_devices(api), str(top))
    held = {device for claim in api.items(CLAIMS) for device in rest.devices_of(claim)}
    check("top counts what claims hold", sum(row["held"] for row in top.get("nodes", [])) == len(held), str(top))
    running = asker.json("explain", "pod/runs", status=0)
    check("explain names the devices of the pod", {row["device"] for row in running.get("devices", [])} == {d for _, _, d in held}, str(running))
    driver, pool, device = sorted(held)[0]
    who = asker.json("who", f"{pool}/{device}", status=0)
    check("who names the pod", [row["pods"] for row in who.get("devices", [])] == [["runs"]], str(who))
    waits = asker.ask("explain", "pod/waits", status=1)
    check("explain says why a pod waits", "Does not fit" in waits.stdout, waits.stdout)
    with open(os.path.join(folder, "claim.json"), "w", encoding="utf-8") as out:
        spec = rest.template("x", count=1)["spec"]["spec"]
        json.dump({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "asked"}, "spec": spec}, out)
    asker.ask("fits", "-f", "claim.json", status=0)
    asker.ask("fits", "-f", "claim.json", "--count", "1000", status=1)
    asker.ask("lint", "-f", "claim.json", status=0)
    asker.ask("cel", 'device.driver == "gpu.example.com"', status=0)
    asker.ask("cel", 'device.driver == "none"', status=1)
    asker.ask("whatif", "delete", "pod/runs", status=1)
    asker.ask("top", "classes", status=0)
    asker.ask("top", "claims", "-A", status=0)
    by_name = [row["claim"] for row in asker.json("top", "claims", "--sort-by", "claim", status=0).get("claims", [])]
    check("top sorts by a column", len(by_name) > 1 and by_name == sorted(by_name), str(by_name))
    check("a column that is not there is named", "there is no such column" in asker.ask("top", "--sort-by", "none", status=2).stderr)
    asker.ask("replay", "pod/runs", status=0)
    written = asker.ask("snapshot", "cluster.dra", status=0)
    check("snapshot says what it wrote", "cluster.dra" in written.stdout, written.stdout)
    again = asker.json("top", "--from", "cluster.dra", status=0)
    check("top of the snapshot is that of the cluster", again == top, f"{again}\n{top}")
    check("the snapshot is its owner's alone", os.stat(os.path.join(folder, "cluster.dra")).st_mode & 0o777 == 0o600)
    asker.ask("snapshot", "redacted.dra", "--redact", status=0)
    hidden = asker.json("top", "--from", "redacted.dra", status=0)
    asker.ask("bundle", "report.tar.gz", status=3)  # there is no manager whose log it could have
    with tarfile.open(os.path.join(folder, "report.tar.gz")) as bundle:
        files = {os.path.basename(name) for name in bundle.getnames()}
    check("a bundle has what a report needs", {"snapshot.dra", "versions.txt", "doctor.txt", "missing.txt"} <= files, str(files))
    check("redacted figures are the same", [row["total"] for row in hidden.get("nodes", [])] == [row["total"] for row in top.get("nodes", [])], str(hidden))


class Front(http.server.BaseHTTPRequestHandler):
    """The API server, and the kubelet that answers for the manager's pod: its log, and /metrics and /configz that want a token."""
    api, log = None, ""

    def do_GET(self):
        if "/log?" in self.path:
            status, text = 200, self.log
        elif "/proxy/" in self.path:
            status, text = 403, "this is served over HTTPS only (--secure-port)"
        else:
            status, answer = self.api.request("GET", self.path)
            text = json.dumps(answer)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


def bundles(asker, api, folder):
    """With a manager's pod: its log without the names of users, and what to do where its metrics do not come."""
    labels = {"app.kubernetes.io/name": "dra-controller-manager"}
    api.create("/apis/coordination.k8s.io/v1/namespaces/default/leases", {"metadata": {"name": "dra-controller-manager", "labels": labels}, "spec": {"holderIdentity": "secret-host"}})
    api.create(PODS, {"metadata": {"name": "manager-secret", "labels": labels}, "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}})
    Front.api = api
    Front.log = 'I1127 19:53:02.173024 7606 x.cc:1] "Allocated" pod="default/waits" node="node-0"\nI1127 19:53:03 7606 x.cc:2] "Gone" pod="default/secret-pod-7f9c4"\n'
    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    try:
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{front.server_port}"}}],
                  "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}], "users": [{"name": "u", "user": {"token": "t"}}]}
        path = os.path.join(folder, "front")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out)
        Asker(asker.programs, path, asker.kubectl, folder).ask("bundle", "whole.tar.gz", status=3)
    finally:
        front.shutdown()
    with tarfile.open(os.path.join(folder, "whole.tar.gz")) as bundle:
        texts = {name.removeprefix("dra-bundle/"): bundle.extractfile(name).read() for name in bundle.getnames()}
    log, missing = texts.get("manager-1/log.txt", b"").decode(), texts.get("missing.txt", b"").decode()
    check("the log is in the bundle", '"Allocated" pod="' in log and log.count("\n") == 2, log)
    check("the log names nobody", not any(word in log for word in ('/waits"', '"node-0"', "secret")), log)
    for name in ("metrics.txt", "configz.json"):
        check(f"what to do for {name} is said", f"manager-1/{name}: " in missing and "kubectl port-forward" in missing and "metrics-reader" in missing, missing)
    check("no text of the bundle names a user's object", not any(b"secret" in text for name, text in texts.items() if name != "snapshot.dra"), str(sorted(texts)))
    api.request("DELETE", PODS + "/manager-secret?gracePeriodSeconds=0")
    api.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/dra-controller-manager")


def manifests():
    """(what, path of its kind on the server, object): what is wrong with it, or what it is."""
    claims, slices = CLAIMS, rest.RESOURCE + "/resourceslices"
    deployments = "/apis/apps/v1/namespaces/default/deployments"

    def claim(devices):
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "asked"}, "spec": {"devices": devices}}

    def one(**more):
        return {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **more}}]}

    def piece(device, **more):
        spec = {"driver": "x.example.com", "nodeName": "x", "pool": {"name": "x", "generation": 1, "resourceSliceCount": 1}, "devices": [device], **more}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": {k: v for k, v in spec.items() if v}}

    def pod_spec(uses):
        return {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": name} for name in uses]}}],
                "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "two"}]}

    def deployment(label):
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"},
                "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": label}}, "spec": pod_spec(["g"])}}}

    def pod(uses):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asked"}, "spec": pod_spec(uses)}

    yield "a claim", claims, claim(one())
    yield "All with a count", claims, claim(one(allocationMode="All", count=3))
    yield "a constraint on a request that is not there", claims, claim({**one(), "constraints": [{"requests": ["x"], "matchAttribute": "a.example.com/b"}]})
    yield "a config for a request that is not there", claims, claim(
        {**one(), "config": [{"requests": ["x"], "opaque": {"driver": "d.example.com", "parameters": {"a": "b"}}}]})
    yield "an unknown field", claims, claim(one(tolerance=[]))
    yield "a count that is a text", claims, claim(one(count="2"))
    yield "a slice", slices, piece({"name": "gpu-0", "attributes": {"v": {"version": "1.2.3"}}})
    yield "a version of four parts", slices, piece({"name": "gpu-0", "attributes": {"v": {"version": "6.19.14.3"}}})
    yield "a device name in capitals", slices, piece({"name": "GPU_0"})
    yield "a slice of no node", slices, piece({"name": "gpu-0"}, nodeName=None)
    yield "a pod", PODS, pod(["g"])
    yield "a container with a claim that its pod lacks", PODS, pod(["g", "h"])
    yield "a deployment", deployments, deployment("b")
    yield "a selector that does not match its template", deployments, deployment("c")


def lint_and_the_server(asker, api, folder):
    """lint refuses what the server refuses, and nothing else, without a cluster."""
    refused = 0
    for what, path, manifest in manifests():
        status, answer = api.request("POST", path + "?dryRun=All&fieldValidation=Strict", manifest)
        with open(os.path.join(folder, "asked.json"), "w", encoding="utf-8") as out:
            json.dump(manifest, out)
        said = asker.ask("lint", "--offline", "-f", "asked.json")
        check(f"lint says of {what} what the server says", (status >= 400) == (said.returncode == 1), f"{status} {answer}\n{said.stdout}{said.stderr}")
        refused += status >= 400
    check("the server takes some and refuses some", 5 < refused < 12, str(refused))
    with open(os.path.join(folder, "flat.yaml"), "w", encoding="utf-8") as out:
        out.write("# ours\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: flat}\n"
                  "spec: {devices: {requests: [{name: gpu, deviceClassName: gpu}]}}\n")
    asker.ask("lint", "-f", "flat.yaml", status=1)
    mended = asker.ask("lint", "-f", "flat.yaml", "--fix", status=0)
    check("--fix says what it did", "mended: " in mended.stderr and mended.stdout.startswith("# ours\n"), mended.stdout + mended.stderr)
    with open(os.path.join(folder, "mended.yaml"), "w", encoding="utf-8") as out:
        out.write(mended.stdout)
    asker.ask("lint", "--strict", "-f", "mended.yaml", status=0)


def other_verbs(asker, folder, pool):
    """Verbs whose answer depends on the server: they exit as docs/kubectl-dra.md says, and write nothing unless requested."""
    doctor = asker.json("doctor")
    checks = {row["check"]: row for row in doctor.get("checks", [])}
    check("doctor makes all of its checks", {"served versions", "feature gates", "permissions", "driver pods", "double allocations"} <= set(checks), str(doctor))
    check("nothing is handed out twice", checks.get("double allocations", {}).get("health") == "fine", str(doctor))
    with open(os.path.join(folder, "old.yaml"), "w", encoding="utf-8") as out:
        out.write("apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nmetadata: {name: old}\n"
                  "spec: {devices: {requests: [{name: gpu, deviceClassName: gpu, count: 2}]}}\n")
    migrated = asker.ask("migrate", "-f", "old.yaml", status=0)
    check("migrate puts requests under exactly", "exactly" in migrated.stdout and "resource.k8s.io/v1\n" in migrated.stdout, migrated.stdout)
    check("version has one", asker.ask("version", status=0).stdout.strip() != "")
    before = asker.ask("taint", f"{pool}/gpu-0", "example.com/ecc=bad:NoSchedule", "--dry-run")
    check("taint --dry-run says what it would do or why not", before.returncode in (0, 1, 3) and before.stdout + before.stderr != "", str(before))
    denied = asker.ask("taint", f"{pool}/gpu-0", "example.com/ecc=bad:NoSchedule", "--scheduler-gate-is-off")
    check("a reader writes no taint", denied.returncode in (1, 3), f"{denied.returncode} {denied.stdout} {denied.stderr}")
    check("untaint of what is not there", asker.ask("untaint", f"{pool}/gpu-0", "example.com/ecc").returncode in (1, 2, 3))
    return checks


def bad_input(asker, folder):
    def one_line(what, *words, status, plugin=True):
        answer = asker.ask(*words, status=status, plugin=plugin)
        check(f"{what} is one line on standard error", answer.stderr.count("\n") == 1 and not answer.stdout, answer.stdout + answer.stderr)
    with open(os.path.join(folder, "broken.yaml"), "w", encoding="utf-8") as out:
        out.write("kind: Pod\n  - broken: [\n")
    with open(os.path.join(folder, "foreign.dra"), "wb") as out:
        out.write(b"\x1f\x8bthis is not a snapshot")
    one_line("an unknown verb", "explian", status=2)
    one_line("an unknown pod", "explain", "pod/none", status=2)
    one_line("an unknown node", "who", "none", status=2)
    one_line("a second node to drain", "whatif", "drain", "node-a", "node-b", "--from", "cluster.dra", status=2)
    one_line("a second object to explain", "explain", "pod/a", "pod/b", "--from", "cluster.dra", status=2)
    one_line("a broken manifest", "fits", "-f", "broken.yaml", status=2)
    one_line("a missing manifest", "fits", "-f", "missing.yaml", status=2)
    one_line("a foreign snapshot", "top", "--from", "foreign.dra", status=2)
    one_line("an unknown flag", "top", "--colour", status=2)
    one_line("an unknown output", "top", "-o", "xml", "--from", "cluster.dra", status=2)
    one_line("a server that is not there", "top", "--server", "http://127.0.0.1:1", "--kubeconfig", "/dev/null", status=3, plugin=False)
    one_line("a context that does not exist", "top", "--context", "none", status=3)
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run([os.path.join(asker.programs, "kubectl-dra"), "top", "--from", "cluster.dra"], cwd=folder, env=asker.environment, stdout=write,
                            stderr=subprocess.PIPE, text=True, timeout=30)
    os.close(write)
    check("a closed pipe is one line and status 3", closed.returncode == 3 and closed.stderr.count("\n") == 1, f"{closed.returncode} {closed.stderr}")


def completion(asker, minor):
    for shell in ("bash", "zsh", "fish"):
        check(f"completion of {shell}", "kubectl-dra __complete" in asker.ask("completion", shell, status=0).stdout)
    syntax = subprocess.run(["bash", "-n"], input=asker.ask("completion", "bash").stdout, text=True, capture_output=True)
    check("the script for bash is one", syntax.returncode == 0, syntax.stderr)
    verbs = asker.ask("__complete", "to", status=0, plugin=False).stdout.splitlines()
    check("verbs complete", verbs == ["top", ":4"], str(verbs))
    names = asker.ask("__complete", "explain", "pod/ru", status=0, plugin=False).stdout.splitlines()
    check("names of pods complete", names == ["pod/runs", ":4"], str(names))
    if minor >= 26:
        words = subprocess.run([asker.kubectl, "__complete", "dra", "explain", "pod/ru"], env=asker.environment, capture_output=True, text=True, timeout=30)
        check("kubectl asks kubectl_complete-dra", "pod/runs" in words.stdout.splitlines(), words.stdout + words.stderr)


def hidden_things(asker):
    """A user with permissions in one namespace."""
    running = asker.ask("explain", "pod/runs", status=0)
    check("the devices are named", "gpu-" in running.stdout, running.stdout)
    check("what is hidden is said", "not visible: " in running.stderr and "nodes" in running.stderr and "resourceslices" in running.stderr, running.stderr)
    # The condition that a manager writes (after half a minute) says it; without one it is unknown.
    waits = asker.ask("explain", "pod/waits")
    check("status of explain pod/waits is 1 or 3", waits.returncode in (1, 3), f"{waits.returncode}\n{waits.stdout}\n{waits.stderr}")
    asker.ask("fits", "-f", "claim.json", status=3)
    claims = asker.json("top", "claims", status=0)
    check("claims of the namespace are shown", {row["namespace"] for row in claims.get("claims", [])} == {"default"}, str(claims))


def against(api, folder, programs, kubectl, minor):
    reader = Asker(programs, account(api, folder, "reader", EVERYTHING_READ, True), kubectl, folder)
    questions(reader, api, folder)
    lint_and_the_server(reader, api, folder)
    pool = sorted({d[1] for claim in api.items(CLAIMS) for d in rest.devices_of(claim)})[0]
    other_verbs(reader, folder, pool)
    bad_input(reader, folder)
    completion(reader, minor)
    bundles(reader, api, folder)
    hidden_things(Asker(programs, account(api, folder, "neighbour", NAMESPACE_READ, False), kubectl, folder))
    nobody = Asker(programs, kubeconfig_of(api, folder, "nobody", "no-such-token"), kubectl, folder)
    nobody.ask("top", status=3)


def in_sandbox(programs, kubectl, minor):
    with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet_file()]) as box:
        api = rest.Api(box.kubeconfig)
        api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("two", count=2))
        api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("many", count=9))
        api.create(PODS, rest.pod("runs", "two"))
        api.create(PODS, rest.pod("waits", "many"))
        box.wait_for(lambda: api.get(PODS + "/runs")["status"].get("phase") == "Running", 30, "the pod to run")
        box.wait_for(lambda: len(api.items(CLAIMS)) == 2, 30, "the second claim")
        against(api, box.folder, programs, kubectl, minor)


# On a real server nothing simulates nodes and drivers: the test writes their objects.
def in_real_plane(programs, kubectl, minor):
    with real_cluster.RealCluster() as plane:
        api = plane.api("admin")
        labels = {"kubernetes.io/hostname": "node-0"}
        amounts = {"cpu": "8", "memory": "8Gi", "pods": "10"}
        api.create("/api/v1/nodes", {"metadata": {"name": "node-0", "labels": labels}})
        api.request("PATCH", "/api/v1/nodes/node-0/status", {"status": {"capacity": amounts, "allocatable": amounts}}, "application/merge-patch+json")
        api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
        devices = [{"name": f"gpu-{i}"} for i in range(4)]
        api.create(rest.RESOURCE + "/resourceslices", {"metadata": {"name": "node-0-gpus"}, "spec": {"driver": "gpu.example.com", "nodeName": "node-0",
                   "pool": {"name": "node-0", "generation": 1, "resourceSliceCount": 1}, "devices": devices}})
        if api.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 404:
            api.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        for name, count in (("runs", 2), ("waits", 9)):
            api.create(CLAIMS, {"metadata": {"name": name}, "spec": rest.template("x", count=count)["spec"]["spec"]})
            pod = rest.pod(name, "x")
            pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
            pod["spec"]["schedulerName"] = "nobody"
            api.create(PODS, pod)
        uid = api.get(PODS + "/runs")["metadata"]["uid"]
        selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}]}
        results = [{"request": "gpu", "driver": "gpu.example.com", "pool": "node-0", "device": f"gpu-{i}"} for i in (0, 1)]
        status, answer = api.request("PATCH", CLAIMS + "/runs/status", {"status": {"allocation": {"devices": {"results": results}, "nodeSelector": selector},
                                     "reservedFor": [{"resource": "pods", "name": "runs", "uid": uid}]}}, "application/merge-patch+json")
        check("the claim is allocated by hand", status == 200, str(answer))
        api.create(PODS + "/runs/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "runs"}, "target": {"kind": "Node", "name": "node-0"}})
        # The server creates its own roles a while after it is ready; without them nobody may discover APIs.
        discovery = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:discovery"
        plane.wait_for(lambda: api.request("GET", discovery)[0] == 200, 60, "the role system:discovery")
        against(api, plane.folder, programs, kubectl, minor)
        # A user who may read the server's metrics sees its feature gates.
        admin = Asker(programs, kubeconfig_of(api, plane.folder, "admin", plane.tokens["admin"]), kubectl, plane.folder)
        gates = [row["finding"] for row in admin.json("doctor").get("checks", []) if row["check"] == "feature gates"]
        check("doctor knows the gates in effect", len(gates) == 1 and "DynamicResourceAllocation" in gates[0], str(gates))


def fleet_file():
    path = os.path.join(ROOT, "build", f"kubectl-dra-fleet-{os.getpid()}.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(rest.fleet(2, 4))
    return path


def main():
    programs = sys.argv[1]
    kubectls = sandbox.find_kubectls()
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    if assets and os.access(os.path.join(assets, "kubectl"), os.X_OK):
        kubectls.append((36, os.path.join(assets, "kubectl")))
    if not kubectls:
        print("skipped: no kubectl on PATH or in build/tools")
        return 77
    minor, kubectl = kubectls[-1]
    try:
        in_sandbox(programs, kubectl, minor)
    finally:
        os.remove(fleet_file())
    if real_cluster.RealCluster.available():
        in_real_plane(programs, kubectl, minor)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
