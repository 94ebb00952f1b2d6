#!/usr/bin/env python3
"""PodDisruptionBudgets and evictions: the same story played on `dra-sandbox up` and on a real control plane ($KUBEBUILDER_ASSETS: kube-apiserver, etcd and the
disruption controller of kube-controller-manager), or compared with what a real one of 1.36.2 answered (budgets.json).

usage: budgets_test.py FOLDER_OF_PROGRAMS [--record]     # --record: write the real server's answers
"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../e2e")]
import api as rest  # noqa: E402
import real_cluster  # noqa: E402
import sandbox  # noqa: E402

ANSWERS = os.path.join(HERE, "budgets.json")
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"


class Story:
    """Plays the steps on one server; `settle`: seconds within which its controller counts again."""

    def __init__(self, api, settle):
        self.api, self.settle, self.seen = api, settle, {}

    def make(self, path, body):
        status, answer = self.api.request("POST", path, body)
        assert status == 201, (status, answer)
        return answer

    def pod(self, name, ready=True, phase="Running", owner=None):
        app = name[0]
        meta = {"name": name, "labels": {"app": app}, **({"ownerReferences": [owner]} if owner else {})}
        self.make(PODS, {"metadata": meta, "spec": {"nodeName": "none", "automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}})
        if phase:
            conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
            self.api.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": phase, "conditions": conditions}}, MERGE)

    def budget(self, name, **spec):
        self.make(BUDGETS, {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": name[0]}}, **spec}})
        time.sleep(self.settle)

    def evict(self, what, pod, dry=False):
        status, answer = self.api.request("POST", f"{PODS}/{pod}/eviction{'?dryRun=All' if dry else ''}",
                                          {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}, "deleteOptions": {"gracePeriodSeconds": 0}})
        self.seen[what] = [status, {key: value for key, value in answer.items() if key != "metadata"}]

    def status(self, what, name):
        status = dict(self.api.get(f"{BUDGETS}/{name}")["status"])
        status["conditions"] = [{key: value for key, value in c.items() if key != "lastTransitionTime"} for c in status.get("conditions", [])]
        if "disruptedPods" in status:
            status["disruptedPods"] = sorted(status["disruptedPods"])
        self.seen[what] = status

    def play(self):
        self.least()
        self.unready()
        self.controllers()
        return self.seen

    def least(self):
        for name in ("a0", "a1", "a2"):
            self.pod(name)
        self.budget("a", minAvailable=2)
        self.status("three of two", "a")
        self.evict("dry run", "a0", dry=True)
        self.status("after a dry run", "a")
        self.evict("the first", "a0")
        time.sleep(self.settle)
        self.status("two of two", "a")
        self.evict("the second later", "a1")
        self.evict("the second, dry run", "a1", dry=True)
        self.budget("a-second", maxUnavailable=1)
        self.evict("two budgets", "a1")
        self.status("bare pods do not count for maxUnavailable", "a-second")
        self.budget("g", minAvailable="50%")
        self.status("no pods", "g")

    def unready(self):
        self.pod("b0", ready=False)
        self.pod("b1")
        self.budget("b", minAvailable=1)
        self.status("one of two ready", "b")
        self.evict("not ready, enough without it", "b0")
        self.pod("c0", ready=False)
        self.budget("c", minAvailable=1)
        self.status("none ready", "c")
        self.evict("not ready, too few", "c0")
        self.pod("d0", ready=False)
        self.budget("d", minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow")
        self.evict("not ready, AlwaysAllow", "d0")
        self.pod("e0", ready=False, phase="Succeeded")
        self.budget("e", minAvailable=1)
        self.evict("a pod that has ended", "e0")
        self.pod("f0", phase=None)
        self.budget("f", minAvailable=1)
        self.evict("a pending pod", "f0")

    def controllers(self):
        template = {"metadata": {"labels": {"app": "h"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        made = self.make("/apis/apps/v1/namespaces/default/replicasets", {
            "metadata": {"name": "h"}, "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "h"}}, "template": template}})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "h", "uid": made["metadata"]["uid"], "controller": True}
        for name in ("h0", "h1", "h2"):
            self.pod(name, owner=owner)
        self.budget("h", maxUnavailable="50%")
        self.budget("h-least", minAvailable="30%")
        self.status("half of four may be unavailable", "h")
        self.status("30% of four", "h-least")
        job = self.make("/apis/batch/v1/namespaces/default/jobs", {
            "metadata": {"name": "k"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})
        self.pod("k0", owner={"apiVersion": "batch/v1", "kind": "Job", "name": "k", "uid": job["metadata"]["uid"], "controller": True})
        self.budget("k", maxUnavailable=1)
        time.sleep(self.settle)
        self.status("a Job has no scale", "k")
        self.evict("a budget that cannot be counted", "k0")
        self.pod("l0")
        self.budget("l", minAvailable=0)
        self.status("none needed", "l")


def real_answers():
    with real_cluster.RealCluster() as cluster:
        api, kubeconfig = cluster.api("admin"), cluster.kubeconfig("admin")
        cluster.start("kube-controller-manager", f"--kubeconfig={kubeconfig}", "--controllers=disruption-controller,serviceaccount-controller", "--secure-port=0",
                      "--leader-elect=false", f"--service-account-private-key-file={cluster.folder}/sa.key")
        cluster.wait_for(lambda: api.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200, 90, "the service account")
        return Story(api, 2.0).play()


def own_answers(programs):
    with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--housekeeping"], command="apiserver", ready_line="") as box:
        return Story(rest.Api(box.kubeconfig), 0.3).play()


def main():
    whole = real_cluster.RealCluster.available(whole=True)
    if "--record" in sys.argv:
        assert whole, "--record needs $KUBEBUILDER_ASSETS"
        with open(ANSWERS, "w", encoding="utf-8") as out:
            json.dump(real_answers(), out, indent=1, sort_keys=True)
            out.write("\n")
        return 0
    with open(ANSWERS, encoding="utf-8") as file:
        expected = real_answers() if whole else json.load(file)
    found = own_answers(sys.argv[1])
    wrong = [name for name in expected if found.get(name) != expected[name]]
    for name in wrong:
        print(f"{name}:\n  real  {json.dumps(expected[name], sort_keys=True)}\n  ours  {json.dumps(found.get(name), sort_keys=True)}")
    print(f"{len(expected) - len(wrong)} passed, {len(wrong)} failed ({'a real server' if whole else 'recorded answers'})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
