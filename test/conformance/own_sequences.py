"""Request sequences for twin_test.py: typical client requests, kind by kind. A sequence has the format of the replayer in
../shared/conformance: id, title, tags, steps; {ns} is the sequence's own namespace, ${x} a value that an earlier step captured."""
import base64
import copy
import urllib.parse

CORE, APPS, BATCH, DRA = "/api/v1", "/apis/apps/v1", "/apis/batch/v1", "/apis/resource.k8s.io/v1"
NS = "/namespaces/{ns}"
JSON, MERGE, STRATEGIC = "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"}
METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"}
PROTOBUF = "application/vnd.kubernetes.protobuf"
SEQUENCES = []


def step(method, path, body=None, query="", **more):
    out = {"name": "", "method": method, "path": path, **more}
    if query:
        out["query"] = query if isinstance(query, str) else urllib.parse.urlencode(query)
    if body is not None:
        out["body_text" if isinstance(body, str) else "body"] = copy.deepcopy(body)
    return out


def post(path, body, query="", **more):
    return step("POST", path, body, query, **more)


def put(path, body, query="", **more):
    return step("PUT", path, body, query, **more)


def get(path, query="", **more):
    return step("GET", path, None, query, **more)


def table(path, query=""):
    return get(path, query, headers=TABLE)


def delete(path, body=None, query=""):
    return step("DELETE", path, body, query)


def patch(path, body, content=MERGE, query=""):
    return step("PATCH", path, body, query, headers={"Content-Type": content})


def apply(path, body, manager="one", force=False, query=None):
    return patch(path, body, APPLY, {"fieldManager": manager, **({"force": "true"} if force else {}), **(query or {})})


def watch(path, query=None, **more):
    return get(path, {"watch": "true", "timeoutSeconds": "1", **(query or {})}, watch=True, **more)


def versioned(one):
    """Keeps the resourceVersion of the answer as ${rv}."""
    one["capture"] = {"rv": "metadata.resourceVersion"}
    return one


def sequence(name, title, steps, cleanup=(), **more):
    steps = [dict(s, name=f"{i + 1} {s['method']} {s['path'].rsplit('/', 1)[-1]} {s.get('query', '')}".strip()) for i, s in enumerate(steps)]
    SEQUENCES.append({"id": name, "title": title, "tags": ["own"], "steps": steps, "cleanup": list(cleanup), **more})


def thing(kind, name, version="v1", **rest):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **rest.pop("metadata", {})}, **rest}


CONTAINER = {"name": "c", "image": "example/app:1"}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR = {"matchLabels": {"app": "a"}}


def request(name="gpu", **exactly):
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", **exactly}}


def claim(name, version="resource.k8s.io/v1", requests=None, **devices):
    return thing("ResourceClaim", name, version, spec={"devices": {"requests": requests or [request()], **devices}})


def a_slice(name, version="resource.k8s.io/v1", devices=None, **spec):
    return thing("ResourceSlice", name, version, spec={
        "driver": "gpu.example.com", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": devices if devices is not None else [{"name": "gpu-0"}], **spec})


def allocation(*devices, **more):
    return {"devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": d} for d in devices]}, **more}


# The part of protobuf that bodies here need: a field is (number, int | str | bytes | list of fields).
def varint(value):
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def message(*fields):
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        raw = value.encode() if isinstance(value, str) else message(*value) if isinstance(value, list) else value
        out += varint(number << 3 | 2) + varint(len(raw)) + raw
    return out


def protobuf(version, kind, *fields):
    return base64.b64encode(b"k8s\x00" + message((1, [(1, version), (2, kind)]), (2, message(*fields)), (3, ""), (4, ""))).decode()


def post_protobuf(path, version, kind, *fields):
    return step("POST", path, headers={"Content-Type": PROTOBUF, "Accept": "application/json"}, body_base64=protobuf(version, kind, *fields))


def workloads():
    for kind, plural, spec in (
            ("ReplicaSet", "replicasets", {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}),
            ("StatefulSet", "statefulsets", {"replicas": 2, "serviceName": "s", "selector": SELECTOR, "template": TEMPLATE}),
            ("DaemonSet", "daemonsets", {"selector": SELECTOR, "template": TEMPLATE})):
        path = APPS + NS + "/" + plural
        body = thing(kind, "w", "apps/v1", spec=spec)
        bad = thing(kind, "bad", "apps/v1", spec={**spec, "selector": {"matchLabels": {"app": "other"}}})
        without = thing(kind, "without", "apps/v1", spec={k: v for k, v in spec.items() if k != "selector"})
        sequence(f"own-{plural}-life", f"{kind}: create, patch, scale, watch, tables, delete", [
            post(path, body, "dryRun=All"), versioned(post(path, body)), post(path, body), get(path + "/w"), table(path), table(path + "/w", "includeObject=Object"),
            patch(path + "/w", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "example/app:2"}]}}}}, STRATEGIC),
            patch(path + "/w", {"metadata": {"labels": {"x": "y"}}}), patch(path + "/w", {"spec": {"selector": {"matchLabels": {"app": "b"}}}}),
            patch(path + "/w/status", {"status": {"replicas": 1} if kind != "DaemonSet" else {"numberReady": 1}}), get(path + "/w/scale"),
            get(path, "labelSelector=x%3Dy", headers=METADATA), watch(path, {"resourceVersion": "${rv}"}), table(path, "fieldSelector=metadata.name%3Dw"),
            get(path, "fieldSelector=spec.replicas%3D2"), delete(path + "/w", query="propagationPolicy=Orphan"), get(path + "/w")])
        sequence(f"own-{plural}-bad", f"{kind}: what is refused", [
            post(path, bad), post(path, without), post(path, thing(kind, "Not_A_Name", "apps/v1", spec=spec)),
            post(path, thing(kind, "neg", "apps/v1", spec={**spec, "minReadySeconds": -1})),
            post(path, thing(kind, "never", "apps/v1", spec={**spec, "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}})),
            post(path, thing(kind, "empty", "apps/v1", spec={**spec, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}}})),
            post(path, thing("Deployment", "kind", "apps/v1", spec=spec)), post(path, thing(kind, "version", "apps/v2", spec=spec)),
            post(path, thing(kind, "strict", "apps/v1", spec={**spec, "colour": "red"}), "fieldValidation=Strict"),
            post(path, thing(kind, "warn", "apps/v1", spec={**spec, "colour": "red"}), "fieldValidation=Warn"),
            put(path + "/none", thing(kind, "none", "apps/v1", spec=spec)), patch(path + "/none", {"metadata": {"labels": {"a": "b"}}})])
    path = APPS + NS + "/deployments"
    body = thing("Deployment", "d", "apps/v1", spec={"selector": SELECTOR, "template": TEMPLATE})
    sequence("own-deployment-apply", "A Deployment by two appliers", [
        apply(path + "/d", body), apply(path + "/d", thing("Deployment", "d", "apps/v1", spec={"replicas": 3}), "two"),
        apply(path + "/d", thing("Deployment", "d", "apps/v1", spec={"replicas": 5}), "three"),
        apply(path + "/d", thing("Deployment", "d", "apps/v1", spec={"replicas": 5}), "three", force=True),
        apply(path + "/d", thing("Deployment", "d", "apps/v1"), "three"), get(path + "/d"),
        apply(path + "/d", {**body, "spec": {**body["spec"], "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [
            {**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}, {"name": "side", "image": "s"}]}}}}),
        apply(path + "/d", {**body, "spec": {**body["spec"], "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [
            {**CONTAINER, "env": [{"name": "B", "value": "2"}]}]}}}}), patch(path + "/d", body, APPLY), apply(path + "/other", body),
        apply(path + "/d", {**body, "metadata": {"name": "d", "managedFields": [{}]}}), delete(path + "/d")])
    sequence("own-scale", "The scale subresource", [
        post(path, body), get(path + "/d/scale"), put(path + "/d/scale", thing("Scale", "d", "autoscaling/v1", spec={"replicas": 4})),
        patch(path + "/d/scale", {"spec": {"replicas": 2}}), patch(path + "/d/scale", {"spec": {"replicas": -1}}),
        put(path + "/d/scale", thing("Scale", "e", "autoscaling/v1", spec={"replicas": 4})), get(path + "/none/scale"), table(path + "/d/scale"),
        put(path + "/d/scale", thing("Scale", "d", "autoscaling/v1", metadata={"resourceVersion": "1"}, spec={"replicas": 4})), get(path + "/d"),
        delete(path + "/d/scale"), table(path)])
    path = BATCH + NS + "/jobs"
    job = thing("Job", "j", "batch/v1", spec={"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}})

    def changed(name, **spec):
        return thing("Job", name, "batch/v1", spec={**job["spec"], **spec})

    sequence("own-job-life", "Jobs: what may change and what not", [
        post(path, changed("j", suspend=True, completions=4, parallelism=2, completionMode="Indexed")), get(path + "/j"), table(path),
        patch(path + "/j", {"spec": {"suspend": False}}), patch(path + "/j", {"spec": {"completions": 5}}), patch(path + "/j", {"spec": {"parallelism": 3}}),
        patch(path + "/j", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "z"}]}}}}, STRATEGIC),
        patch(path + "/j", {"spec": {"ttlSecondsAfterFinished": 5}}), patch(path + "/j", {"spec": {"backoffLimit": -2}}),
        post(path, changed("always", template={"spec": {"containers": [CONTAINER]}})), post(path, changed("mode", completionMode="Some")),
        post(path, changed("indexed", completionMode="Indexed")), post(path, changed("deadline", activeDeadlineSeconds=-1)),
        post(path, changed("replace", podReplacementPolicy="Sometimes")), get(path, "fieldSelector=status.successful%3D0", headers=METADATA),
        delete(path + "/j", query="propagationPolicy=Background"), get(path)])


def core():
    for kind, plural, good, bad, change in (
            ("Secret", "secrets", {"stringData": {"a": "b"}, "type": "Opaque"}, {"data": {"a b": "YQ=="}}, {"data": {"c": "ZA=="}}),
            ("ConfigMap", "configmaps", {"data": {"a": "b"}, "binaryData": {"c": "AAEC"}}, {"data": {"a": "1"}, "binaryData": {"a": "AAEC"}}, {"data": {"d": "e"}}),
            ("ServiceAccount", "serviceaccounts", {"automountServiceAccountToken": False}, {"secrets": "x"}, {"imagePullSecrets": [{"name": "r"}]}),
            ("PersistentVolumeClaim", "persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
             {"spec": {"accessModes": ["Often"], "resources": {"requests": {"storage": "-1"}}}}, {"metadata": {"annotations": {"k": "v"}}}),
            ("ResourceQuota", "resourcequotas", {"spec": {"hard": {"pods": "3", "gpu.example.com.deviceclass.resource.k8s.io/devices": "2"}}},
             {"spec": {"hard": {"pods": "-3"}}}, {"spec": {"hard": {"pods": "5"}}}),
            ("Service", "services", {"spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}}, {"spec": {"ports": [{"port": 0}]}},
             {"metadata": {"labels": {"k": "v"}}})):
        path = CORE + NS + "/" + plural
        sequence(f"own-{plural}", f"{kind}: create, read, change, watch, apply, delete", [
            versioned(post(path, thing(kind, "one", **good))), post(path, thing(kind, "bad", **bad)), get(path + "/one"), table(path + "/one"),
            table(path, "limit=1"), patch(path + "/one", change), patch(path + "/one", [{"op": "test", "path": "/metadata/name", "value": "two"}], JSON),
            patch(path + "/one", [{"op": "add", "path": "/metadata/labels", "value": {"l": "m"}}], JSON), patch(path + "/one", [{"op": "remove", "path": "/metadata/labels/none"}], JSON),
            apply(path + "/applied", thing(kind, "applied", **good), query={"dryRun": "All"}), apply(path + "/applied", thing(kind, "applied", **good)),
            watch(path, {"resourceVersion": "${rv}"}, headers=METADATA), get(path, "labelSelector=l%20in%20(m%2Cn)", headers=METADATA_LIST), get(path, "labelSelector=%21l", headers=METADATA_LIST),
            delete(path + "/one", {"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}}), delete(path + "/one"),
            delete(path, query="labelSelector=none"), get(path + "/one")])
    path = CORE + NS + "/configmaps"
    sequence("own-immutable", "Immutable objects", [
        post(path, thing("ConfigMap", "c", data={"a": "b"}, immutable=True)), patch(path + "/c", {"data": {"a": "c"}}), patch(path + "/c", {"immutable": False}),
        patch(path + "/c", {"immutable": None}), patch(path + "/c", {"metadata": {"labels": {"still": "fine"}}}),
        post(CORE + NS + "/secrets", thing("Secret", "s", data={"a": "YQ=="}, immutable=True)), patch(CORE + NS + "/secrets/s", {"data": {"a": "Yg=="}}),
        patch(CORE + NS + "/secrets/s", {"type": "example.com/other"}), patch(CORE + NS + "/secrets/s", {"immutable": False}), delete(CORE + NS + "/secrets/s"),
        post(CORE + NS + "/secrets", thing("Secret", "tls", type="kubernetes.io/tls", data={"tls.crt": ""})),
        post(CORE + NS + "/secrets", thing("Secret", "basic", type="kubernetes.io/basic-auth", data={})),
        post(CORE + NS + "/secrets", thing("Secret", "dc", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "eA=="}))])
    sequence("own-volumes", "PersistentVolumes and what classes them", [
        post(CORE + "/persistentvolumes", thing("PersistentVolume", "{ns}-pv", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                                                                                   "hostPath": {"path": "/x"}, "storageClassName": "s"})),
        table(CORE + "/persistentvolumes/{ns}-pv"), patch(CORE + "/persistentvolumes/{ns}-pv", {"spec": {"hostPath": {"path": "/y"}}}),
        patch(CORE + "/persistentvolumes/{ns}-pv", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
        patch(CORE + "/persistentvolumes/{ns}-pv", {"spec": {"persistentVolumeReclaimPolicy": "Shred"}}),
        patch(CORE + "/persistentvolumes/{ns}-pv/status", {"status": {"phase": "Available"}}),
        post(CORE + "/persistentvolumes", thing("PersistentVolume", "{ns}-none", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]})),
        post("/apis/storage.k8s.io/v1/storageclasses", thing("StorageClass", "own-sc", "storage.k8s.io/v1", provisioner="p.example.com")),
        post("/apis/storage.k8s.io/v1/storageclasses", thing("StorageClass", "own-bad", "storage.k8s.io/v1", provisioner="", reclaimPolicy="Shred")),
        patch("/apis/storage.k8s.io/v1/storageclasses/own-sc", {"provisioner": "q.example.com"}),
        patch("/apis/storage.k8s.io/v1/storageclasses/own-sc", {"allowVolumeExpansion": True}), table("/apis/storage.k8s.io/v1/storageclasses/own-sc"),
        post("/apis/storage.k8s.io/v1/csidrivers", thing("CSIDriver", "own.example.com", "storage.k8s.io/v1", spec={"attachRequired": False})),
        table("/apis/storage.k8s.io/v1/csidrivers/own.example.com"),
        post("/apis/storage.k8s.io/v1/csinodes", thing("CSINode", "own-node", "storage.k8s.io/v1", spec={"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["k"]}]})),
        patch("/apis/storage.k8s.io/v1/csinodes/own-node", {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "m", "topologyKeys": ["k"]}]}})],
        cleanup=[CORE + "/persistentvolumes/{ns}-pv", "/apis/storage.k8s.io/v1/storageclasses/own-sc", "/apis/storage.k8s.io/v1/csidrivers/own.example.com",
                 "/apis/storage.k8s.io/v1/csinodes/own-node"])
    node = thing("Node", "own-node-1", metadata={"labels": {"zone": "a"}})
    sequence("own-nodes", "Nodes: taints, cordon, status, selectors", [
        post(CORE + "/nodes", node), patch(CORE + "/nodes/own-node-1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
        patch(CORE + "/nodes/own-node-1", {"spec": {"taints": [{"key": "a", "effect": "Never"}]}}),
        patch(CORE + "/nodes/own-node-1", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}]}}),
        patch(CORE + "/nodes/own-node-1", {"spec": {"unschedulable": True, "taints": None}}), table(CORE + "/nodes/own-node-1"),
        patch(CORE + "/nodes/own-node-1/status", {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3500m", "example.com/gpu": "2"},
                                                  "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "m"}]}}),
        patch(CORE + "/nodes/own-node-1/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "DiskPressure", "status": "False"}]}}, STRATEGIC),
        get(CORE + "/nodes", "fieldSelector=spec.unschedulable%3Dtrue,metadata.name%3Down-node-1", headers=METADATA_LIST), get(CORE + "/nodes", "fieldSelector=status.phase%3Dx"),
        patch(CORE + "/nodes/own-node-1", {"spec": {"providerID": "a://1"}}), patch(CORE + "/nodes/own-node-1", {"spec": {"providerID": "a://2"}}),
        patch(CORE + "/nodes/own-node-1", {"spec": {"podCIDR": "10.0.0.0/33"}}), put(CORE + "/nodes/own-node-1/status", node), get(CORE + "/nodes/own-node-1"),
        delete(CORE + "/nodes/own-node-1")], cleanup=[CORE + "/nodes/own-node-1"])


def pods():
    path = CORE + NS + "/pods"
    pod = thing("Pod", "p", spec={"containers": [CONTAINER], "automountServiceAccountToken": False})

    def of(name, container=None, **spec):
        return thing("Pod", name, spec={"containers": [{**CONTAINER, **(container or {})}], **spec})

    sequence("own-pod-gates", "Gates, affinity of gated pods, tolerations of others", [
        post(path, of("g", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])), table(path + "/g"),
        patch(path + "/g", [{"op": "remove", "path": "/spec/schedulingGates/0"}], JSON), patch(path + "/g", {"spec": {"schedulingGates": [{"name": "example.com/c"}]}}),
        patch(path + "/g", {"spec": {"nodeSelector": {"a": "b"}}}), patch(path + "/g", {"spec": {"nodeSelector": {"c": "d"}}}),
        patch(path + "/g", {"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}}}),
        post(path + "/g/binding", thing("Binding", "g", target={"kind": "Node", "name": "n1"})), patch(path + "/g", {"spec": {"schedulingGates": None}}),
        patch(path + "/g", {"spec": {"nodeSelector": {"e": "f"}}}), patch(path + "/g", {"spec": {"tolerations": [{"key": "z", "operator": "Exists"}]}}),
        post(path + "/g/binding", thing("Binding", "g", target={"kind": "Node", "name": "n1"})), post(path + "/g/binding", thing("Binding", "g", target={"kind": "Node", "name": "n2"})),
        get(path + "/g"), post(path, of("twice", schedulingGates=[{"name": "a"}, {"name": "a"}])), post(path, of("bound", nodeName="n1", schedulingGates=[{"name": "a"}])),
        delete(path + "/g", {"gracePeriodSeconds": 0})])
    sequence("own-pod-claims", "Claims of pods", [
        post(path, of("a", {"resources": {"claims": [{"name": "x"}]}}, resourceClaims=[{"name": "x", "resourceClaimName": "c"}])),
        post(path, of("b", {"resources": {"claims": [{"name": "y"}]}}, resourceClaims=[{"name": "x", "resourceClaimTemplateName": "t"}])),
        post(path, of("c", resourceClaims=[{"name": "x", "resourceClaimTemplateName": "t", "resourceClaimName": "c"}])),
        post(path, of("d", resourceClaims=[{"name": "x", "resourceClaimName": "c"}, {"name": "x", "resourceClaimName": "d"}])),
        post(path, of("e", {"resources": {"claims": [{"name": "x", "request": "r"}, {"name": "x", "request": "r"}]}}, resourceClaims=[{"name": "x", "resourceClaimName": "c"}])),
        post(path, of("f", resourceClaims=[{"name": "X", "resourceClaimName": "C"}])), post(path, of("f2", resourceClaims=[{"name": "x"}])),
        patch(path + "/a", {"spec": {"resourceClaims": []}}), patch(path + "/a/status", {"status": {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c"}]}}),
        patch(path + "/a/status", {"status": {"resourceClaimStatuses": [{"name": "other", "resourceClaimName": "c"}]}}),
        patch(path + "/a/status", {"status": {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "No_Name"}]}}),
        apply(path + "/a/status", thing("Pod", "a", status={"conditions": [{"type": "example.com/x", "status": "True"}]}), "cond"),
        patch(path + "/a/status", {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "e", "requestMappings": [
            {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}]}}}),
        patch(path + "/a/status", {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "f", "requestMappings": []}}}), get(path + "/a"), table(path)])
    sequence("own-pod-status", "The status of pods", [
        post(path, pod), patch(path + "/p/status", {"status": {"phase": "Running", "podIP": "10.1.2.3", "startTime": "2026-01-01T00:00:00Z"}}), table(path + "/p"),
        patch(path + "/p/status", {"status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 2, "started": True,
                                                                     "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}}), table(path + "/p"),
        patch(path + "/p/status", {"status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 3,
                                                                     "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}), table(path + "/p"),
        patch(path + "/p/status", {"status": {"phase": "Sideways"}}), patch(path + "/p/status", {"status": {"nominatedNodeName": "n9"}}), table(path + "/p"),
        get(path, "fieldSelector=status.nominatedNodeName%3Dn9,status.phase%21%3DRunning", headers=METADATA_LIST), patch(path + "/p/status", {"status": {"podIP": "nonsense"}}),
        patch(path + "/p/status", {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}]}}, STRATEGIC),
        patch(path + "/p/status", {"status": {"conditions": [{"type": "PodScheduled", "$patch": "delete"}]}}, STRATEGIC), get(path + "/p/status"),
        patch(path + "/p/status", {"status": {"phase": "Succeeded"}}), table(path + "/p"), delete(path + "/p")])
    ips = lambda *all_ips: [{"ip": ip} for ip in all_ips]  # noqa: E731
    sequence("own-pod-ips", "podIP and podIPs", [
        post(path, pod), patch(path + "/p/status", {"status": {"podIPs": ips("10.0.0.1", "fd00::1")}}), get(path, "fieldSelector=status.podIP%3D10.0.0.1", headers=METADATA_LIST),
        patch(path + "/p/status", {"status": {"podIPs": ips("10.0.0.2")}}), patch(path + "/p/status", {"status": {"podIP": "10.0.0.3"}}),
        patch(path + "/p/status", {"status": {"podIP": None}}), patch(path + "/p/status", {"status": {"podIP": None, "podIPs": ips("10.0.0.4")}}),
        patch(path + "/p/status", {"status": {"podIPs": None}}), patch(path + "/p/status", {"status": {"podIP": None, "podIPs": None}}),
        apply(path + "/p/status", thing("Pod", "p", status={"podIPs": ips("10.0.0.5")}), "kubelet"), apply(path + "/p/status", thing("Pod", "p", status={}), "kubelet"),
        patch(path + "/p/status", {"status": {"podIPs": ips("nonsense")}}), get(path + "/p")])
    sequence("own-pod-bad", "Pods that are refused", [
        post(path, of("r", {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})), post(path, of("e", {"resources": {"requests": {"example.com/gpu": "1"}}})),
        post(path, of("f", {"resources": {"limits": {"example.com/gpu": "500m"}}})), post(path, of("i", {"imagePullPolicy": "Maybe"})),
        post(path, of("v", {"volumeMounts": [{"name": "none", "mountPath": "/x"}]})), post(path, of("n", {"name": "Bad_Name"})),
        post(path, of("t", tolerations=[{"key": "a", "operator": "Equal", "effect": "Sometimes"}])), post(path, of("t2", tolerations=[{"operator": "Exists", "value": "x"}])),
        post(path, of("p", {"ports": [{"containerPort": 70000}]})), post(path, of("re", restartPolicy="Often")), post(path, of("hp", hostNetwork=True, dnsPolicy="Own")),
        post(path, of("pr", priorityClassName="none-of-these")), post(path, of("ts", topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "x"}])),
        post(path, of("af", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}})),
        post(path, of("in", initContainers=[{"name": "c", "image": "x"}])), post(path, of("probe", {"livenessProbe": {"exec": {"command": ["x"]}, "httpGet": {"port": 1}}})),
        post(path, of("term", terminationGracePeriodSeconds=-5))])
    sequence("own-pod-watch", "Watches of pods by selectors", [
        versioned(post(path, of("one"))), post(path, thing("Pod", "two", metadata={"labels": {"k": "v"}}, spec=pod["spec"])),
        patch(path + "/one", {"metadata": {"labels": {"k": "v"}}}), patch(path + "/one", {"metadata": {"labels": {"k": "w"}}}),
        post(path + "/two/binding", thing("Binding", "two", target={"name": "n7"})), watch(path, {"resourceVersion": "${rv}", "labelSelector": "k=v"}),
        watch(path, {"resourceVersion": "${rv}", "fieldSelector": "spec.nodeName=n7"}), watch(path, {"resourceVersion": "${rv}", "fieldSelector": "spec.nodeName="}),
        watch(path, {"resourceVersion": "${rv}", "labelSelector": "k=v"}, headers=TABLE), watch(path, {"resourceVersion": "0", "allowWatchBookmarks": "true"}, headers=METADATA),
        watch(path, {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}, headers=METADATA),
        watch(path, {"sendInitialEvents": "true"}), watch(path, {"resourceVersion": "abc"}), watch(path, {"fieldSelector": "spec.colour=red"}),
        get(path, "watch=true&timeoutSeconds=x"), get(path, "limit=x"), get(path, "limit=-1", headers=METADATA_LIST)])
    sequence("own-evictions", "Evictions and deletions with options", [
        post(path, of("a")), post(path + "/a/eviction", thing("Eviction", "b", "policy/v1")), post(path + "/a/eviction", thing("Eviction", "a", "policy/v1", deleteOptions={"dryRun": ["All"]})),
        post(path + "/a/eviction", thing("Eviction", "a", "policy/v1", deleteOptions={"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}})),
        post(path + "/none/eviction", thing("Eviction", "none", "policy/v1")), get(path + "/a", headers=METADATA),
        post("/apis/policy/v1" + NS + "/poddisruptionbudgets", thing("PodDisruptionBudget", "b", "policy/v1", spec={"minAvailable": 1, "selector": SELECTOR})),
        table("/apis/policy/v1" + NS + "/poddisruptionbudgets"),
        post("/apis/policy/v1" + NS + "/poddisruptionbudgets", thing("PodDisruptionBudget", "c", "policy/v1", spec={"minAvailable": 1, "maxUnavailable": 1})),
        post("/apis/policy/v1" + NS + "/poddisruptionbudgets", thing("PodDisruptionBudget", "d", "policy/v1", spec={"minAvailable": "110%"})),
        post(path + "/a/eviction", thing("Eviction", "a", "policy/v1")), get(path + "/a", headers=METADATA),
        delete(path + "/a", {"propagationPolicy": "Sideways"}), delete(path + "/a", {"dryRun": ["Some"]}), delete(path + "/a", {"gracePeriodSeconds": -1}), get(path)])


def dra():
    claims, templates, slices, classes = DRA + NS + "/resourceclaims", DRA + NS + "/resourceclaimtemplates", DRA + "/resourceslices", DRA + "/deviceclasses"
    sequence("own-claim-life", "A claim from creation to release", [
        post(claims, claim("c"), "dryRun=All"), versioned(post(claims, claim("c"))), table(claims), patch(claims + "/c", {"spec": {"devices": {"requests": []}}}),
        patch(claims + "/c", {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}),
        patch(claims + "/c/status", {"status": {"allocation": allocation("gpu-0")}}), table(claims + "/c"),
        patch(claims + "/c/status", {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u-1"}]}}), table(claims + "/c"),
        patch(claims + "/c/status", {"status": {"reservedFor": [{"resource": "pods", "name": "q", "uid": "u-2"}]}}, STRATEGIC),
        patch(claims + "/c/status", {"status": {"reservedFor": [{"$patch": "delete", "uid": "u-1"}]}}, STRATEGIC),
        patch(claims + "/c/status", {"status": {"allocation": allocation("gpu-1")}}), patch(claims + "/c/status", {"status": {"allocation": None}}),
        delete(claims + "/c"), table(claims + "/c"), patch(claims + "/c/status", {"status": {"reservedFor": None}}),
        patch(claims + "/c/status", {"status": {"allocation": None}}), patch(claims + "/c", {"metadata": {"finalizers": None}}),
        get(claims + "/c"), watch(claims, {"resourceVersion": "${rv}"}, headers=METADATA)])
    sequence("own-claim-devices", "status.devices of claims", [
        post(claims, claim("c")), patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]}}),
        patch(claims + "/c/status", {"status": {"allocation": allocation("gpu-0", "gpu-1")}}),
        patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-9"}]}}),
        patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "data": {"a": 1},
                                     "networkData": {"interfaceName": "eth0", "ips": ["10.0.0.1/24"], "hardwareAddress": "aa:bb"}}]}}),
        patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "networkData": {"ips": ["10.0.0.1"]}}]}}),
        patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "conditions": [{"type": "Ready", "status": "True"}]}]}}),
        patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "conditions": [
            {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}}),
        apply(claims + "/c/status", {**claim("c"), "spec": None, "status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-1", "conditions": [
            {"type": "Ready", "status": "False", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}}, "driver"),
        apply(claims + "/c/status", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "status": {"devices": [
            {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-1", "data": {"x": [1, "2"]}}]}}, "driver"),
        apply(claims + "/c/status", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "status": {"devices": []}}, "driver"),
        get(claims + "/c"), patch(claims + "/c/status", {"status": {"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}] * 2}}),
        patch(claims + "/c/status", {"status": {"allocation": None}}), get(claims + "/c")])
    sequence("own-claim-specs", "Specs of claims that are refused or not", [
        post(claims, claim("a", requests=[request(count=0)])), post(claims, claim("b", requests=[request(allocationMode="All", count=2)])),
        post(claims, claim("c", requests=[request(allocationMode="Some")])), post(claims, claim("d", requests=[request("a"), request("a")])),
        post(claims, claim("e", requests=[{"name": "x"}])), post(claims, claim("f", requests=[{"name": "x", "exactly": {"deviceClassName": "g"}, "firstAvailable": []}])),
        post(claims, claim("g", requests=[{"name": "x", "firstAvailable": [{"name": "s", "deviceClassName": "g"}, {"name": "s", "deviceClassName": "h"}]}])),
        post(claims, claim("h", constraints=[{"requests": ["none"], "matchAttribute": "a.example.com/b"}])), post(claims, claim("i", constraints=[{"matchAttribute": "nodomain"}])),
        post(claims, claim("j", constraints=[{"distinctAttribute": "a.example.com/b"}])), post(claims, claim("k", constraints=[{}])),
        post(claims, claim("l", config=[{"requests": ["gpu"], "opaque": {"driver": "d.example.com", "parameters": {"a": 1}}}])),
        post(claims, claim("m", config=[{"opaque": {"driver": "D_", "parameters": None}}])), post(claims, claim("n", requests=[request(adminAccess=True)])),
        post(claims, claim("o", requests=[request(tolerations=[{"key": "a", "operator": "Exists", "effect": "None"}, {"operator": "Equal"}])])),
        post(claims, claim("p", requests=[request(capacity={"requests": {"memory": "1Gi"}})])), post(claims, claim("q", requests=[request(capacity={"requests": {"memory": "x"}})])),
        post(claims, claim("r", requests=[request(f"r{i}") for i in range(33)]))])
    sequence("own-claim-selectors", "Selectors of claims", [
        post(claims, claim(f"s{i}", requests=[request(selectors=[{"cel": {"expression": text}}])])) for i, text in enumerate((
            "device.driver == 'a'", "device.nothing", "device.attributes['a'].b == 3", "device.capacity['m'].x.compareTo(quantity('1Gi')) > 0", "1 + 1",
            "device.attributes['d'].v.isGreaterThan(semver('1.0.0'))", "[1,2,3].all(x, x > 0)", "device.allowMultipleAllocations", "'a' + 1 == 'a1'",
            "kubernetes.DRADevice{}", "device.driver.matches('(')", "has(device.attributes['d'].v)", "size(device.capacity) > 2", "unknown(device)",
            "device.driver.startsWith('gpu') && cel.bind(x, device.attributes['d'], has(x.y) && x.y)"))])
    sequence("own-claim-versions", "One claim in three versions", [
        post("/apis/resource.k8s.io/v1beta1" + NS + "/resourceclaims", thing("ResourceClaim", "old", "resource.k8s.io/v1beta1", spec={"devices": {"requests": [
            {"name": "a", "deviceClassName": "x", "count": 2}, {"name": "b", "firstAvailable": [{"name": "c", "deviceClassName": "y"}]}]}})),
        get(claims + "/old"), get("/apis/resource.k8s.io/v1beta2" + NS + "/resourceclaims/old"), table("/apis/resource.k8s.io/v1beta1" + NS + "/resourceclaims"),
        patch("/apis/resource.k8s.io/v1beta2" + NS + "/resourceclaims/old", {"metadata": {"labels": {"v": "2"}}}),
        apply("/apis/resource.k8s.io/v1beta1" + NS + "/resourceclaims/old", {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "old", "labels": {"v": "1"}}}, force=True),
        apply(claims + "/old", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "old", "labels": {"v": "3"}}}, "two"),
        apply(claims + "/old", {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "old"}}),
        post("/apis/resource.k8s.io/v1beta1" + NS + "/resourceclaims", claim("wrong")), post("/apis/resource.k8s.io/v1beta2" + NS + "/resourceclaims", claim("two", "resource.k8s.io/v1beta2")),
        watch("/apis/resource.k8s.io/v1beta2" + NS + "/resourceclaims", {"resourceVersion": "0"}), delete("/apis/resource.k8s.io/v1beta1" + NS + "/resourceclaims")])
    sequence("own-templates", "Templates of claims", [
        post(templates, thing("ResourceClaimTemplate", "t", "resource.k8s.io/v1", spec={"metadata": {"labels": {"a": "b"}}, "spec": claim("x")["spec"]})), table(templates),
        patch(templates + "/t", {"spec": {"metadata": {"labels": {"a": "c"}}}}), patch(templates + "/t", {"metadata": {"annotations": {"x": "y"}}}),
        post(templates, thing("ResourceClaimTemplate", "u", "resource.k8s.io/v1", spec={"metadata": {"name": "n"}, "spec": claim("x")["spec"]})),
        post(templates, thing("ResourceClaimTemplate", "v", "resource.k8s.io/v1", spec={"spec": {"devices": {"requests": [{"name": "x"}]}}})),
        post(templates, thing("ResourceClaimTemplate", "w", "resource.k8s.io/v1", spec={})), post(templates, thing("ResourceClaimTemplate", "x", "resource.k8s.io/v1", spec={"metadata": {"labels": {"-": "b"}}, "spec": claim("x")["spec"]})),
        apply(templates + "/s", thing("ResourceClaimTemplate", "s", "resource.k8s.io/v1", spec={"spec": claim("x")["spec"]})),
        apply(templates + "/s", thing("ResourceClaimTemplate", "s", "resource.k8s.io/v1", spec={"spec": claim("x", requests=[request("other")])["spec"]})),
        delete(templates + "/t"), delete(templates)])
    names = ["own-slice", "own-slice-2"]
    sequence("own-slices", "Slices: attributes, counters, taints, fields", [
        versioned(post(slices, a_slice("own-slice", devices=[{"name": "gpu-0", "attributes": {"a": {"string": "x"}, "b.example.com/c": {"int": 3}, "v": {"version": "1.2.3"}, "f": {"bool": False}},
                                                     "capacity": {"memory": {"value": "80Gi"}}}]))), table(slices + "/own-slice"),
        get(slices, "fieldSelector=spec.nodeName%3Dn1,spec.driver%3Dgpu.example.com", headers=METADATA_LIST), get(slices, "fieldSelector=spec.pool.name%3Dx"),
        patch(slices + "/own-slice", {"spec": {"nodeName": "n2"}}), patch(slices + "/own-slice", {"spec": {"pool": {"generation": 2}}}), patch(slices + "/own-slice", {"spec": {"driver": "other.example.com"}}),
        patch(slices + "/own-slice", {"spec": {"devices": [{"name": "gpu-0", "taints": [{"key": "a", "effect": "NoExecute"}]}]}}),
        patch(slices + "/own-slice", {"spec": {"devices": [{"name": "gpu-0", "taints": [{"key": "a", "effect": "Never"}]}]}}),
        patch(slices + "/own-slice", {"spec": {"devices": [{"name": "gpu-0"}, {"name": "gpu-0"}]}}), patch(slices + "/own-slice", {"spec": {"devices": [{"name": "Bad_Name"}]}}),
        post(slices, a_slice("own-slice-2", devices=[{"name": "a", "attributes": {"x": {"string": "a", "int": 1}}}])), post(slices, a_slice("own-slice-2", devices=[{"name": "a", "attributes": {"x": {}}}])),
        post(slices, a_slice("own-slice-2", devices=[{"name": "a", "attributes": {"v": {"version": "1.2"}}}])), post(slices, a_slice("own-slice-2", allNodes=True)),
        post(slices, a_slice("own-slice-2", devices=[{"name": "a", "consumesCounters": [{"counterSet": "none", "counters": {"m": {"value": "1"}}}]}])),
        watch(slices, {"resourceVersion": "${rv}", "fieldSelector": "spec.nodeName=n1"}, headers=METADATA), delete(slices, query="fieldSelector=spec.driver%3Dgpu.example.com")],
        cleanup=[slices + "/" + n for n in names])
    sequence("own-slices-shared", "Slices with shared counters, shared capacity and binding conditions", [
        post(slices, {**a_slice("own-slice"), "spec": {"driver": "gpu.example.com", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 2},
                      "sharedCounters": [{"name": "set", "counters": {"memory": {"value": "80Gi"}}}]}}),
        post(slices, a_slice("own-slice-2", devices=[{"name": "a", "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "40Gi"}}}]}],
                             pool={"name": "n1", "generation": 1, "resourceSliceCount": 2})), table(slices, "fieldSelector=metadata.name%3Down-slice-2"),
        patch(slices + "/own-slice", {"spec": {"sharedCounters": [{"name": "set", "counters": {}}]}}), patch(slices + "/own-slice", {"spec": {"devices": [{"name": "x"}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi", "requestPolicy": {
            "default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}}}}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi", "requestPolicy": {
            "default": "1Gi", "validRange": {"min": "2Gi", "max": "1Gi", "step": "3Gi"}}}}}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi", "requestPolicy": {
            "default": "3Gi", "validValues": ["1Gi", "2Gi"]}}}}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "capacity": {"memory": {"value": "10Gi", "requestPolicy": {"default": "1Gi", "validValues": ["1Gi"]}}}}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "bindsToNode": True, "bindingConditions": ["a"], "bindingFailureConditions": ["b"]}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "bindingConditions": ["a"]}]}}), patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "bindingConditions": ["a", "a"], "bindingFailureConditions": ["a"]}]}}),
        patch(slices + "/own-slice-2", {"spec": {"devices": [{"name": "a", "nodeName": "n1"}], "perDeviceNodeSelection": True}}), get(slices + "/own-slice-2")],
        cleanup=[slices + "/" + n for n in names])
    sequence("own-classes", "Device classes", [
        post(classes, thing("DeviceClass", "own.example.com", "resource.k8s.io/v1", spec={"selectors": [{"cel": {"expression": "device.driver == 'x'"}}], "extendedResourceName": "example.com/own"})),
        table(classes + "/own.example.com"), patch(classes + "/own.example.com", {"spec": {"extendedResourceName": "not a name"}}),
        patch(classes + "/own.example.com", {"spec": {"extendedResourceName": "cpu"}}), patch(classes + "/own.example.com", {"spec": {"selectors": [{"cel": {"expression": "device.x"}}]}}),
        patch(classes + "/own.example.com", {"spec": {"selectors": [{}]}}), patch(classes + "/own.example.com", {"spec": {"config": [{"opaque": {"driver": "d.example.com", "parameters": {"k": "v"}}}]}}),
        patch(classes + "/own.example.com", {"spec": {"config": [{}]}}), put(classes + "/own.example.com", thing("DeviceClass", "own.example.com", "resource.k8s.io/v1", spec={})),
        apply(classes + "/own.example.com", thing("DeviceClass", "own.example.com", "resource.k8s.io/v1", spec={"extendedResourceName": "example.com/two"}), "two"),
        apply(classes + "/own.example.com", thing("DeviceClass", "own.example.com", "resource.k8s.io/v1"), "two"), get("/apis/resource.k8s.io/v1beta1/deviceclasses/own.example.com"),
        post(classes, thing("DeviceClass", "own bad", "resource.k8s.io/v1", spec={})), post(classes, thing("DeviceClass", "own-bad", "resource.k8s.io/v1", spec={"suitableNodes": {}}), "fieldValidation=Strict"),
        delete(classes + "/own.example.com", query="dryRun=All"), delete(classes + "/own.example.com")], cleanup=[classes + "/own.example.com"])
    rules = "/apis/resource.k8s.io/v1beta2/devicetaintrules"

    def rule(name, effect="NoExecute", version="resource.k8s.io/v1beta2", **spec):
        return thing("DeviceTaintRule", name, version, spec={"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "example.com/bad", "effect": effect}, **spec})

    sequence("own-taint-rules", "Device taint rules", [
        versioned(post(rules, rule("own-rule"))), table(rules + "/own-rule"), post(rules, rule("own-rule-2", "Explode")), post(rules, rule("own-rule-2", "None")),
        patch(rules + "/own-rule", {"spec": {"taint": {"value": "x"}}}), patch(rules + "/own-rule", {"spec": {"taint": {"effect": "NoSchedule"}}}),
        patch(rules + "/own-rule", {"spec": {"deviceSelector": {"pool": "p", "device": "d"}}}), patch(rules + "/own-rule", {"spec": {"deviceSelector": {"driver": "Bad_Driver"}}}),
        patch(rules + "/own-rule", {"spec": {"taint": {"key": "bad key"}}}), patch(rules + "/own-rule/status", {"status": {"conditions": [
            {"type": "EvictionInProgress", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]}}),
        patch(rules + "/own-rule/status", {"status": {"conditions": [{"type": "x", "status": "Perhaps"}]}}), get(rules + "/own-rule/status"),
        get("/apis/resource.k8s.io/v1alpha3/devicetaintrules/own-rule"), post("/apis/resource.k8s.io/v1alpha3/devicetaintrules", rule("own-rule-3", version="resource.k8s.io/v1alpha3")),
        apply(rules + "/own-rule", {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "own-rule"}, "spec": {"taint": {"key": "k", "effect": "None"}}}),
        watch(rules, {"resourceVersion": "${rv}"}, headers=METADATA), delete(rules + "/own-rule"), table(rules)],
        cleanup=[rules + "/own-rule", rules + "/own-rule-2", rules + "/own-rule-3"])


def others():
    leases = "/apis/coordination.k8s.io/v1" + NS + "/leases"
    sequence("own-leases", "Leases", [
        post(leases, thing("Lease", "l", "coordination.k8s.io/v1", spec={"holderIdentity": "a", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000001Z", "renewTime": "2026-01-01T00:00:00.000001Z"})),
        table(leases), patch(leases + "/l", {"spec": {"leaseDurationSeconds": 0}}), patch(leases + "/l", {"spec": {"leaseTransitions": -1}}), patch(leases + "/l", {"spec": {"renewTime": "yesterday"}}),
        patch(leases + "/l", {"spec": {"renewTime": "2026-01-01T00:00:01Z"}}), patch(leases + "/l", {"spec": {"holderIdentity": ""}}), patch(leases + "/l", {"spec": {"strategy": "OldestEmulationVersion"}}),
        patch(leases + "/l", {"spec": {"preferredHolder": "x"}}), put(leases + "/l", thing("Lease", "l", "coordination.k8s.io/v1", metadata={"resourceVersion": "1"})),
        put(leases + "/new", thing("Lease", "new", "coordination.k8s.io/v1", spec={"holderIdentity": "b"})), apply(leases + "/new", thing("Lease", "new", "coordination.k8s.io/v1", spec={"holderIdentity": "c"})),
        delete(leases, query="dryRun=All"), delete(leases)])
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    sequence("own-rbac", "Roles and bindings", [
        post(rbac + NS + "/roles", thing("Role", "r", "rbac.authorization.k8s.io/v1", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])), table(rbac + NS + "/roles"),
        post(rbac + NS + "/roles", thing("Role", "bad", "rbac.authorization.k8s.io/v1", rules=[{"apiGroups": [""], "resources": ["pods"]}])),
        post(rbac + NS + "/rolebindings", thing("RoleBinding", "b", "rbac.authorization.k8s.io/v1", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, subjects=[{"kind": "User", "name": "alice"}])),
        table(rbac + NS + "/rolebindings"), patch(rbac + NS + "/rolebindings/b", {"roleRef": {"name": "other"}}), patch(rbac + NS + "/rolebindings/b", {"subjects": [{"kind": "Robot", "name": "x"}]}),
        get(CORE + NS + "/pods", **{"as": "alice"}), get(CORE + NS + "/configmaps", **{"as": "alice"}), get(CORE + NS + "/pods/none", **{"as": "alice"}), delete(CORE + NS + "/pods", None),
        post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
            "verb": "get", "resource": "pods", "namespace": "{ns}"}}}, **{"as": "alice"}),
        post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}),
        post(rbac + "/clusterroles", thing("ClusterRole", "own-role", "rbac.authorization.k8s.io/v1", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]})),
        post(rbac + "/clusterroles", thing("ClusterRole", "own-role-2", "rbac.authorization.k8s.io/v1", rules=[{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])), delete(rbac + "/clusterroles/own-role")],
        cleanup=[rbac + "/clusterroles/own-role", rbac + "/clusterroles/own-role-2"])
    events = "/apis/events.k8s.io/v1" + NS + "/events"
    event = thing("Event", "e", "events.k8s.io/v1", eventTime="2026-01-01T00:00:00.000000Z", reportingController="c.example.com/x", reportingInstance="i", action="A", reason="R", type="Normal",
                  regarding={"kind": "Pod", "namespace": "{ns}", "name": "p"}, note="n")
    sequence("own-events", "Events in both groups", [
        post(events, event), table(events), table(CORE + NS + "/events"), get(CORE + NS + "/events/e"), patch(events + "/e", {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}),
        patch(events + "/e", {"note": "other"}), post(events, {**event, "metadata": {"name": "f"}, "type": "Strange"}), post(events, {**event, "metadata": {"name": "g"}, "reason": ""}),
        post(events, {**event, "metadata": {"name": "h"}, "note": "x" * 1025}), post(events, {**event, "metadata": {"name": "i"}, "regarding": {"kind": "Pod", "namespace": "elsewhere", "name": "p"}}),
        post(CORE + NS + "/events", thing("Event", "core", involvedObject={"kind": "Pod", "namespace": "{ns}", "name": "q"}, reason="R", message="m", count=3)),
        get(events, "fieldSelector=reason%3DR,regarding.name%3Dq", headers=METADATA_LIST), get(CORE + NS + "/events", "fieldSelector=involvedObject.name%3Dp", headers=METADATA_LIST),
        post(CORE + NS + "/events", thing("Event", "away", involvedObject={"kind": "Pod", "namespace": "other", "name": "q"})), delete(CORE + NS + "/events")])
    for group, plural, kind, spec in (("networking.k8s.io", "networkpolicies", "NetworkPolicy", {"podSelector": {}, "policyTypes": ["Ingress"]}),
                                      ("policy", "poddisruptionbudgets", "PodDisruptionBudget", {"maxUnavailable": "25%", "selector": SELECTOR})):
        path = f"/apis/{group}/v1" + NS + "/" + plural
        sequence(f"own-{plural}", f"{kind}: life", [
            versioned(post(path, thing(kind, "o", group + "/v1", spec=spec))), get(path + "/o"), table(path), patch(path + "/o", {"metadata": {"labels": {"a": "b"}}}),
            apply(path + "/o", thing(kind, "o", group + "/v1", metadata={"labels": {"a": "c"}}), "two"), apply(path + "/o", thing(kind, "o", group + "/v1", metadata={"labels": {"a": "c"}}), "two", force=True),
            post(path, {"metadata": {"generateName": "gen-"}, "spec": spec}, "dryRun=All"), watch(path, {"resourceVersion": "${rv}"}, headers=METADATA),
            get(path, "fieldSelector=metadata.name%21%3Do", headers=METADATA_LIST), delete(path + "/o"), get(path + "/o")])
    sequence("own-priority", "Priority classes and who uses them", [
        post("/apis/scheduling.k8s.io/v1/priorityclasses", thing("PriorityClass", "own-high", "scheduling.k8s.io/v1", value=1000, description="d")), table("/apis/scheduling.k8s.io/v1/priorityclasses/own-high"),
        patch("/apis/scheduling.k8s.io/v1/priorityclasses/own-high", {"value": 5}), patch("/apis/scheduling.k8s.io/v1/priorityclasses/own-high", {"preemptionPolicy": "Never"}),
        post("/apis/scheduling.k8s.io/v1/priorityclasses", thing("PriorityClass", "own-huge", "scheduling.k8s.io/v1", value=2000000000)), post("/apis/scheduling.k8s.io/v1/priorityclasses", thing("PriorityClass", "system-own", "scheduling.k8s.io/v1", value=5)),
        post(CORE + NS + "/pods", thing("Pod", "p", spec={"priorityClassName": "own-high", "containers": [CONTAINER]})), get(CORE + NS + "/pods/p"),
        post(CORE + NS + "/pods", thing("Pod", "q", spec={"priorityClassName": "own-high", "priority": 5, "containers": [CONTAINER]})),
        post(CORE + NS + "/pods", thing("Pod", "r", spec={"priorityClassName": "system-node-critical", "containers": [CONTAINER]})), delete("/apis/scheduling.k8s.io/v1/priorityclasses/own-high"),
        post(CORE + NS + "/pods", thing("Pod", "s", spec={"priorityClassName": "own-high", "containers": [CONTAINER]}))], cleanup=["/apis/scheduling.k8s.io/v1/priorityclasses/own-high"])
    name = (1, [(1, "pb")])
    sequence("own-protobuf", "Bodies in protobuf", [
        post_protobuf(CORE + NS + "/configmaps", "v1", "ConfigMap", name, (2, [(1, "k"), (2, "v")]), (2, [(1, "l"), (2, "w")])), get(CORE + NS + "/configmaps/pb"),
        post_protobuf(CORE + NS + "/configmaps", "v1", "ConfigMap", name), post_protobuf(CORE + NS + "/serviceaccounts", "v1", "ServiceAccount", name, (4, 0)),
        post_protobuf(CORE + NS + "/secrets", "v1", "Secret", name, (2, [(1, "k"), (2, b"\x00\x01")]), (3, "Opaque")),
        post_protobuf(CORE + NS + "/pods", "v1", "Pod", name, (2, [(2, [(1, "c"), (2, "i"), (8, [(1, [(1, "cpu"), (2, [(1, "1500m")])])])]), (7, [(1, "a"), (2, "b")]), (19, "sched")])), get(CORE + NS + "/pods/pb"),
        post_protobuf(claims_path := DRA + NS + "/resourceclaims", "resource.k8s.io/v1", "ResourceClaim", name, (2, [(1, [(1, [(1, "r"), (2, [(1, "class"), (3, "All")])])])])), get(claims_path + "/pb"),
        post_protobuf(claims_path, "resource.k8s.io/v1", "ResourceClaim", (1, [(1, "Bad_Name")])), post_protobuf(claims_path, "v1", "ConfigMap", name),
        step("PUT", claims_path + "/pb", headers={"Content-Type": PROTOBUF, "Accept": "application/json"}, body_base64=protobuf("resource.k8s.io/v1", "ResourceClaim", (1, [(1, "pb"), (11, [(1, "a"), (2, "b")])]),
                                                                                                                         (2, [(1, [(1, [(1, "r"), (2, [(1, "class"), (3, "All")])])])]))),
        post_protobuf(APPS + NS + "/statefulsets", "apps/v1", "StatefulSet", name, (2, [(1, 2), (2, [(1, [(1, "a"), (2, "b")])]), (3, [(1, [(11, [(1, "a"), (2, "b")])]), (2, [(2, [(1, "c"), (2, "i")])])]), (5, "svc")])),
        get(APPS + NS + "/statefulsets/pb"), post_protobuf(CORE + NS + "/pods/pb/binding", "v1", "Binding", name, (2, [(1, "Node"), (3, "n4")])), get(CORE + NS + "/pods/pb", headers={"Accept": PROTOBUF}),
        step("DELETE", CORE + NS + "/pods/pb", headers={"Content-Type": PROTOBUF, "Accept": "application/json"}, body_base64=protobuf("v1", "DeleteOptions", (1, 0)))])
    maps = CORE + NS + "/configmaps"
    sequence("own-dry-run", "Dry runs leave nothing", [
        post(maps, thing("ConfigMap", "a"), "dryRun=All"), get(maps + "/a"), post(maps, thing("ConfigMap", "a"), "dryRun=Some"), versioned(post(maps, thing("ConfigMap", "a", data={"k": "v"}))),
        put(maps + "/a", thing("ConfigMap", "a", data={"k": "w"}), "dryRun=All"), patch(maps + "/a", {"data": {"k": "x"}}, query="dryRun=All"), apply(maps + "/a", thing("ConfigMap", "a", data={"k": "y"}), force=True, query={"dryRun": "All"}),
        delete(maps + "/a", {"dryRun": ["All"]}), delete(maps, query="dryRun=All"), get(maps + "/a"), watch(maps, {"resourceVersion": "${rv}"}), put(maps + "/none", thing("ConfigMap", "none"), "dryRun=All"),
        apply(maps + "/none", thing("ConfigMap", "none"), query={"dryRun": "All"}), get(maps, "dryRun=All")])
    sequence("own-appliers", "Fields that several appliers own", [
        apply(maps + "/a", thing("ConfigMap", "a", data={"x": "1", "y": "1"})), apply(maps + "/a", thing("ConfigMap", "a", data={"x": "1"}), "two"), apply(maps + "/a", thing("ConfigMap", "a", data={"y": "1"})),
        apply(maps + "/a", thing("ConfigMap", "a", data={"x": "2"}), "three"), apply(maps + "/a", thing("ConfigMap", "a", data={"x": "2", "y": "2"}), "three"), apply(maps + "/a", thing("ConfigMap", "a"), "two"), get(maps + "/a"),
        patch(maps + "/a", {"data": {"x": "3"}}, query="fieldManager=patcher"), apply(maps + "/a", thing("ConfigMap", "a", data={"x": "4"}), "two"), apply(maps + "/a", thing("ConfigMap", "a", data={"x": None}), "four"),
        apply(maps + "/a", thing("ConfigMap", "a"), "one"), get(maps + "/a"), apply(maps + "/a", thing("ConfigMap", "a", metadata={"resourceVersion": "1"}), "one"), apply(maps + "/a", "{not yaml", "one"),
        apply(maps + "/a", thing("ConfigMap", "a", colour="red"), "one"), patch(maps + "/a", thing("ConfigMap", "a"), APPLY, {"fieldManager": "x" * 130})])
    sequence("own-paging", "Pages, orders and versions of lists", [
        *[post(maps, thing("ConfigMap", f"m{i}", metadata={"labels": {"n": str(i % 2)}})) for i in (3, 1, 2, 0)], dict(get(maps, "limit=2", headers=METADATA_LIST), capture={"next": "metadata.continue"}),
        get(maps, "limit=2&continue=${next}", headers=METADATA_LIST), get(maps, "continue=x"), get(maps, "limit=1&labelSelector=n%3D1", headers=METADATA_LIST), get(maps, "resourceVersion=0&limit=1", headers=METADATA_LIST),
        get(maps, "resourceVersion=1&resourceVersionMatch=Exact"), get(maps, "resourceVersionMatch=Exact"), get(maps, "resourceVersion=0&resourceVersionMatch=Exact"), get(maps, "resourceVersion=99999999"),
        get(maps, "labelSelector=a%3D%3D%3Db"), get(maps, "labelSelector=n+notin+(0)", headers=METADATA_LIST), table(maps, "limit=1&includeObject=None"), table(maps, "includeObject=Perhaps"), get(maps, "pretty=true&limit=1"), delete(maps, query="labelSelector=n%3D0"), get(maps, headers=METADATA_LIST)])
    sequence("own-namespaces", "Namespaces", [
        post(CORE + "/namespaces", thing("Namespace", "{ns}-own", metadata={"labels": {"a": "b"}})), table(CORE + "/namespaces/{ns}-own"), post(CORE + "/namespaces", thing("Namespace", "Own")), post(CORE + "/namespaces", thing("Namespace", "own.ns")),
        patch(CORE + "/namespaces/{ns}-own", {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}}), patch(CORE + "/namespaces/{ns}-own", {"spec": {"finalizers": ["example.com/x"]}}),
        post(CORE + "/namespaces/{ns}-own/configmaps", thing("ConfigMap", "c", metadata={"namespace": "other"})), post(CORE + "/namespaces/nowhere/configmaps", thing("ConfigMap", "c")), get(CORE + "/namespaces/nowhere/configmaps"),
        delete(CORE + "/namespaces/{ns}-own"), post(CORE + "/namespaces/{ns}-own/configmaps", thing("ConfigMap", "c")), table(CORE + "/namespaces/{ns}-own"), delete(CORE + "/namespaces/kube-system"), delete(CORE + "/namespaces/default", query="dryRun=All")],
        cleanup=[])
    sequence("own-methods", "Methods and paths that do not exist", [
        step("POST", maps + "/a", {}), step("PUT", maps, {}), step("PATCH", maps, {}), step("OPTIONS", maps), get("/api/v1/namespaces/{ns}/unicorns"), get("/apis/unicorns.example.com/v1"), get("/apis/apps/v9"), get("/api/v2"),
        post(CORE + NS + "/pods/p/unicorns", {}), get(CORE + NS + "/pods/p/log"), post(CORE + "/nodes/n/status", {}), delete(CORE + NS + "/pods/p/status"), step("GET", maps, headers={"Accept": "text/csv"}), step("POST", maps, "a: b", headers={"Content-Type": "text/csv"}),
        post(maps, ""), post(maps, thing("ConfigMap", "x", apiVersion="v2")), post(maps, {"metadata": {}}), post(maps, thing("ConfigMap", "x", metadata={"uid": "1"}))])


for part in (workloads, core, pods, dra, others):
    part()
