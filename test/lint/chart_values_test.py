#!/usr/bin/env python3
"""The Helm chart without a cluster: charts/install.yaml is what the chart renders, wrong and contradicting values are refused by name with the way
out, and each mode brings the roles that it needs and no others. With Helm 3 and 4 (scripts/fetch-test-tools); exit status 77 where neither is.
"""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = "charts/dra-controller-manager"
HELMS = [path for path in (os.path.join(ROOT, "build/tools", name) for name in ("helm3", "helm4")) if os.access(path, os.X_OK)]


def run(*arguments, helm=None):
    environment = {**os.environ, "HELM": helm} if helm else None
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def render(helm, *settings, notes=False):
    arguments = [helm, "template", "r", CHART, "--namespace", "ns", "--kube-version", "1.36.0", "--api-versions", "networking.k8s.io/v1/NetworkPolicy"]
    for setting in settings:
        arguments += ["--set-json", setting]
    return run(*arguments, *(["--dry-run=client"] if notes else []))


# Each value and what is said about it: the path of the value, and for contradictions the way out.
WRONG = [
    (['replicas=0'], "replicas"),
    (['replicas="two"'], "replicas"),
    (['claimTemplates="mine"'], "claimTemplates"),
    (['scheduling.mode="both"'], "scheduling"),
    (['scheduling.names=["default-scheduler"]', 'scheduling.mode="bind"'], "names"),
    (['scheduling.names=["Bad Name"]', 'scheduling.mode="bind"'], "names"),
    (['deviceTaintEviction="off"'], "deviceTaintEviction"),
    (['ignoreTaints=["no spaces here"]'], "ignoreTaints"),
    (['featureGates={"DRADeviceTaints":"yes"}'], "DRADeviceTaints"),
    (['logging.verbosity=11'], "verbosity"),
    (['image.digest="latest"'], "digest"),
    (['image.repository=""'], "repository"),
    (['metrics.port=80'], "port"),
    (['uninstall.deadlineSeconds=0'], "deadlineSeconds"),
    (['podLabels={"app.kubernetes.io/name":"x"}'], "podLabels"),
    (['modes="gate"'], "modes"),
    (['policies.actions=[]'], "actions"),
    (['policies.actions=["Warn","Deny"]'], "actions"),
    (['scheduling.mode="bind"'], "scheduling.names is empty: name at least one"),
    (['scheduling.names=["a"]'], "choose scheduling.mode=bind or empty scheduling.names"),
    (['scheduling.mode="observe"', 'claimTemplates="own"'], "choose claimTemplates=observe"),
    (['scheduling.mode="observe"', 'deviceTaintEviction="own"'], "choose deviceTaintEviction=observe"),
    (['scheduling.mode="observe"', 'test.deviceClassName="gpu"'], "empty test.deviceClassName"),
    (['optIn.mode="sometimes"'], "optIn"),
    (['optIn.mode="labels"', 'scheduling.mode="observe"'], "choose optIn.mode=off"),
    (['exclusive.mode="all-claims"'], "choose optIn.mode=all-claims"),
    (['exclusive.mode="taint"'], "exclusive.taintKey is empty"),
    (['exclusive.taintKey="a/b"'], "choose exclusive.mode=taint"),
    (['extraArgs=["--scheduling=bind"]'], "use scheduling.mode"),
    (['extraArgs=["--metrics_port=1"]'], "use metrics.port"),
]


class Chart(unittest.TestCase):
    def test_install_yaml_is_what_the_chart_renders(self):
        with open(os.path.join(ROOT, "charts/install.yaml"), encoding="utf-8") as file:
            shipped = file.read()
        for helm in HELMS:
            status, rendered, errors = run("scripts/render-install", helm=helm)
            self.assertEqual(status, 0, errors)
            self.assertEqual(rendered, shipped, "charts/install.yaml is old; run: HELM=... scripts/render-install > charts/install.yaml")

    def test_wrong_values_are_refused_by_name(self):
        for helm in HELMS:
            for settings, said in WRONG:
                with self.subTest(helm=helm, settings=settings):
                    status, _, errors = render(helm, *settings)
                    self.assertNotEqual(status, 0)
                    self.assertIn(said, errors)

    def test_each_mode_brings_its_roles(self):
        always = {"allocation", "allocation-namespaces", "allocation-volumes", "allocation-workloads", "events", "leader-election", "neighbours"}
        bind = ['scheduling.mode="bind"', 'scheduling.names=["ours"]']
        for helm in HELMS:
            for settings, roles in (([], always | {"lifecycle", "tainteviction"}),
                                    (['claimTemplates="own"'], always | {"lifecycle", "tainteviction", "claimtemplate"}),
                                    (['deviceTaintEviction="own"'], always | {"lifecycle", "tainteviction", "tainteviction-evict"}),
                                    (bind, always | {"lifecycle", "tainteviction", "allocation-bind", "allocation-bind-volumes"}),
                                    (['scheduling.mode="observe"'], always)):
                status, text, errors = render(helm, *settings, 'uninstall.releaseGates=false')
                self.assertEqual(status, 0, errors)
                found = re.findall(r"^kind: (?:Cluster)?Role\nmetadata:\n  name: dra-controller-manager:(\S+)", text, re.MULTILINE)
                self.assertEqual(set(found), roles, settings)
                self.assertEqual(len(found), len(roles))
                writes = re.findall(r'verbs: \[.*"(?:patch|delete|create)".*\]', text)
                if settings == ['scheduling.mode="observe"']:
                    self.assertEqual(len(writes), 2, writes)  # events and the lease
                else:
                    self.assertGreater(len(writes), 5)

    def test_values_reach_the_program(self):
        for helm in HELMS:
            _, text, _ = render(helm, 'image={"repository":"r/x","digest":"sha256:' + "a" * 64 + '"}', 'ignoreTaints=["a/b","c/d"]',
                                'featureGates={"DRADeviceTaints":false,"DRAAdminAccess":true}', 'extraArgs=["--kube-api-qps=5"]')
            for wanted in ('image: "r/x@sha256:' + "a" * 64, "--ignore-taints=a/b,c/d", "--feature-gates=DRAAdminAccess=true,DRADeviceTaints=false",
                           "--kube-api-qps=5", "--leader-elect-resource-namespace=ns"):
                self.assertIn(wanted, text)

    def test_a_server_without_network_policies_gets_none(self):
        for helm in HELMS:
            self.assertIn("kind: NetworkPolicy", render(helm)[1])
            self.assertNotIn("kind: NetworkPolicy", render(helm, "networkPolicy.enabled=false")[1])


if __name__ == "__main__":
    if not HELMS:
        print("skipped: no Helm in build/tools; scripts/fetch-test-tools brings it")
        sys.exit(77)
    unittest.main()
