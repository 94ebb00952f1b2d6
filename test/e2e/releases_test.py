#!/usr/bin/env python3
"""The sandbox as each release that it serves (--kubernetes-version): its manager allocates with the fields of 1.37 and reads its PodGroups; and what 1.37 and
1.38 no longer serve is gone.

Usage: releases_test.py FOLDER_OF_PROGRAMS
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
GATES = ("DRADerivedAttributes=true,DRADeviceCompatibilityGroups=true,DRAOptionalNodeOperations=true,CompositePodGroup=true,"
         "DRAResourcePoolStatus=true")


def check(condition, what, answer=""):
    if not condition:
        raise SystemExit(f"{what}: {answer}")


def running(api, names):
    return {p["metadata"]["name"] for p in api.items(PODS) if p["status"].get("phase") == "Running"} >= set(names)


def derived_claim(name, constraint):
    """Two devices whose derived attributes are equal: `constraint` wants them equal, or different."""
    request = {"deviceClassName": "gpu", "count": 2, "derivedAttributes": [{"name": "derived/driver", "expression": "device.driver"}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": request}], "constraints": [{constraint: "derived/driver"}]}}}


def pod_with(claim):
    pod = rest.pod(claim, "one")
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
    return pod


def group(version, name):
    policy = {"gang": {"minCount": 2}}
    return {"apiVersion": "scheduling.k8s.io/" + version, "kind": "PodGroup", "metadata": {"name": name}, "spec": {"schedulingPolicy": policy}}


def skipping_slices(api):
    for slice_ in api.items(rest.RESOURCE + "/resourceslices"):
        slice_["spec"]["skipNodeOperations"] = ["*"]
        status, answer = api.request("PUT", f"{rest.RESOURCE}/resourceslices/{slice_['metadata']['name']}", slice_)
        check(status == 200, "skipNodeOperations", answer)


def serves(api, path):
    return api.request("GET", path)[0] == 200


def run(program, version):
    newer = version != "1.36"
    arguments = [f"--kubernetes-version={version}"] + ([f"--feature-gates={GATES}"] if newer else [])
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as fleet:
        fleet.write(rest.fleet(2, 4))
        fleet.flush()
        with sandbox.Sandbox(program, [*arguments, "--fleet", fleet.name]) as box:
            examine(box, version, newer)
    print(f"{version}: passed")


def examine(box, version, newer):
    api = rest.Api(box.kubeconfig)
    says = api.request("GET", "/version")[1]["gitVersion"]
    check(says.startswith("v" + version + "."), "GET /version", says)
    check(serves(api, "/apis/resource.k8s.io/v1beta1/resourceclaims") == (version != "1.38"), version + ": resource.k8s.io/v1beta1")
    check(serves(api, rest.RESOURCE + "/devicetaintrules") == newer, version + ": DeviceTaintRule v1")
    check(serves(api, "/apis/scheduling.k8s.io/v1alpha2/podgroups") != newer, version + ": PodGroup v1alpha2")
    check(serves(api, "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups") == newer, version + ": CompositePodGroup")
    check(serves(api, "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests") == newer, version + ": ResourcePoolStatusRequest")
    groups = "v1beta1" if newer else "v1alpha2"
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one", "gpu"))
    if newer:
        skipping_slices(api)
        api.create(CLAIMS, derived_claim("different", "distinctAttribute"))
        api.create(PODS, pod_with("different"))
        api.create(CLAIMS, derived_claim("equal", "matchAttribute"))
        api.create(PODS, pod_with("equal"))
        box.wait_for(lambda: running(api, ["equal"]), 30, version + ": the pod with a derived attribute")
        claim = api.get(CLAIMS + "/equal")
        check(claim["status"]["allocation"]["devices"]["results"][0].get("skipNodeOperations") == ["*"], version + ": skipNodeOperations of the result", claim)
        question = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "ResourcePoolStatusRequest", "metadata": {"name": "q"}, "spec": {"driver": "d.example.com"}}
        api.create("/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests", question)
    api.create(f"/apis/scheduling.k8s.io/{groups}/namespaces/default/podgroups", group(groups, "two"))
    for name in ("first", "second"):
        check(not running(api, ["first"]), "one of two members runs")
        pod = rest.pod(name, "one")
        pod["spec"]["schedulingGroup"] = {"podGroupName": "two"}
        api.create(PODS, pod)
    box.wait_for(lambda: running(api, ["first", "second"]), 30, version + ": both members of the group")
    if newer:
        check(not running(api, ["different"]), version + ": no two devices differ in the derived attribute")
        status, answer = api.request("GET", "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests/q")
        check(status == 200 and "status" not in answer, version + ": the manager answers no request for a pool's status", answer)


def demo(programs, version):
    """The demo's story against this release, without comparing its text: that of 1.36 is recorded."""
    answer = subprocess.run([sys.executable, os.path.join(sandbox.ROOT, "scripts/demo"), programs, f"--kubernetes-version={version}"],
                            capture_output=True, text=True, timeout=300, check=False)
    check(answer.returncode == 0, f"scripts/demo of {version}", answer.stdout[-2000:] + answer.stderr[-2000:])


def main():
    program = os.path.join(sys.argv[1], "dra-sandbox")
    for version in ("1.36", "1.37", "1.38"):
        run(program, version)
    if not sandbox.find_kubectls():
        print("the demo is skipped: no kubectl on PATH or in build/tools")
    else:
        for version in ("1.37", "1.38"):
            demo(sys.argv[1], version)
    print("passed")


if __name__ == "__main__":
    main()
