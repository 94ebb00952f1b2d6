#!/usr/bin/env python3
"""Requests that resemble permitted ones: odd methods, selectors, paths, writes that create. The sandbox refuses each, and none of
them changes or shows anything. If KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver, both servers get the same requests, and
the sandbox refuses every request that the real server refuses.

  authorization_test.py PROGRAMS_FOLDER"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

NS = "/api/v1/namespaces/bypass"
APPS = "/apis/apps/v1/namespaces/bypass"
SECRETS = NS + "/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
HIDDEN = "bm90LWZvci1hbGljZQ=="  # alice must not see this text, as Secrets contain it
MERGE, APPLY, JSON = "application/merge-patch+json", "application/apply-patch+yaml", "application/json"

RULES = [
    {"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "pods/status", "pods/log"]},
    {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments/scale", "deployments/status"]},
    {"verbs": ["get", "list", "watch", "deletecollection"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"]},
    {"verbs": ["get", "patch", "update"], "apiGroups": [""], "resources": ["configmaps"]},
    {"verbs": ["patch", "update"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]},
]
METHODS = ["HEAD", "Get", "get", "gET", "Head", "Patch", "patch", "Put", "put", "Post", "post", "Delete", "delete", "OPTIONS", "TRACE", "PROPFIND",
           "LIST", "list", "WATCH", "watch", "update", "create", "deletecollection", "X"]
SELECTORS = ["metadata.name!=x%5C,metadata.name=mine", "metadata.namespace=bypass%5C,metadata.name=mine", "metadata.name!=mine", "metadata.name%5C=mine",
             "metadata.name=%5Cmine", "metadata.name=mine%5C", "metadata.name=mine%5C,", "metadata.name=mi%5Cne", "metadata.name=", "metadata.name==",
             "metadata.name", "=mine", "!=mine", "metadata.name===mine", "metadata.name=!=mine", "metadata.name!==mine", "metadata.name=other",
             "metadata.name=other,metadata.name=mine", "Metadata.Name=mine", "%20metadata.name=mine", "metadata.name=mine%00", "metadata.name=mine/",
             "metadata.name=..", "metadata.namespace=bypass,metadata.name!=x%5C%5C%5C,metadata.name=mine", "", ","]
PATHS = [SECRETS + "/mine/../other", SECRETS + "/mine%2f..%2fother", SECRETS + "//other", "/api/v1/namespaces//bypass/secrets/other",
         "/api/v1//namespaces/bypass/secrets/other", "//api/v1/namespaces/bypass/secrets/other", SECRETS + "/other/mine", SECRETS + "/%6fther",
         "/api/v1/./namespaces/bypass/secrets/other", NS + "/pods/../secrets/other", "/api/v1/watch/namespaces/bypass/secrets/other",
         "/api/v1/watch/watch/secrets", "/api/v1/watch/secrets/mine/x", "/api/v1/proxy/namespaces/bypass/secrets/other",
         SECRETS + "/other?fieldSelector=metadata.name=mine", SECRETS + "/mine%00", "/API/v1/secrets", "/api/V1/secrets"]


def attempts():
    """(method, target, body, content type) of every request that alice may not make."""
    patch = {"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Failed"}, "spec": {"replicas": 7}}
    for method in METHODS:
        for target in (NS + "/pods/p/status", APPS + "/deployments/d/scale", APPS + "/deployments/d/status"):
            yield method, target, patch, MERGE
        yield method, SECRETS, None, JSON
        yield method, SECRETS + "/other", None, JSON
    for selector in SELECTORS:
        for more in ("", "&watch=true&resourceVersion=0&timeoutSeconds=1", "&watch=1&timeoutSeconds=1"):
            yield "GET", f"{SECRETS}?fieldSelector={selector}{more}", None, JSON
            yield "GET", f"/api/v1/secrets?fieldSelector={selector}{more}", None, JSON
        yield "DELETE", f"{SECRETS}?fieldSelector={selector}", None, JSON
        yield "GET", f"/api/v1/watch/namespaces/bypass/secrets?fieldSelector={selector}&timeoutSeconds=1", None, JSON
    yield "DELETE", SECRETS + "?fieldSelector=metadata.name=mine", None, JSON
    yield "GET", "/api/v1/watch/namespaces/bypass/secrets?fieldSelector=metadata.name=mine&timeoutSeconds=1", None, JSON
    yield "GET", SECRETS + "?x;fieldSelector=metadata.name=mine", None, JSON
    for target in PATHS:
        yield "GET", target, None, JSON
        yield "HEAD", target, None, JSON
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "namespace": "bypass"}}
    target = "/apis/coordination.k8s.io/v1/namespaces/bypass/leases/l"
    yield "PATCH", NS + "/configmaps/new?fieldManager=a", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}, APPLY
    yield "PUT", target, lease, JSON
    yield "PATCH", target + "?fieldManager=a", lease, APPLY


class Server:
    def __init__(self, client):
        self.admin = client
        labels = {"app": "x"}
        pod = {"containers": [{"name": "c", "image": "example.test/i"}], "automountServiceAccountToken": False}
        self.admin.create("/api/v1/namespaces", {"metadata": {"name": "bypass"}})
        self.admin.create(NS + "/serviceaccounts", {"metadata": {"name": "default"}})
        self.admin.create(NS + "/pods", {"metadata": {"name": "p"}, "spec": pod})
        self.admin.create(NS + "/configmaps", {"metadata": {"name": "m"}})
        for name, value in (("mine", "mine"), ("other", "not-for-alice")):
            self.admin.create(SECRETS, {"metadata": {"name": name}, "stringData": {"k": value}})
        self.admin.create(APPS + "/deployments", {"metadata": {"name": "d"}, "spec": {
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}})
        self.admin.create(RBAC + "/clusterroles", {"metadata": {"name": "bypass"}, "rules": RULES})
        self.admin.create(RBAC + "/clusterrolebindings", {
            "metadata": {"name": "bypass"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bypass"}})

    def ask(self, method, target, body=None, content_type=JSON):
        """(status, text) of alice's request, on a connection of its own: odd requests end some."""
        connection = self.admin.new_connection(20)
        try:
            headers = {"Authorization": f"Bearer {self.admin.token}", "Impersonate-User": "alice", "Content-Type": content_type}
            connection.request(method, target, rest.json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def state(self):
        """The objects that must not change."""
        objects = [self.admin.request("GET", path) for path in (NS + "/pods/p", APPS + "/deployments/d", SECRETS + "/mine", SECRETS + "/other")]
        return [(status, o.get("metadata", {}).get("resourceVersion")) for status, o in objects] + [
            self.admin.request("GET", path)[0] for path in (NS + "/configmaps/new", "/apis/coordination.k8s.io/v1/namespaces/bypass/leases/l")]


def check(name, server):
    """The statuses of all attempts, in order. Redirects count as refusals."""
    before = server.state()
    assert server.ask("GET", NS + "/pods/p/status")[0] == 200, name + ": the rules that alice has do not hold"
    assert server.ask("GET", SECRETS + "?fieldSelector=metadata.name=mine")[0] == 200, name
    statuses, wrong = [], []
    for method, target, body, content_type in attempts():
        status, text = server.ask(method, target, body, content_type)
        statuses.append(status)
        if HIDDEN in text or (status < 300 and "secrets" in target and method != "HEAD"):
            wrong.append(f"{name}: {method} {target}: HTTP {status}: {text[:200]}")
    if server.state() != before:
        wrong.append(f"{name}: something was written: {before} became {server.state()}")
    return statuses, wrong


def main():
    programs = sys.argv[1]
    with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), command="apiserver", ready_line="serving on") as box:
        ours, wrong = check("sandbox", Server(rest.Api(box.kubeconfig)))
    print(f"sandbox: {len(ours)} requests, {len(wrong)} that were not refused")
    if real_cluster.RealCluster.available():
        with real_cluster.RealCluster() as plane:
            theirs, surprises = check("kube-apiserver", Server(plane.api("admin")))
        print(f"kube-apiserver: {len(surprises)} surprises", *surprises, sep="\n  ")
        differences = [(a, x, y) for a, x, y in zip(attempts(), ours, theirs) if x != y]
        for (method, target, _, _), x, y in differences:
            print(f"  {method} {target}: sandbox {x}, kube-apiserver {y}")
            if x < 400 <= y:
                wrong.append(f"sandbox: {method} {target}: HTTP {x}, where kube-apiserver answers {y}")
        print(f"{len(ours) - len(differences)} of {len(ours)} statuses are the same")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
