#!/usr/bin/env python3
"""Between the proof and the start of pods, on a real control plane ($KUBEBUILDER_ASSETS: etcd, kube-apiserver, kube-controller-manager, kube-scheduler;
skipped without them).

An admission policy refuses Bindings (or the lifting of gates) while the devices of all pods are proven; then nodes change, and the policy goes.

  nodes   bind mode; for each kind of change a single pod and a gang of three: cordoned, tainted, deleted, relabelled, full, devices renamed.
          All are bound in time, none where it may not run, no device twice, every member bound once
  racks   bind and gate mode: a gang that must be in one rack; one of the rack's nodes moves to another rack. It starts in one rack

Usage: real_leaving_test.py FOLDER_OF_PROGRAMS [--seconds N] [--only nodes|racks]
"""
import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import real_cluster  # noqa: E402

CORE = "/api/v1"
PODS = CORE + "/namespaces/default/pods"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MERGE = "application/merge-patch+json"
GATE = "dra-controller-manager/allocation"
PROVEN, LEAVING = "dra-controller-manager/proven", "dra-controller-manager/leaving"
CHANGES = ("cordoned", "tainted", "deleted", "relabelled", "full", "renamed")
DEVICES = 2  # of each node


def slice_of(node, prefix="gpu", generation=1):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node},
            "spec": {"driver": "gpu.example.com", "nodeName": node, "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
                     "devices": [{"name": f"{prefix}-{d}"} for d in range(DEVICES)]}}


class Run:
    controllers = "serviceaccount-controller,resourceclaim-controller"  # of kube-controller-manager

    def __init__(self, options):
        self.options, self.manager = options, None
        self.cluster = real_cluster.RealCluster()

    def __enter__(self):
        self.cluster.__enter__()
        self.api, self.kubeconfig = self.cluster.api("admin"), self.cluster.kubeconfig("admin")
        self.cluster.start_controllers(self.controllers)
        self.api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
        self.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
        return self

    def __exit__(self, *failure):
        try:
            if failure[0] and self.manager:
                print(self.manager.log()[-6000:])
            if self.manager:
                self.manager.stop()
        finally:
            self.cluster.__exit__(*failure)

    def add_node(self, name, labels):
        room = {"cpu": "8", "memory": "64Gi", "pods": "110"}
        self.api.create(CORE + "/nodes", {"apiVersion": "v1", "kind": "Node", "spec": {},
                                          "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
                                          "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}})
        self.api.create(rest.RESOURCE + "/resourceslices", slice_of(name))

    def manage(self, *arguments):
        self.manager = managers.Manager(os.path.join(self.options.programs, "dra-controller-manager"), self.kubeconfig,
                                        os.path.join(self.cluster.folder, "manager.log"), ["--leader-elect=false", "-v=4", *arguments], plain=True)
        self.manager.start()

    def patch(self, path, body):
        status, answer = self.api.request("PATCH", path, body, MERGE)
        assert status == 200, (path, status, answer.get("message"))

    def hold(self, resource, operation, condition="true"):
        """Refuses these requests until release(); returns when the policy is in force."""
        rule = {"apiGroups": [""], "apiVersions": ["*"], "operations": [operation], "resources": [resource]}
        self.api.create(ADMISSION + "/validatingadmissionpolicies", {
            "metadata": {"name": "hold"}, "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": f"!({condition})", "message": "held"}]}})
        self.api.create(ADMISSION + "/validatingadmissionpolicybindings", {
            "metadata": {"name": "hold"}, "spec": {"policyName": "hold", "validationActions": ["Deny"]}})

    def held(self, method, path, body, content_type="application/json"):
        return self.api.request(method, path + "?dryRun=All", body, content_type)[0] == 422

    def release(self):
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            assert self.api.request("DELETE", f"{ADMISSION}/{kind}/hold")[0] == 200

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.api.items(PODS)}

    def claims(self):
        """By the pod that owns the claim."""
        return {c["metadata"]["ownerReferences"][0]["name"]: c for c in self.api.items(CLAIMS) if c["metadata"].get("ownerReferences")}

    def all_proven(self, names):
        claims = self.claims()
        return all(PROVEN in (claims.get(n, {}).get("metadata", {}).get("annotations") or {}) and rest.devices_of(claims[n]) for n in names)

    def no_device_twice(self):
        devices = [d for c in self.api.items(CLAIMS) for d in rest.devices_of(c)]
        assert len(devices) == len(set(devices)), sorted(devices)

    def bindings_refused(self):
        """How many Bindings came too late, or a second time. (The policy refuses the others.)"""
        return sum(1 for line in self.manager.log().splitlines() if '"Write failed"' in line and 'purpose="bind"' in line and "held" not in line)


def gang_member(name, group, size, change):
    pod = rest.pod(name, "one")
    pod["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": group, "uid": f"{group}-uid", "controller": True}]
    pod["metadata"]["annotations"] = {"dra-controller-manager/group": str(size)}
    change(pod)
    return pod


def change_node(run, kind, node):
    path = f"{CORE}/nodes/{node}"
    if kind == "cordoned":
        run.patch(path, {"spec": {"unschedulable": True}})
    elif kind == "tainted":
        run.patch(path, {"spec": {"taints": [{"key": "example.com/broken", "effect": "NoSchedule"}]}})
    elif kind == "deleted":
        assert run.api.request("DELETE", path)[0] == 200
    elif kind == "relabelled":
        run.patch(path, {"metadata": {"labels": {"pool": "elsewhere"}}})
    elif kind == "full":
        filler = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"filler-{node}"},
                  "spec": {"nodeName": node, "containers": [{"name": "c", "image": "example.test/none", "resources": {"requests": {"cpu": "8"}}}]}}
        run.api.create(PODS, filler)
    else:
        slice_ = run.api.get(rest.RESOURCE + f"/resourceslices/{node}")
        slice_["spec"].update(slice_of(node, "renamed", 2)["spec"])
        assert run.api.request("PUT", rest.RESOURCE + f"/resourceslices/{node}", slice_)[0] == 200


def nodes(options):
    """Each kind of change has four nodes of its own: a single pod and a gang of three use two or more of them."""
    with Run(options) as run:
        api, wait = run.api, run.cluster.wait_for
        for kind in CHANGES:
            for i in range(4):
                run.add_node(f"{kind}-{i}", {"pool": kind})
        run.hold("pods/binding", "CREATE")
        api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                          "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "example.test/none"}]}})
        probe = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "probe"}, "target": {"kind": "Node", "name": "cordoned-0"}}
        wait(lambda: run.held("POST", PODS + "/probe/binding", probe), 60, "the policy")
        run.manage("--scheduling=bind", "--scheduler-names=ours")

        def ours(kind):
            def change(pod):
                pod["spec"].update(schedulerName="ours", nodeSelector={"pool": kind})
                pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
            return change

        names = {}
        for kind in CHANGES:
            single = rest.pod(f"{kind}-single", "one")
            ours(kind)(single)
            pods = [single] + [gang_member(f"{kind}-gang-{i}", f"{kind}-gang", 3, ours(kind)) for i in range(3)]
            names[kind] = [p["metadata"]["name"] for p in pods]
            api.many([lambda p=p: api.create(PODS, p) for p in pods])
        everybody = [n for pods in names.values() for n in pods]
        wait(lambda: run.all_proven(everybody), 120, "all proofs")
        claims = run.claims()
        lost = {}
        for kind in CHANGES:
            # The node of the single pod, and that of the last member of the gang: some members stay.
            node_of = {n: rest.devices_of(claims[n])[0][1] for n in names[kind]}
            lost[kind] = {node_of[f"{kind}-single"], node_of[f"{kind}-gang-2"]}
        begin = time.monotonic()
        for kind in CHANGES:
            for node in sorted(lost[kind]):
                change_node(run, kind, node)
        run.release()
        changed = time.monotonic()

        def unbound():
            pods = run.pods()
            return [n for n in everybody if not pods[n]["spec"].get("nodeName")]

        partly, longest = {}, 0.0
        while unbound() and time.monotonic() < changed + options.seconds:
            pods, now = run.pods(), time.monotonic()
            for kind in CHANGES:
                bound = sum(1 for i in range(3) if pods[f"{kind}-gang-{i}"]["spec"].get("nodeName"))
                if 0 < bound < 3:
                    longest = max(longest, now - partly.setdefault(kind, now))
            time.sleep(0.05)
        took = time.monotonic() - changed
        assert not unbound(), f"after {took:.1f} s: {unbound()}"
        pods, claims = run.pods(), run.claims()
        for kind in CHANGES:
            for name in names[kind]:
                node = pods[name]["spec"]["nodeName"]
                assert rest.devices_of(claims[name])[0][1] == node, (name, node, claims[name]["status"])
                assert any(r["uid"] == pods[name]["metadata"]["uid"] for r in claims[name]["status"]["reservedFor"]), name
                # kube-scheduler, too, binds pods whose devices were renamed after the allocation.
                assert kind == "renamed" or node not in lost[kind], (name, node)
        run.no_device_twice()
        left = sum(1 for p in pods.values() if LEAVING in (p["metadata"].get("annotations") or {}))
        assert left > 0
        again = run.bindings_refused()
        print(f"nodes: {len(everybody)} pods bound {took:.1f} s after {len(CHANGES)} kinds of changes (which took {changed - begin:.1f} s); {left} pods had left "
              f"their devices; a gang partly bound for at most {longest:.1f} s; {again} Bindings came too late", flush=True)
        assert longest <= 2.0, longest
        assert again <= len(everybody) // 10, again


def racks(options, mode):
    with Run(options) as run:
        api, wait = run.api, run.cluster.wait_for
        for rack in "ab":
            for i in range(2):
                run.add_node(f"{rack}-{i}", {"rack": rack})
        gated = mode == "gate"
        if gated:
            lifted = "oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0"
            run.hold("pods", "UPDATE", lifted)
            api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                              "spec": {"schedulingGates": [{"name": "example.com/probe"}], "containers": [{"name": "c", "image": "example.test/none"}]}})
            wait(lambda: run.held("PATCH", PODS + "/probe", {"spec": {"schedulingGates": None}}, MERGE), 60, "the policy")
            run.cluster.start("kube-scheduler", f"--kubeconfig={run.kubeconfig}", "--secure-port=0", "--leader-elect=false")
            run.manage("--scheduling=gate")
        else:
            run.hold("pods/binding", "CREATE")
            api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                              "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "example.test/none"}]}})
            probe = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "probe"}, "target": {"kind": "Node", "name": "a-0"}}
            wait(lambda: run.held("POST", PODS + "/probe/binding", probe), 60, "the policy")
            run.manage("--scheduling=bind", "--scheduler-names=ours")

        def change(pod):
            pod["metadata"]["annotations"]["dra-controller-manager/topology-required"] = "rack"
            pod["spec"].update({"schedulingGates": [{"name": GATE}]} if gated else {"schedulerName": "ours"})

        names = [f"m-{i}" for i in range(4)]
        api.many([lambda n=n: api.create(PODS, gang_member(n, "gang", 4, change)) for n in names])
        wait(lambda: run.all_proven(names), 120, "all proofs")
        claims = run.claims()
        used = sorted({rest.devices_of(claims[n])[0][1] for n in names})
        rack = used[0][0]
        assert [n[0] for n in used] == [rack, rack], used
        other = "b" if rack == "a" else "a"
        run.patch(f"{CORE}/nodes/{used[1]}", {"metadata": {"labels": {"rack": other}}})
        run.release()
        begin = time.monotonic()
        wait(lambda: all(p["spec"].get("nodeName") for n, p in run.pods().items() if n in names), options.seconds, "the gang")
        pods = run.pods()
        labels = {n["metadata"]["name"]: n["metadata"]["labels"]["rack"] for n in api.items(CORE + "/nodes")}
        where = [labels[pods[n]["spec"]["nodeName"]] for n in names]
        assert len(set(where)) == 1, where
        run.no_device_twice()
        print(f"racks, {mode} mode: bound in racks {where}, {time.monotonic() - begin:.1f} s after one of two nodes had moved", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", choices=("nodes", "racks"))
    options = parser.parse_args()
    if not real_cluster.RealCluster.available(whole=True):
        print("skipped: KUBEBUILDER_ASSETS names no folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        sys.exit(77)
    if options.only != "racks":
        nodes(options)
    if options.only != "nodes":
        racks(options, "bind")
        racks(options, "gate")
    print("ok")


if __name__ == "__main__":
    main()
