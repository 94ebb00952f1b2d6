"""More sequences for twin_test.py: texts of times and numbers, bodies that are not plain JSON objects, media types, patches of what may not change,
and pods with resources of their own. Each is a kind of request in which the embedded server once differed."""
import base64
import json

from own_sequences import (APPLY, APPS, CONTAINER, CORE, DRA, JSON, MERGE, NS, STRATEGIC, a_slice, apply, claim, delete, get, patch, post, protobuf, put,
                           request, sequence, step, thing)

# Each either a time for metav1.Time, for metav1.MicroTime, for both or for none.
TIMES = (
    "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
    "1677-09-21T00:12:43Z", "2262-04-11T23:47:17Z", "1600-02-29T12:00:00Z", "1900-02-29T12:00:00Z", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00",
    "0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.5Z", "2026-01-01T00:00:00.999999999Z", "1969-12-31T23:59:59.5Z", "2026-01-01t00:00:00Z", "2026-01-01T00:00:00z",
    "2026-12-31T23:59:60Z", "2026-01-01T24:00:00Z", "2026-01-01T23:60:00Z", "2026-01-01T1:00:00Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+24:60", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00+00:61", "2026-01-01T00:00:00*01:00", "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00 Z",
    "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-1-01T00:00:00Z", "26-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "2026-01-01T00:00:00Zx", "", " ", "now", "\u00e9", 'a"b\\c', "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123Z",
    "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00,123456Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00.000000Z",
    "0001-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000000Z", "1969-12-31T23:59:59.999999Z", "2026-01-01t00:00:00.000000Z", "2026-01-01T00:00:00.000000z",
    "2026-01-01T1:00:00.000000Z", "2026-01-01T00:00:60.000000Z")
INTEGERS = ("1.0", "1e0", "10e-1", "1E2", "-0.0", "-0", "1.5", "2147483648", "8000000000", "9223372036854775808", "1e400", "01", "+1", ".5", "0x1", '"1"', "true", "null")


def replaced(body, **texts):
    """The JSON text of the body; "@name" in it is replaced as given."""
    text = json.dumps(body)
    for name, value in texts.items():
        text = text.replace(f'"@{name}"', value)
    return text


def times():
    path = DRA + "/resourceslices"
    for number, text in enumerate(TIMES):
        taint = {"key": "a/b", "effect": "NoExecute", "timeAdded": text}
        device = {"name": "gpu-0", "taints": [taint]}
        slice_path = path + f"/{{ns}}-{number}"
        lease = thing("Lease", f"l{number}", "coordination.k8s.io/v1", spec={"holderIdentity": "x", "leaseDurationSeconds": 1, "renewTime": text})
        leases = "/apis/coordination.k8s.io/v1" + NS + "/leases"
        # Of other texts the real server compares what was sent with what is stored as texts, and the embedded one as times.
        again = [] if len(text) != 20 or text[10:] == "T1:00:00Z" or text.startswith("0001-01-01T00:00:00") else [
            apply(slice_path, a_slice(f"{{ns}}-{number}", devices=[device])), patch(slice_path, {"spec": {"devices": [device]}}),
            patch(slice_path, {"spec": {"devices": [device]}}, STRATEGIC), get(slice_path)]
        sequence(f"own-time-{number:02d}", f"The time {text!r}", [
            post(path, a_slice(f"{{ns}}-{number}", devices=[device])), get(slice_path), *again,
            post(leases, lease), get(leases + f"/l{number}"), patch(leases + f"/l{number}", {"spec": {"renewTime": text}}),
            post(CORE + NS + "/pods", thing("Pod", "p", spec={"containers": [CONTAINER]})),
            patch(CORE + NS + "/pods/p/status", {"status": {"startTime": text, "conditions": [{"type": "a/b", "status": "True", "lastTransitionTime": text}]}}),
            patch(CORE + NS + "/pods/p/status", {"status": {"startTime": text}}, STRATEGIC), get(CORE + NS + "/pods/p", headers={}),
            delete(slice_path)])
    seconds = (0, 1, -1, 253402300799, -62135596800, -62135596801, -62167219200, 9223372036, 9223372037, -9223372037)
    sequence("own-time-protobuf", "Times in protobuf", [
        one for number, value in enumerate(seconds) for one in (
            step("POST", "/apis/coordination.k8s.io/v1" + NS + "/leases", headers={"Content-Type": "application/vnd.kubernetes.protobuf", "Accept": "application/json"},
                 body_base64=protobuf("coordination.k8s.io/v1", "Lease", (1, [(1, f"p{number}")]), (2, [(4, [(1, value % 2**64), (2, 5000)])]))),
            get("/apis/coordination.k8s.io/v1" + NS + f"/leases/p{number}"))])
    grace = (0, 30, 10**9, 9223372036, 9223372037, 10**10, 2**62, 2**63 - 1)
    sequence("own-grace", "Grace periods of any length", [
        one for number, value in enumerate(grace) for one in (
            post(CORE + NS + "/pods", thing("Pod", f"g{number}", spec={"nodeName": "n1", "terminationGracePeriodSeconds": value, "containers": [CONTAINER]})),
            delete(CORE + NS + f"/pods/g{number}"), delete(CORE + NS + f"/pods/g{number}", query="gracePeriodSeconds=0"))])


def numbers():
    path = DRA + NS + "/resourceclaims"
    pods, deployments, services = CORE + NS + "/pods", APPS + NS + "/deployments", CORE + NS + "/services"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    for number, text in enumerate(INTEGERS):
        raw = {"count": text}
        pod = thing("Pod", "p", spec={"containers": [{**CONTAINER, "ports": [{"containerPort": "@count"}], "livenessProbe": {"httpGet": {"port": 80}}}]})
        probe = thing("Pod", "q", spec={"containers": [{**CONTAINER, "livenessProbe": {"httpGet": {"port": "@count"}}}]})
        deployment = thing("Deployment", "d", "apps/v1", spec={"replicas": "@count", "selector": {"matchLabels": {"a": "b"}}, "template": template})
        sequence(f"own-integer-{number:02d}", f"The number {text}", [
            post(path, replaced(claim("c", requests=[request(count="@count")]), **raw)), post(path, claim("d")),
            patch(path + "/d", replaced({"spec": {"devices": {"requests": [request(count="@count")]}}}, **raw)),
            patch(path + "/d", replaced({"spec": {"devices": {"requests": [request(count="@count")]}}}, **raw), STRATEGIC),
            patch(path + "/d", replaced([{"op": "replace", "path": "/spec/devices/requests/0/exactly/count", "value": "@count"}], **raw), JSON),
            patch(path + "/e", replaced(claim("e", requests=[request(count="@count")]), **raw), APPLY, "fieldManager=one"),
            post(DRA + "/resourceslices", replaced(a_slice("{ns}-i", devices=[{"name": "g", "attributes": {"a": {"int": "@count"}}}]), **raw)),
            post(pods, replaced(pod, **raw)), post(pods, replaced(probe, **raw)), post(deployments, replaced(deployment, **raw)),
            post(deployments, replaced({**deployment, "metadata": {"name": "f"}}, count="2")),
            patch(deployments + "/f", replaced({"spec": {"replicas": "@count"}}, **raw)), patch(deployments + "/f", replaced({"spec": {"replicas": "@count"}}, **raw), STRATEGIC),
            patch(deployments + "/f", replaced({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "@count"}}}}, **raw)),
            patch(deployments + "/f/scale", replaced({"spec": {"replicas": "@count"}}, **raw)),
            post(services, replaced(thing("Service", "s", spec={"ports": [{"port": 80, "targetPort": "@count"}]}), **raw)),
            delete(DRA + "/resourceslices/{ns}-i"), delete(pods, replaced({"gracePeriodSeconds": "@count"}, **raw))])
    yaml = {"headers": {"Content-Type": "application/yaml"}}
    texts = [f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: y{i}}}\nspec: {{devices: {{requests: [{{name: g, exactly: {{deviceClassName: a, count: {t}}}}}]}}}}\n"
             for i, t in enumerate(("1.0", "1e0", "1_0", "0b1", "0o7", "017", "0x1F", "~", "1.5", "+1"))]
    sequence("own-yaml-numbers", "Numbers in YAML", [post(path, text, **yaml) for text in texts] + [patch(path + f"/a{i}", text.replace(f"name: y{i}", f"name: a{i}"), APPLY, "fieldManager=m")
                                                                                                  for i, text in enumerate(texts)])


def raw(path, content, text, **more):
    return step("POST", path, headers={"Content-Type": content}, body_base64=base64.b64encode(text).decode(), **more)


def bodies():
    path = CORE + NS + "/configmaps"
    one = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: b}\n"
    text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"},"data":{"a":"%s"}}'
    yaml, plain = "application/yaml", "application/json"
    sequence("own-body-yaml", "YAML bodies", [
        raw(path, yaml, one % b"a" + b"---\n" + one % b"b"), raw(path, yaml, b"---\n" + one % b"c"), raw(path, yaml, one % b"d" + b"---\n"), raw(path, yaml, one % b"e" + b"...\n"),
        raw(path, yaml, one % b"f" + b"--- garbage: [\n"), raw(path, yaml, b"%YAML 1.1\n---\n" + one % b"g"), raw(path, yaml, b""), raw(path, yaml, b"---\n"), raw(path, yaml, b"null\n"),
        raw(path, yaml, b"# nothing\n"), raw(path, yaml, b"- a\n"), raw(path, yaml, b"text\n"), raw(path, yaml, b"7\n"), raw(path, yaml, b"\xef\xbb\xbf" + one % b"h"),
        raw(path, yaml, one % b"i" + b"extra: \xff\n"), raw(path, yaml, text % (b"j", b"k")), raw(path, yaml, text % (b"l", b"m") + b"\n---\n" + text % (b"n", b"o")),
        get(path, headers={"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"})])
    sequence("own-body-json", "JSON bodies", [
        raw(path, plain, b""), raw(path, plain, b"null"), raw(path, plain, b" null \n"), raw(path, plain, b"{}"), raw(path, plain, b"[]"), raw(path, plain, b"7"), raw(path, plain, b'"x"'),
        raw(path, plain, b"true"), raw(path, plain, b"  "), raw(path, plain, b"{"), raw(path, plain, b"{}{}"), raw(path, plain, text % (b"a", b"b") + b"x"),
        raw(path, plain, b"\xef\xbb\xbf" + text % (b"c", b"d")), raw(path, plain, text % (b"e", b"\\ud800")), raw(path, plain, text % (b"f", b"\\udc00\\ud800x")),
        raw(path, plain, text % (b"g", b"\\ud83d\\ude00")), raw(path, plain, text % (b"h", b"\xff\xfe")), raw(path, plain, text % (b"i", b"\xc3")), raw(path, plain, text % (b"j", b"\xed\xa0\x80")),
        raw(path, plain, text % (b"k", b"\xf0\x9f\x98\x80")), raw(path, plain, text % (b"l", b"a\tb")), raw(path, plain, text % (b"m", b"\\x41")), raw(path, plain, text % (b"n", b"\\u00zz")),
        raw(path, plain, text % (b"o", b"\\u0000")), raw(path, plain, text.replace(b'"a"', b'"\\ud800"') % (b"p", b"q")), raw(path, plain, text.replace(b'"a"', b'"\xff"') % (b"r", b"s")),
        raw(path, plain, text % (b"\xff", b"s")), raw(path, plain, b'{"apiVersion":null,"kind":null,"metadata":{"name":"t"}}'), raw(path, plain, b'{"metadata":null}'),
        raw(path, "", text % (b"u", b"v")), raw(path, "text/plain", text % (b"w", b"x")), raw(path, "application/json; charset=utf-8", text % (b"y", b"z")),
        step("PUT", path + "/e", headers={"Content-Type": plain}, body_base64=""), step("PUT", path + "/e", headers={"Content-Type": plain}, body_base64=base64.b64encode(b"null").decode()),
        step("PATCH", path + "/e", headers={"Content-Type": MERGE}, body_base64=""), step("PATCH", path + "/e", headers={"Content-Type": MERGE}, body_base64=base64.b64encode(b"null").decode()),
        step("PATCH", path + "/e", headers={"Content-Type": STRATEGIC}, body_base64=base64.b64encode(b"null").decode()),
        step("PATCH", path + "/e", headers={"Content-Type": JSON}, body_base64=base64.b64encode(b"null").decode()),
        step("PATCH", path + "/e", headers={"Content-Type": APPLY}, query="fieldManager=m", body_base64=base64.b64encode(b"null").decode()),
        step("PATCH", path + "/e", headers={"Content-Type": APPLY}, query="fieldManager=m", body_base64=base64.b64encode(one % b"e" + b"---\n" + one % b"f").decode()),
        step("PATCH", path + "/e", headers={"Content-Type": MERGE}, body_base64=base64.b64encode(b'{"data":{"x":"\xff\\ud800"}}').decode()), get(path + "/e")])
    sequence("own-accept", "Media types of answers", [
        post(path, thing("ConfigMap", "c", data={"a": "b"}))] + [
        get(path + "/c", headers={"Accept": accept}) for accept in (
            "application/*", "*/*", "*", "text/*", "text/html", "application/json", "application/yaml;q=0.1", "text/html, application/*;q=0.5", "text/html,*/*;q=0.1", "APPLICATION/JSON",
            "application/json;q=0", "application/json; stream=watch", "application/cbor", "application/cbor, application/json", "", " ", "application/json;pretty=1", ";", ",", "application/")])
    sequence("own-roots", "Paths above the API", [
        get("/healthz"), get("/livez/ping"), get("/readyz/ping"), get("/nothing"), get("//"), get("/apis/nothing"), get("/api/v2")], no_namespace=True)


def identities():
    path = CORE + NS + "/configmaps"
    body = thing("ConfigMap", "c", data={"a": "b"})
    steps = [post(path, body)]
    changes = ({"kind": "Secret"}, {"kind": "Nothing"}, {"kind": None}, {"kind": ""}, {"kind": 7}, {"apiVersion": "v2"}, {"apiVersion": None}, {"apiVersion": "apps/v1"}, {"apiVersion": ""},
               {"apiVersion": "a/b/c"}, {"apiVersion": 7}, {"kind": "Pod", "apiVersion": "v1"}, {"kind": "Deployment", "apiVersion": "apps/v1"}, {"metadata": {"name": "d"}},
               {"metadata": {"namespace": "other"}}, {"metadata": None}, {"metadata": {"name": None}}, {"metadata": {"uid": "x"}}, {"metadata": {"uid": None}}, {"metadata": 7})
    for change in changes:
        steps += [patch(path + "/c", change), patch(path + "/c", change, STRATEGIC),
                  patch(path + "/c", [{"op": "replace" if value is not None else "remove", "path": "/" + key, **({"value": value} if value is not None else {})}
                                      for key, value in change.items()], JSON)]
    sequence("own-identity-patches", "Patches of what an object is", steps + [get(path + "/c")])
    claims = DRA + NS + "/resourceclaims"
    sequence("own-identity-versions", "Patches into another version", [
        post(claims, claim("c")), patch(claims + "/c", {"apiVersion": "resource.k8s.io/v1beta1"}), patch(claims + "/c", {"apiVersion": "resource.k8s.io/v1beta2"}),
        patch(claims + "/c", {"apiVersion": "resource.k8s.io/v1beta2"}, STRATEGIC), patch(claims + "/c", {"apiVersion": "resource.k8s.io/v2"}),
        patch(claims + "/c", [{"op": "replace", "path": "/apiVersion", "value": "resource.k8s.io/v1beta2"}], JSON), patch(claims + "/c", {"kind": "DeviceClass"}),
        patch(claims + "/c", {"kind": "ResourceClaimList"}), get(claims + "/c")])
    sequence("own-apply-identity", "Server-side apply that names a version or uid", [
        apply(path + "/new", thing("ConfigMap", "new", metadata={"resourceVersion": "1"}, data={"a": "b"})), get(path + "/new"),
        apply(path + "/zero", thing("ConfigMap", "zero", metadata={"resourceVersion": "0"}, data={"a": "b"})),
        apply(path + "/text", thing("ConfigMap", "text", metadata={"resourceVersion": "abc"}, data={"a": "b"})), get(path + "/text"),
        apply(path + "/uid", thing("ConfigMap", "uid", metadata={"uid": "11111111-1111-4111-8111-111111111111"}, data={"a": "b"})), get(path + "/uid"),
        apply(path + "/both", thing("ConfigMap", "both", metadata={"uid": "x", "resourceVersion": "5"}, data={"a": "b"})), get(path + "/both"),
        apply(path + "/new", thing("ConfigMap", "new", metadata={"resourceVersion": "1"}, data={"a": "c"})),
        apply(path + "/new", thing("ConfigMap", "new", metadata={"resourceVersion": "abc"}, data={"a": "c"})),
        apply(path + "/new", thing("ConfigMap", "new", metadata={"uid": "11111111-1111-4111-8111-111111111111"}, data={"a": "c"})),
        apply(claims + "/cu", {**claim("cu"), "metadata": {"name": "cu", "uid": "11111111-1111-4111-8111-111111111111"}}),
        apply(claims + "/cr", {**claim("cr"), "metadata": {"name": "cr", "resourceVersion": "7"}}), get(claims + "/cr"),
        apply(path + "/dry", thing("ConfigMap", "dry", metadata={"resourceVersion": "1"}, data={"a": "b"}), query={"dryRun": "All"}),
        apply(path + "/gen", thing("ConfigMap", "gen", metadata={"generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z"}, data={"a": "b"})),
        put(path + "/none", thing("ConfigMap", "none", metadata={"uid": "x"})), post(path, thing("ConfigMap", "posted", metadata={"uid": "x"})),
        put("/apis/coordination.k8s.io/v1" + NS + "/leases/l", thing("Lease", "l", "coordination.k8s.io/v1", metadata={"uid": "11111111-1111-4111-8111-111111111111"}, spec={})),
        put("/apis/coordination.k8s.io/v1" + NS + "/leases/m", thing("Lease", "m", "coordination.k8s.io/v1", metadata={"resourceVersion": "5"}, spec={}))])
    templates = DRA + NS + "/resourceclaimtemplates"

    def template(called, **metadata):
        return thing("ResourceClaimTemplate", called, "resource.k8s.io/v1", spec={"metadata": metadata, "spec": {"devices": {"requests": [request()]}}})

    nothing = {"name": "", "generateName": "", "namespace": "", "uid": "", "resourceVersion": "", "generation": 0, "creationTimestamp": None, "deletionTimestamp": None,
               "deletionGracePeriodSeconds": 0, "finalizers": [], "ownerReferences": [], "selfLink": "", "managedFields": [], "labels": {}, "annotations": {}}
    zero_time = {"creationTimestamp": "0001-01-01T00:00:00Z", "deletionTimestamp": "0001-01-01T00:00:00Z"}
    sequence("own-template-metadata", "Metadata of templates: set, though to nothing", [
        post(templates, template(f"t{number}", **{key: value})) for number, (key, value) in enumerate([*nothing.items(), *zero_time.items()])] + [
        apply(templates + "/a", template("a", ownerReferences=[])), apply(templates + "/b", template("b", finalizers=[])), apply(templates + "/c", template("c", labels={})),
        get(templates + "/t13"), get(templates + "/c"), post(templates, template("patched")), patch(templates + "/patched", {"spec": {"metadata": {"ownerReferences": []}}}),
        patch(templates + "/patched", {"spec": {"metadata": {"ownerReferences": []}}}, STRATEGIC),
        post(CORE + NS + "/pods", thing("Pod", "p", metadata={"ownerReferences": [], "finalizers": []}, spec={"containers": [CONTAINER]})),
        post(APPS + NS + "/deployments", thing("Deployment", "d", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}, "ownerReferences": [], "finalizers": []}, "spec": {"containers": [CONTAINER]}}}))])


def pod_level():
    path = CORE + NS + "/pods"
    counter = iter(range(1000))

    def pod(resources, *containers, **spec):
        return post(path, thing("Pod", f"p{next(counter)}", spec={
            "resources": resources, "containers": [{**CONTAINER, "name": f"c{i}", **({"resources": c} if c is not None else {})} for i, c in enumerate(containers or [None])], **spec}))

    def init(resources, **more):
        return {"name": "i", "image": "x", "resources": resources, **more}

    huge = "hugepages-2Mi"
    sequence("own-pod-level", "Resources of a pod as a whole", [
        pod({"limits": {"cpu": "100", "memory": "1Gi"}}), pod({"limits": {"cpu": "2"}}, {"requests": {"cpu": "500m"}}, {"requests": {"cpu": "250m", "memory": "1Mi"}}),
        pod({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}), pod({"requests": {"cpu": "1"}}), pod({"requests": {"cpu": "1"}}, {"requests": {"memory": "1Mi"}}),
        pod({"limits": {"cpu": "1"}}, {"limits": {"cpu": "500m", "memory": "1Mi"}}), pod({"limits": {"cpu": "1"}}, {"requests": {"cpu": "2"}}), pod({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}),
        pod({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}), pod({"requests": {"cpu": "1"}}, {"requests": {"cpu": "600m"}}, {"requests": {"cpu": "600m"}}),
        pod({"limits": {"cpu": "4"}}, {"requests": {"cpu": "1"}}, initContainers=[init({"requests": {"cpu": "3"}})]),
        pod({"limits": {"cpu": "4"}}, {"requests": {"cpu": "1"}}, initContainers=[init({"requests": {"cpu": "1"}}, restartPolicy="Always")]),
        pod({"limits": {"cpu": "1"}}, None, initContainers=[init({"requests": {"cpu": "3"}})]),
        pod({"limits": {"example.com/gpu": "1"}}), pod({"limits": {"ephemeral-storage": "1Gi"}}), pod({"requests": {"storage": "1Gi"}}), pod({"limits": {"cpu": "-1"}}), pod({"limits": {"Bad Name": "1"}}),
        pod({"limits": {huge: "4Mi"}}), pod({"limits": {huge: "4Mi", "cpu": "1"}}), pod({"limits": {"cpu": "1"}}, {"limits": {huge: "4Mi", "memory": "1Mi"}}),
        pod({"limits": {"cpu": "1", huge: "8Mi"}}, {"limits": {huge: "4Mi", "memory": "1Mi"}}), pod({"limits": {"cpu": "1", huge: "2Mi"}}, {"limits": {huge: "4Mi", "memory": "1Mi"}}),
        pod({"requests": {huge: "4Mi", "cpu": "1"}}), pod({"requests": {"cpu": "1"}}, {"limits": {huge: "4Mi"}}), pod({"requests": {huge: "2Mi", "cpu": "1"}, "limits": {huge: "4Mi"}}),
        pod({"claims": [{"name": "c"}]}, resourceClaims=[{"name": "c", "resourceClaimName": "x"}]), pod({"claims": [{"name": "none"}], "limits": {"cpu": "1"}}),
        pod({}), pod({"limits": {}}), pod({"requests": {}, "limits": {}}, {"requests": {"cpu": "1"}}), pod({"limits": {"cpu": "0"}}), pod({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}),
        pod({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"cpu": "1"}}), pod({"limits": {"cpu": "1"}}, os={"name": "windows"}),
        pod({"limits": {"cpu": "1.5", "memory": "1.5Gi"}}), pod({"limits": {"cpu": "1000m"}}, {"requests": {"cpu": "0.5"}}),
        post(APPS + NS + "/deployments", thing("Deployment", "d", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"resources": {"limits": {"cpu": "1"}}, "containers": [CONTAINER]}}})),
        patch(path + "/p0", {"spec": {"resources": {"limits": {"cpu": "50"}}}}), patch(path + "/p0", {"spec": {"resources": None}}), patch(path + "/p0", {"metadata": {"labels": {"a": "b"}}}),
        get(path + "/p0")])


def selectors():
    path = DRA + "/deviceclasses"
    texts = ("a b c", "1 +", "(", ")", "device.", "a b\nc d", "1 + + 2 )", "'", "device.driver == 'a' device", "&& ||", "[1, 2", "{", "device.attributes['a'", "a ? b", "1..2", "@", "a @ b # c", "\"", "b'x",
             "has(", "x.y.z(1,)", "for", "a in", "!", "a.b.c d e f", "0x", "1u2", "'\\q'", "a\n\n b ~", "\u00e9", "a && && b || || c", "f(,)", "a = b", "if (x) { y }")
    sequence("own-selector-syntax", "Selectors that cannot be parsed", [
        post(path, thing("DeviceClass", f"{{ns}}-{number}", "resource.k8s.io/v1", spec={"selectors": [{"cel": {"expression": text}}]})) for number, text in enumerate(texts)])


times()
numbers()
bodies()
identities()
pod_level()
selectors()
