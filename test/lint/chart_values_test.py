#!/usr/bin/env python3
"""The Helm chart without a cluster: charts/install.yaml is what the chart renders, wrong and contradicting values are refused by name, with the
remedy, and each mode has exactly the roles that it needs. With Helm 3 and 4 (scripts/fetch-test-tools); exit status 77 without either.
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


POLICIES = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
MUTATING = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
CLASSES = "resource.k8s.io/v1/DeviceClass"
BIND = ['scheduling.mode="bind"', 'scheduling.names=["ours"]']
PLAIN = ['metrics.securePort=0', 'metrics.authentication="secure"']
TAINT = ['exclusive.mode="taint"', 'exclusive.taintKey="example.com/ours"']


def render(helm, *settings, served=()):
    """`served`: kinds of the server, in addition to those that every Helm assumes; none: no server was asked."""
    arguments = [helm, "template", "r", CHART, "--namespace", "ns"]
    for kind in served:
        arguments += ["--api-versions", kind]
    for setting in settings:
        arguments += ["--set-json", setting]
    return run(*arguments)


def objects(text):
    """The rendered objects, as {(kind, name): text}."""
    found = {}
    for document in re.split(r"^---$", text, flags=re.MULTILINE):
        if (kind := re.search(r"^kind: (\S+)", document, re.MULTILINE)) and (name := re.search(r"^  name: (\S+)", document, re.MULTILINE)):
            found[kind.group(1), name.group(1)] = document
    return found


def role_conditions():
    """The roles of the chart: {name: [(path of a value, what it must be one of)]}."""
    found, name, key = {}, None, None
    with open(os.path.join(ROOT, CHART, "files/roles.yaml"), encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"- name: (\S+)$", line):
                name, key = match.group(1), None
                found[name] = []
            elif match := re.match(r"  (\w+):", line):
                key = match.group(1)
            elif key == "when" and (match := re.match(r"    - \{path: ([\w.]+), in: \[(.*)\]\}$", line)):
                found[name].append((match.group(1), [word.strip('" ') for word in match.group(2).split(",")]))
    return found


# Each value and the words of its error: the path of the value, and for contradictions the remedy.
WRONG = [
    (['replicas=0'], "replicas"),
    (['replicas="two"'], "replicas"),
    (['claimTemplates="mine"'], "claimTemplates"),
    (['scheduling.mode="both"'], "scheduling"),
    (['scheduling.names=["default-scheduler"]', 'scheduling.mode="bind"'], "names"),
    (['scheduling.names=["Bad Name"]', 'scheduling.mode="bind"'], "names"),
    (['deviceTaintEviction="off"'], "deviceTaintEviction"),
    (['recreatePinnedPods="yess"'], "recreatePinnedPods"),
    (['preemption="yess"'], "preemption"),
    (['defragment="yess"'], "defragment"),
    (['defragment="on"'], "choose defragment=advice"),
    (['defragment="advice"', 'scheduling.mode="observe"'], "choose defragment=off"),
    (['recoverFailedPrepares="yess"'], "recoverFailedPrepares"),
    (['ignoreTaints=["no spaces here"]'], "ignoreTaints"),
    (['featureGates={"DRADeviceTaints":"yes"}'], "DRADeviceTaints"),
    (['ignoreUnknownFields=["spec.devices.newField"]'], "ignoreUnknownFields"),
    (['extraArgs=["--ignore-unknown-fields=resourceslices.spec.a"]'], "use ignoreUnknownFields"),
    (['identities.own=["serial"]'], "identities"),
    (['identities.exclusive=["gpu.example.com=gpu"]'], "exclusive"),
    (['devicePlugin.use={"gpu.nvidia.com":"both"}'], "devicePlugin"),
    (['devicePlugin.resources={"gpu.nvidia.com":["gpu"]}'], "resources"),
    (['extraArgs=["--device-plugin=gpu.nvidia.com=dra"]'], "use devicePlugin.use"),
    (['sharedDevices.requests={"gpu.nvidia.com":"sometimes"}'], "sharedDevices"),
    (['sharedDevices.parameters={"gpu.nvidia.com":"same"}'], "parameters"),
    (['extraArgs=["--shared-device-requests=gpu.nvidia.com=never"]'], "use sharedDevices.requests"),
    (['logging.verbosity=11'], "verbosity"),
    (['image.digest="latest"'], "digest"),
    (['image.repository=""'], "repository"),
    (['resources.requests.cpu="foo"'], "cpu"),
    (['extraArgs=["--{foo}"]'], "extraArgs"),
    (['extraArgs=["--foo"]'], "extraArgs has --foo, which is not a flag"),
    (['commonLabels={"app.kubernetes.io/instance":"x"}'], "commonLabels"),
    (['volumes=[{"name":"tls","emptyDir":{}}]'], "volumes"),
    (['podDisruptionBudget.minAvailable="half"'], "minAvailable"),
    (['revisionHistoryLimit=0'], "revisionHistoryLimit"),
    (['strategy.type="Sideways"'], "strategy"),
    (['test.namespace="mine"', 'optIn.mode="labels"'], "test.deviceClassName is empty"),
    (['test.namespace="mine"', 'test.deviceClassName="gpu"'], "choose optIn.mode labels or all-claims"),
    (['test.namespace="ns"', 'test.deviceClassName="gpu"', 'optIn.mode="labels"'], "test.namespace is ns, which is never opted in"),
    (['metrics.port=80'], "port"),
    (['uninstall.deadlineSeconds=0'], "deadlineSeconds"),
    (['podLabels={"app.kubernetes.io/name":"x"}'], "podLabels"),
    (['modes="gate"'], "modes"),
    (['policies.actions=[]'], "actions"),
    (['policies.actions=["Warn","Deny"]'], "actions"),
    (['scheduling.mode="bind"'], "scheduling.names is empty: name at least one"),
    (['scheduling.names=["a"]'], "choose scheduling.mode=bind or empty scheduling.names"),
    (['preemption="on"'], "choose preemption=off"),
    (['scheduling.mode="observe"', 'claimTemplates="own"'], "choose claimTemplates=observe"),
    (['scheduling.mode="observe"', 'deviceTaintEviction="own"'], "choose deviceTaintEviction=observe"),
    (['scheduling.mode="observe"', 'recoverFailedPrepares="on"'], "choose recoverFailedPrepares=off"),
    (['scheduling.mode="observe"', 'test.deviceClassName="gpu"'], "empty test.deviceClassName"),
    (['optIn.mode="sometimes"'], "optIn"),
    (['optIn.mode="labels"', 'scheduling.mode="observe"'], "choose optIn.mode=off"),
    (['exclusive.mode="all-claims"'], "choose optIn.mode=all-claims"),
    (['exclusive.mode="taint"'], "exclusive.taintKey is empty"),
    (['exclusive.taintKey="a/b"'], "choose exclusive.mode=taint"),
    (['extraArgs=["--scheduling=bind"]'], "use scheduling.mode"),
    (['extraArgs=["--metrics_port=1"]'], "use metrics.port"),
    (['extraArgs=["--secure-port=8443"]'], "use metrics.securePort"),
    (['extraArgs=["--metrics-authentication=always"]'], "use metrics.authentication"),
    (['metrics.securePort=443'], "securePort"),
    (['metrics.securePort=8080'], "metrics.securePort and metrics.port are both 8080"),
    (['metrics.securePort=0'], "metrics.securePort is 0"),
    ([*PLAIN, 'metrics.tlsSecretName="x"'], "metrics.tlsSecretName is set"),
    (['optIn.excludedNamespaces=["a"]'], "choose optIn.mode labels or all-claims"),
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

    def test_every_flag_is_taken_or_allowed(self):
        with open(os.path.join(ROOT, "docs/user/flags.md"), encoding="utf-8") as page:
            flags = re.findall(r"^\| `--([a-z0-9-]+)`", page.read(), re.MULTILINE)
        self.assertGreater(len(flags), 20)
        for helm in HELMS:
            taken = []
            for flag in flags:
                status, text, errors = render(helm, f'extraArgs=["--{flag}=1"]')
                if status:
                    self.assertIn(f"the chart sets --{flag} itself", errors)
                    taken.append(flag)
                else:
                    self.assertIn(f"- --{flag}=1", text)
            self.assertIn("scheduling", taken)
            self.assertNotIn("kube-api-qps", taken)

    def test_each_mode_brings_its_roles(self):
        """Those whose conditions in files/roles.yaml hold. That file is made by the program (test chart_roles)."""
        defaults = {"scheduling.mode": "gate", "claimTemplates": "observe", "deviceTaintEviction": "observe", "recreatePinnedPods": "off", "preemption": "off", "defragment": "off", "usage": "on"}
        defaults = {"scheduling.mode": "gate", "claimTemplates": "observe", "deviceTaintEviction": "observe", "recreatePinnedPods": "off", "preemption": "off", "defragment": "off", "recoverFailedPrepares": "off", "usage": "on"}
        for helm in HELMS:
            for settings, changed in (([], {}),
                                      (['claimTemplates="own"'], {"claimTemplates": "own"}),
                                      (['deviceTaintEviction="own"'], {"deviceTaintEviction": "own"}),
                                      (['recreatePinnedPods="on"'], {"recreatePinnedPods": "on"}),
                                      (['recreatePinnedPods=true'], {"recreatePinnedPods": "on"}),
                                      (['recoverFailedPrepares="on"'], {"recoverFailedPrepares": "on"}),
                                      (['recreatePinnedPods=false'], {}),
                                      (BIND, {"scheduling.mode": "bind"}),
                                      ([*BIND, 'preemption="on"'], {"scheduling.mode": "bind", "preemption": "on"}),
                                      (['defragment="advice"'], {"defragment": "advice"}),
                                      ([*BIND, 'defragment="on"'], {"scheduling.mode": "bind", "defragment": "on"}),
                                      ([*BIND, 'defragment=true'], {"scheduling.mode": "bind", "defragment": "on"}),
                                      (['scheduling.mode="observe"'], {"scheduling.mode": "observe"})):
                values = {**defaults, **changed}
                roles = {name for name, conditions in role_conditions().items() if all(values[path] in allowed for path, allowed in conditions)}
                self.assertEqual("allocation-bind" in roles, settings[:len(BIND)] == BIND)
                self.assertEqual("preemption" in roles, 'preemption="on"' in settings)
                self.assertEqual("defragment" in roles, any(setting.startswith("defragment") for setting in settings))
                self.assertEqual("defragment-on" in roles, changed.get("defragment") == "on")
                self.assertEqual("claimtemplate" in roles, settings == ['claimTemplates="own"'])
                status, text, errors = render(helm, *settings, 'uninstall.releaseGates=false', 'policies.enabled=false')
                self.assertEqual(status, 0, errors)
                found = re.findall(r"^kind: (?:Cluster)?Role\nmetadata:\n  name: dra-controller-manager:(\S+)", text, re.MULTILINE)
                self.assertEqual(set(found), roles | {"metrics-reader", "viewer"}, settings)
                self.assertEqual(len(found), len(roles) + 2)
                writes = re.findall(r'verbs: \[.*"(?:patch|delete|create)".*\]', text)
                if settings == ['scheduling.mode="observe"']:
                    self.assertEqual(len(writes), 2, writes)  # events and the lease
                else:
                    self.assertGreater(len(writes), 5)

    def test_values_reach_the_program(self):
        for helm in HELMS:
            _, text, _ = render(helm, 'image={"repository":"r/x","digest":"sha256:' + "a" * 64 + '"}', 'ignoreTaints=["a/b","c/d"]',
                                'featureGates={"DRADeviceTaints":false,"DRAAdminAccess":true}', 'extraArgs=["--kube-api-qps=5"]',
                                'ignoreUnknownFields=["resourceslices.spec.a","podgroups.spec.b"]', 'identities.own=["a.com/serial=a","b.com/serial=a"]',
                                'identities.exclusive=["a.com=gpu+vfio"]', 'devicePlugin.use={"a.com":"dra"}', 'devicePlugin.resources={"a.com":["a.com/gpu","a.com/x"]}',
                                'sharedDevices.requests={"a.com":"never"}', 'sharedDevices.parameters={"a.com":"equal"}')
            for wanted in ('image: "r/x@sha256:' + "a" * 64, "--ignore-taints=a/b,c/d", "--feature-gates=DRAAdminAccess=true,DRADeviceTaints=false",
                           "--ignore-unknown-fields=resourceslices.spec.a,podgroups.spec.b", "--identity=a.com/serial=a", "--identity=b.com/serial=a",
                           "--identity-exclusive=a.com=gpu+vfio", "--device-plugin=a.com=dra", "--device-plugin-resources=a.com=a.com/gpu,a.com/x",
                           "--shared-device-requests=a.com=never", "--shared-device-parameters=a.com=equal", "--kube-api-qps=5", "--leader-elect-resource-namespace=ns"):
                self.assertIn(wanted, text)

    def test_annotations_of_identities_count_where_users_cannot_write_them(self):
        for helm in HELMS:
            for settings, wanted in (([], False), (['policies.actions=["Deny"]'], True), (['policies.actions=["Audit","Deny"]'], True),
                                     (['policies.enabled=false', 'policies.actions=["Deny"]'], False)):
                status, text, errors = render(helm, *settings)
                self.assertEqual(status, 0, errors)
                self.assertEqual("--identity-annotations=on" in text, wanted, settings)

    def test_on_and_true_are_one_word(self):
        """YAML reads on and off without quotes as true and false: flag, roles and policy must not differ."""
        for helm in HELMS:
            for value in ("on", "off"):
                texts = [render(helm, f"recreatePinnedPods={word}", served=(POLICIES,))[1] for word in (f'"{value}"', "true" if value == "on" else "false")]
                self.assertEqual(texts[0], texts[1])
                self.assertEqual("--recreate-pinned-pods=on" in texts[0], value == "on")
                self.assertEqual("CREATE pods/eviction" in texts[0], value == "on")

    def rendered(self, helm, *settings, served=()):
        status, text, errors = render(helm, *settings, served=served)
        self.assertEqual(status, 0, errors)
        return objects(text)

    def test_the_policy_on_the_manager_allows_what_its_roles_grant(self):
        """Admission and RBAC are two lists of the same writes of pods, claims, volumes, taint rules and events: what no role grants, the policy `self` refuses too."""
        verbs = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}
        for helm in HELMS:
            for settings in ([], ['uninstall.releaseGates=false'], ['scheduling.mode="observe"'], ['claimTemplates="own"'], ['deviceTaintEviction="own"'], BIND,
                             [*BIND, 'preemption="on"'], ['recoverFailedPrepares="on"'],
                             [*BIND, 'recreatePinnedPods="on"', 'preemption=true', 'claimTemplates="own"', 'deviceTaintEviction="own"']):
                made = self.rendered(helm, *settings, served=(POLICIES, CLASSES))
                text = made["ValidatingAdmissionPolicy", "dra-controller-manager.self"]
                known = set(re.findall(r"'([A-Z]+ [a-z/]+)'", re.search(r"validations:.*?variables\.what in \[(.*?)\]", text, re.DOTALL).group(1)))
                granted = set()
                for (kind, _), role in made.items():
                    if kind not in ("ClusterRole", "Role"):
                        continue
                    for resources, allowed in re.findall(r'resources: \[(.*?)\]\n\s*verbs: \[(.*?)\]', role):
                        granted |= {f"{verbs[verb]} {resource}" for resource in re.findall(r'"([^"]+)"', resources) for verb in re.findall(r'"(\w+)"', allowed)
                                    if verb in verbs and re.fullmatch(r"(pods|persistentvolumes|persistentvolumeclaims)(/.*)?|(resourceclaims|devicetaintrules)(/status)?|events",
                                                                     resource)}
                self.assertGreater(len(granted), -1 if settings == ['scheduling.mode="observe"'] else 3, "the test no longer reads the roles")
                self.assertEqual(granted, known, settings)

    def test_tenants_may_write_what_the_table_of_annotations_lists(self):
        """files/annotations.yaml is made by the program (test chart_annotations)."""
        with open(os.path.join(ROOT, CHART, "files/annotations.yaml"), encoding="utf-8") as file:
            rows = re.findall(r"^- \{name: (\S+), kinds: \[(.*)\]\}$", file.read(), re.MULTILINE)
        wanted = {name for name, kinds in rows if {"Pod", "ResourceClaim"} & set(kinds.split(", "))}
        self.assertGreater(len(wanted), 4, "the test no longer reads files/annotations.yaml")
        for helm in HELMS:
            text = self.rendered(helm, served=(POLICIES,))["ValidatingAdmissionPolicy", "dra-controller-manager.marks"]
            listed = re.search(r"name: requests\n\s*expression: >-\n\s*\[(.*?)\]", text, re.DOTALL).group(1)
            self.assertEqual(set(re.findall(r"'([^']+)'", listed)), wanted)

    def test_only_leases_of_the_release_are_evaluated(self):
        """Every node renews a lease every 10 s, so the policy on leases must not concern other namespaces, and no other policy may concern leases."""
        for helm in HELMS:
            made = self.rendered(helm, served=(POLICIES,))
            about = {name: text for (kind, name), text in made.items() if kind == "ValidatingAdmissionPolicy" and "leases" in text}
            self.assertEqual(list(about), ["dra-controller-manager.self-lease"])
            text = about["dra-controller-manager.self-lease"]
            self.assertRegex(text, r"namespaceSelector:\n\s*matchLabels:\n\s*kubernetes.io/metadata.name: ns\n")
            self.assertIn(("Lease", re.search(r"name\.orValue\(''\) == '(\S+)'", text).group(1)), made)
            self.assertIn("ValidatingAdmissionPolicyBinding", [kind for kind, name in made if name == "dra-controller-manager.self-lease"])

    def test_no_opt_in_policy_matches_pods_that_are_not_opted_in(self):
        """A policy that cannot be evaluated refuses what it matches, so each never matches excluded namespaces, and others by label."""
        for helm in HELMS:
            for mode, settings in (("labels", []), ("labels", BIND), ("all-claims", []), ("all-claims", BIND)):
                for served in ((POLICIES, MUTATING, CLASSES), (POLICIES, CLASSES)):
                    made = self.rendered(helm, f'optIn.mode="{mode}"', 'optIn.excludedNamespaces=["theirs"]', *settings, served=served)
                    kind = "MutatingAdmissionPolicy" if MUTATING in served else "ValidatingAdmissionPolicy"
                    policies = {name: text for (k, name), text in made.items() if k == kind and ".opt-in-" in name}
                    self.assertGreaterEqual(len(policies), 1)
                    for name, text in policies.items():
                        constraints = re.search(r"^  matchConstraints:(.*?)^  \S", text, re.MULTILINE | re.DOTALL).group(1)
                        self.assertRegex(constraints, r'"NotIn","values":\["kube-system","ns","theirs"\]', name)
                        if mode == "labels":
                            self.assertIn("dra-controller-manager/allocate", constraints, name)
                        binding = made[kind + "Binding", name]
                        self.assertNotIn("matchResources", binding, "one place says whom a policy is for")

    def test_extended_resources_need_a_server_that_serves_their_classes(self):
        """A policy whose parameters have a kind that is not served refuses every pod."""
        for helm in HELMS:
            for classes in ((), (CLASSES,)):
                made = self.rendered(helm, 'optIn.mode="labels"', *BIND, served=(POLICIES, MUTATING, *classes))
                with_parameters = [name for (_, name), text in made.items() if "paramKind" in text]
                self.assertEqual(with_parameters, ["dra-controller-manager.opt-in-bind-extended-namespaces",
                                                   "dra-controller-manager.opt-in-bind-extended-pods"] if classes else [])

    def test_exclusivity_exempts_opted_in_namespaces_and_no_others(self):
        label = "dra-controller-manager/allocate"
        policy = ("ValidatingAdmissionPolicy", "dra-controller-manager.exclusive")
        pods = ("ValidatingAdmissionPolicy", "dra-controller-manager.exclusive-pods")
        for helm in HELMS:
            off = self.rendered(helm, *TAINT, served=(POLICIES,))
            self.assertNotIn(label, off[policy], "nothing is opted in by a label")
            self.assertNotIn(pods, off)
            gate = self.rendered(helm, *TAINT, 'optIn.mode="labels"', served=(POLICIES,))
            self.assertIn("in ['gate'] && !(request.namespace in ['kube-system','ns'])", gate[policy].replace(", ", ","))
            self.assertIn(label, gate[pods])
            bind = self.rendered(helm, *TAINT, *BIND, 'optIn.mode="labels"', served=(POLICIES,))
            self.assertIn("in ['gate','bind']", bind[policy])
            self.assertIn("in ['ours']", bind[pods])
            everything = self.rendered(helm, *TAINT, 'optIn.mode="all-claims"', served=(POLICIES,))
            self.assertNotIn("?labels", everything[policy])
            self.assertIn("may-not-lift", everything[policy])

    def test_the_secure_port_is_served_admitted_and_authorised(self):
        for helm in HELMS:
            made = self.rendered(helm, 'metrics.authentication="secure"', 'metrics.tlsSecretName="certificate"', "metrics.serviceMonitor.enabled=true")
            deployment = made["Deployment", "dra-controller-manager"]
            for wanted in ("--secure-port=8443", "--metrics-authentication=secure", "--tls-cert-file=/etc/dra-controller-manager/tls/tls.crt",
                           "containerPort: 8443", "secretName: certificate"):
                self.assertIn(wanted, deployment)
            self.assertIn("port: https", made["NetworkPolicy", "dra-controller-manager"])
            self.assertIn("targetPort: https", made["Service", "dra-controller-manager"])
            self.assertIn("scheme: https", made["ServiceMonitor", "dra-controller-manager"])
            self.assertIn("name: system:auth-delegator", made["ClusterRoleBinding", "dra-controller-manager:auth-delegator"])
            default = self.rendered(helm, "metrics.serviceMonitor.enabled=true")
            for wanted in ("--secure-port=8443", "--metrics-authentication=always", "containerPort: 8443"):
                self.assertIn(wanted, default["Deployment", "dra-controller-manager"], "metrics are served over HTTPS, to those who may read them")
            self.assertRegex(default["Deployment", "dra-controller-manager"], r"livenessProbe:\n\s*httpGet: \{path: /livez, port: metrics\}")
            self.assertIn("ClusterRoleBinding", [kind for kind, name in default if name == "dra-controller-manager:auth-delegator"])
            self.assertIn('prometheus.io/scheme: https', default["Service", "dra-controller-manager"])
            self.assertIn("port: https", default["NetworkPolicy", "dra-controller-manager"])
            plain = self.rendered(helm, "metrics.serviceMonitor.enabled=true", *PLAIN)
            self.assertNotIn(("ClusterRoleBinding", "dra-controller-manager:auth-delegator"), plain)
            self.assertNotIn("https", plain["ServiceMonitor", "dra-controller-manager"] + plain["NetworkPolicy", "dra-controller-manager"])

    def test_values_that_an_older_release_did_not_have_may_be_absent(self):
        """As with helm upgrade --reuse-values: what is rendered then differs from the defaults in nothing but the user's number."""
        newer = ("commonLabels", "topologySpreadConstraints", "strategy", "serviceAccount", "env", "volumes", "volumeMounts", "podDisruptionBudget.minAvailable",
                 "podDisruptionBudget.maxUnavailable", "test.namespace")
        for helm in HELMS:
            absent = [f"{path}=null" for path in ("metrics.securePort", "metrics.authentication", "metrics.tlsSecretName")]
            self.assertEqual(render(helm, *absent)[:2], render(helm, *PLAIN)[:2])
            self.assertEqual(render(helm, *(f"{path}=null" for path in newer))[:2], render(helm)[:2])
            bare = self.rendered(helm, "podSecurityContext=null", "securityContext=null", "revisionHistoryLimit=null")["Deployment", "dra-controller-manager"]
            for kept in ("runAsNonRoot: true", "type: RuntimeDefault", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true", "- ALL"):
                self.assertIn(kept, bare)

    def test_without_a_server_it_renders_what_1_36_gets(self):
        """As GitOps does: helm template, with a list of the server's kinds or without."""
        whole = ("v1/Pod", "networking.k8s.io/v1/NetworkPolicy", POLICIES, MUTATING, CLASSES, "resource.k8s.io/v1")
        for helm in HELMS:
            for settings in ([], ['optIn.mode="labels"'], ['optIn.mode="all-claims"', *BIND], TAINT, ['optIn.mode="labels"', *TAINT, *BIND]):
                asked = render(helm, *settings, served=whole)
                self.assertEqual(asked[0], 0, asked[2])
                self.assertEqual(render(helm, *settings)[:2], asked[:2], settings)
            kinds = [kind for kind, _ in self.rendered(helm)]
            self.assertEqual(kinds.count("NetworkPolicy"), 1)
            self.assertGreaterEqual(kinds.count("ValidatingAdmissionPolicy"), 4)
            self.assertIn("MutatingAdmissionPolicy", [kind for kind, _ in self.rendered(helm, 'optIn.mode="labels"')])
            self.assertNotIn("NetworkPolicy", [kind for kind, _ in self.rendered(helm, "networkPolicy.enabled=false")])
            self.assertNotIn("ValidatingAdmissionPolicy", [kind for kind, _ in self.rendered(helm, "policies.enabled=false")])

    def test_kinds_that_a_server_does_not_serve_are_not_written(self):
        for helm in HELMS:
            made = self.rendered(helm, 'optIn.mode="labels"', *TAINT, served=("v1/Pod",))
            self.assertNotIn("MutatingAdmissionPolicy", [kind for kind, _ in made])
            for kind in ("serviceMonitor", "prometheusRule"):
                status, _, errors = render(helm, f"metrics.{kind}.enabled=true", served=("v1/Pod",))
                self.assertNotEqual(status, 0)
                self.assertIn(f"metrics.{kind}.enabled is true, but the server does not serve", errors)
                served = "monitoring.coreos.com/v1/" + kind[0].upper() + kind[1:]
                self.assertEqual(render(helm, f"metrics.{kind}.enabled=true", served=("v1/Pod", served))[0], 0)

    def test_every_object_has_the_labels(self):
        labels = ("app.kubernetes.io/name: dra-controller-manager", "app.kubernetes.io/instance: r", "app.kubernetes.io/managed-by: Helm",
                  "helm.sh/chart: dra-controller-manager-", "team: gpus")
        everything = ['commonLabels={"team":"gpus"}', 'optIn.mode="labels"', *TAINT, "namespace.create=true", 'test={"deviceClassName":"gpu","namespace":"mine"}',
                      "metrics.serviceMonitor.enabled=true", "metrics.prometheusRule.enabled=true", "metrics.dashboard.enabled=true"]
        for helm in HELMS:
            for (kind, name), text in self.rendered(helm, *everything).items():
                if "uninstall" in name or kind == "Namespace":
                    continue
                text = text.replace('"', "").replace("{", "\n ").replace(":", ": ").replace(":  ", ": ")
                for label in labels[0 if name != "dra-controller-manager-test" else 1:]:
                    self.assertIn(label, text, (kind, name))
            pod = self.rendered(helm, *everything)["Deployment", "dra-controller-manager"].split("template:")[1]
            for label in (labels[0], labels[1], labels[4]):
                self.assertIn(label, pod)
            self.assertNotIn("helm.sh/chart", pod, "an upgrade of the chart alone restarts nothing")

    def test_what_a_cluster_wants_otherwise_is_a_value(self):
        for helm in HELMS:
            made = self.rendered(helm, "podSecurityContext.runAsUser=null", "podSecurityContext.runAsGroup=null", 'securityContext.privileged=null',
                                 'podDisruptionBudget.maxUnavailable="50%"', 'strategy={"type":"Recreate","rollingUpdate":null}', "revisionHistoryLimit=3",
                                 'topologySpreadConstraints=[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]',
                                 'env=[{"name":"HTTPS_PROXY","value":"http://p"}]', 'volumes=[{"name":"ca","configMap":{"name":"ca"}}]',
                                 'volumeMounts=[{"name":"ca","mountPath":"/etc/ssl/certs"}]', 'serviceAccount.annotations={"a/b":"c"}', 'metrics.tlsSecretName="t"',
                                 'test.deviceClassName="gpu"')
            deployment = made["Deployment", "dra-controller-manager"]
            for wanted in ("type: Recreate", "revisionHistoryLimit: 3", "topologyKey: zone", "name: HTTPS_PROXY", "mountPath: /etc/ssl/certs", "name: ca", "runAsNonRoot: true",
                           "secretName: t"):
                self.assertIn(wanted, deployment)
            self.assertRegex(deployment, r"labelSelector:\n\s*matchLabels:\n\s*app.kubernetes.io/name: dra-controller-manager")
            for text in (deployment, made["Pod", "dra-controller-manager-test"], made["Job", "dra-controller-manager-uninstall"]):
                for absent in ("runAsUser", "runAsGroup", "rollingUpdate", "privileged"):
                    self.assertNotIn(absent, text)
            budget = made["PodDisruptionBudget", "dra-controller-manager"]
            self.assertIn("maxUnavailable: 50%", budget)
            self.assertNotIn("minAvailable", budget)
            self.assertIn("minAvailable: 1\n", self.rendered(helm)["PodDisruptionBudget", "dra-controller-manager"])
            self.assertIn("a/b: c", made["ServiceAccount", "dra-controller-manager"])
            quota = self.rendered(helm, "priorityClassQuota=true", "replicas=3")["ResourceQuota", "dra-controller-manager"]
            self.assertIn('pods: "6"', quota)
            self.assertIn("values: [system-cluster-critical]", quota)
            self.assertNotIn(("ResourceQuota", "dra-controller-manager"), self.rendered(helm))
            self.assertNotIn("topologySpreadConstraints", self.rendered(helm, "topologySpreadConstraints=[]")["Deployment", "dra-controller-manager"])

    def test_the_helm_test(self):
        """What failed stays, with its reason; in an opted-in namespace the pod has no gate of its own, and is refused if nothing adds one."""
        pod, claim, policy = ("Pod", "dra-controller-manager-test"), ("ResourceClaimTemplate", "dra-controller-manager-test"), ("ValidatingAdmissionPolicy", "dra-controller-manager.test")
        for helm in HELMS:
            here = self.rendered(helm, 'test.deviceClassName="gpu"')
            for one in (pod, claim):
                self.assertIn("before-hook-creation,hook-succeeded\"", here[one])
                self.assertNotIn("hook-failed", here[one])
                self.assertIn("namespace: ns\n", here[one])
            self.assertIn("- name: dra-controller-manager/allocation", here[pod])
            self.assertNotIn(policy, here)
            there = ['test={"deviceClassName":"gpu","namespace":"mine"}', 'optIn.mode="labels"']
            for settings, evidence in ((there, "g.name == 'dra-controller-manager/allocation'"), ([*there, *BIND], "in ['ours']")):
                made = self.rendered(helm, *settings)
                self.assertNotIn("schedulingGates", made[pod])
                self.assertNotIn("schedulerName", made[pod])
                self.assertIn("namespace: mine\n", made[pod])
                self.assertIn("namespace: mine\n", made[claim])
                self.assertIn(evidence, made[policy])
                self.assertNotIn("helm.sh/hook", made[policy])
            older = self.rendered(helm, *there, served=("v1/Pod",))
            self.assertIn("- name: dra-controller-manager/allocation", older[pod], "nothing can add it there")
            self.assertNotIn(policy, older)


if __name__ == "__main__":
    if not HELMS:
        print("skipped: no Helm in build/tools; scripts/fetch-test-tools brings it")
        sys.exit(77)
    unittest.main()
