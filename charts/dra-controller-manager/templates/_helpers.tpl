{{/* Names are fixed: a cluster has one manager, and Helm refuses a second release because these names are taken. */}}
{{- define "dra.labels" -}}
{{- $labels := dict "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") "app.kubernetes.io/version" .Chart.AppVersion }}
{{- merge $labels (include "dra.podLabels" . | fromYaml) | toYaml }}
{{- end }}

{{/* Without versions: those of pods, which an upgrade of the chart alone need not restart. */}}
{{- define "dra.podLabels" -}}
{{- $labels := dict "app.kubernetes.io/name" "dra-controller-manager" "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/managed-by" .Release.Service }}
{{- merge $labels (.Values.commonLabels | default dict) | toYaml }}
{{- end }}

{{- define "dra.selector" -}}
app.kubernetes.io/name: dra-controller-manager
{{- end }}

{{- define "dra.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The value at a path such as "scheduling.mode". */}}
{{- define "dra.valueAt" -}}
{{- $value := .values -}}
{{- range splitList "." .path }}{{ $value = index $value . }}{{ end -}}
{{ include "dra.word" $value }}
{{- end }}

{{/* YAML 1.1 reads on and off without quotes as true and false. */}}
{{- define "dra.word" -}}
{{- if kindIs "bool" . }}{{ ternary "on" "off" . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{/* "yes" if each of these conditions of files/roles.yaml holds: a value is one of a list. */}}
{{- define "dra.holds" -}}
{{- $holds := true }}
{{- range .conditions }}{{ if not (has (include "dra.valueAt" (dict "values" $.values "path" .path)) .in) }}{{ $holds = false }}{{ end }}{{ end }}
{{- if $holds }}yes{{ end }}
{{- end }}

{{/* The rules of a role; while readsOnlyWhen holds, without the verbs that write. */}}
{{- define "dra.rules" -}}
{{- $readsOnly := and .role.readsOnlyWhen (include "dra.holds" (dict "conditions" .role.readsOnlyWhen "values" .values)) }}
{{- range .role.rules }}
{{- $verbs := .verbs }}
{{- if $readsOnly }}{{ $verbs = list }}{{ range .verbs }}{{ if has . (list "get" "list" "watch") }}{{ $verbs = append $verbs . }}{{ end }}{{ end }}{{ end }}
{{- if $verbs }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  {{- with .resourceNames }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end }}
{{- end }}

{{/* From values.yaml; these where the values are absent (helm upgrade --reuse-values from a chart without them). */}}
{{- define "dra.securityContext" -}}
{{- .Values.securityContext | default (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL"))) | toYaml }}
{{- end }}

{{- define "dra.podSecurityContext" -}}
{{- .Values.podSecurityContext | default (dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault")) | toYaml }}
{{- end }}

{{/* Namespaces that are never opted in, as a list in JSON. */}}
{{- define "dra.excludedNamespaces" -}}
{{ concat (list "kube-system" .Release.Namespace) .Values.optIn.excludedNamespaces | uniq | toJson }}
{{- end }}

{{/* Values of the label dra-controller-manager/allocate that opt in, as a list in JSON. */}}
{{- define "dra.optInValues" -}}
{{ eq .Values.scheduling.mode "bind" | ternary (list "gate" "bind") (list "gate") | toJson }}
{{- end }}

{{/* CEL, in a policy: is the object's namespace opted in? */}}
{{- define "dra.optedIn" -}}
{{- $excluded := include "dra.excludedNamespaces" . | replace "\"" "'" }}
{{- if eq .Values.optIn.mode "off" -}}
false
{{- else if eq .Values.optIn.mode "all-claims" -}}
!(request.namespace in {{ $excluded }})
{{- else -}}
namespaceObject.metadata.?labels[?'dra-controller-manager/allocate'].orValue('') in {{ include "dra.optInValues" . | replace "\"" "'" }} && !(request.namespace in {{ $excluded }})
{{- end }}
{{- end }}

{{/* matchConditions of policies from which the manager's account, or whoever may lift our gate, is exempt; as JSON. */}}
{{- define "dra.notOurs" -}}
{{- $account := printf "system:serviceaccount:%s:dra-controller-manager" .Release.Namespace }}
{{- dict "name" "not-ours" "expression" (printf "!(request.userInfo.username in ['%s', '%s-uninstall'])" $account $account) | toJson }}
{{- end }}
{{- define "dra.mayNotLift" -}}
{{- dict "name" "may-not-lift" "expression" "!authorizer.group('dra-controller-manager').resource('gates').namespace(request.namespace).check('lift').allowed()" | toJson }}
{{- end }}

{{/* The HTTPS port, or nothing. (Some versions of Helm pass a 0 of values.yaml as a string, which is true.) */}}
{{- define "dra.securePort" -}}
{{- if int .Values.metrics.securePort }}{{ int .Values.metrics.securePort }}{{ end }}
{{- end }}

{{/* Which requests need a token. (Unset after helm upgrade --reuse-values from a chart without the value.) */}}
{{- define "dra.metricsAuthentication" -}}
{{ .Values.metrics.authentication | default "secure" }}
{{- end }}

{{/* "yes" if the server serves this; nothing if not. Where no server was asked (helm template without --api-versions): whether Kubernetes 1.36 does. A
server's answer names core kinds; --api-versions may name only those of policies and classes. */}}
{{- define "dra.serves" -}}
{{- $versions := .context.Capabilities.APIVersions }}
{{- $asked := false }}
{{- range list "v1/Pod" "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy" "resource.k8s.io/v1/DeviceClass" }}
{{- if $versions.Has . }}{{ $asked = true }}{{ end }}
{{- end }}
{{- if $asked }}{{ if $versions.Has .what }}yes{{ end }}
{{- else if has .what (list "resource.k8s.io/v1" "resource.k8s.io/v1/DeviceClass" "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") }}yes
{{- end }}
{{- end }}

{{/* The version of MutatingAdmissionPolicy to write, or nothing. */}}
{{- define "dra.mutating" -}}
{{- if include "dra.serves" (dict "context" . "what" "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") }}v1
{{- else if include "dra.serves" (dict "context" . "what" "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy") }}v1beta1
{{- end }}
{{- end }}

{{/* Whether pods may request devices by the name of an extended resource: since resource.k8s.io/v1 (1.34). "yes" or nothing. */}}
{{- define "dra.extendedResources" -}}
{{- include "dra.serves" (dict "context" . "what" "resource.k8s.io/v1/DeviceClass") }}
{{- end }}

{{/* Values that are valid one by one but contradict each other. */}}
{{- define "dra.check" -}}
{{- $v := .Values }}
{{- /* Objects of the cluster have one name: Helm's own words for that are about annotations. `helm template` asks no server. */}}
{{- $there := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "dra-controller-manager:viewer" | default dict }}
{{- $by := dig "metadata" "annotations" dict $there | default dict }}
{{- $release := index $by "meta.helm.sh/release-name" | default "" }}
{{- $namespace := index $by "meta.helm.sh/release-namespace" | default "" }}
{{- if and $release (or (ne $release .Release.Name) (ne $namespace .Release.Namespace)) }}
{{- fail (printf "a dra-controller-manager is installed in namespace %s (release %s), and a cluster has one: upgrade it (helm upgrade %s -n %s), or uninstall it first" $namespace $release $release $namespace) }}
{{- end }}
{{- if and (eq $v.scheduling.mode "bind") (empty $v.scheduling.names) }}
{{- fail "scheduling.mode is bind, but scheduling.names is empty: name at least one value of spec.schedulerName that no other scheduler serves, or choose scheduling.mode=gate" }}
{{- end }}
{{- if and (ne $v.scheduling.mode "bind") $v.scheduling.names }}
{{- fail (printf "scheduling.names is set, but scheduling.mode is %s: pods of these schedulers would never be bound; choose scheduling.mode=bind or empty scheduling.names" $v.scheduling.mode) }}
{{- end }}
{{- if and (ne $v.scheduling.mode "bind") (eq (include "dra.word" $v.preemption) "on") }}
{{- fail (printf "preemption is on, but scheduling.mode is %s: only mode bind places pods itself; choose preemption=off, or scheduling.mode=bind" $v.scheduling.mode) }}
{{- end }}
{{- if and (ne $v.scheduling.mode "bind") (eq (include "dra.word" $v.defragment) "on") }}
{{- fail (printf "defragment is on, but scheduling.mode is %s: only mode bind gives moved pods their places; choose defragment=advice, or scheduling.mode=bind" $v.scheduling.mode) }}
{{- end }}
{{- if and (eq $v.scheduling.mode "observe") (eq (include "dra.word" $v.defragment) "advice") }}
{{- fail "scheduling.mode is observe, which serves no pods, but defragment is advice: choose defragment=off, or scheduling.mode gate or bind" }}
{{- end }}
{{- if and (eq $v.scheduling.mode "observe") (eq (include "dra.word" $v.recoverFailedPrepares) "on") }}
{{- fail "scheduling.mode is observe, which writes nothing, but recoverFailedPrepares is on, which evicts pods: choose recoverFailedPrepares=off, or scheduling.mode gate or bind" }}
{{- end }}
{{- if and (eq $v.scheduling.mode "observe") (ne $v.claimTemplates "observe") }}
{{- fail "scheduling.mode is observe, which writes nothing, but claimTemplates is own: choose claimTemplates=observe, or scheduling.mode gate or bind" }}
{{- end }}
{{- if and (eq $v.scheduling.mode "observe") (ne $v.deviceTaintEviction "observe") }}
{{- fail "scheduling.mode is observe, which writes nothing, but deviceTaintEviction is own: choose deviceTaintEviction=observe, or scheduling.mode gate or bind" }}
{{- end }}
{{- if and (eq $v.scheduling.mode "observe") $v.test.deviceClassName }}
{{- fail "scheduling.mode is observe, but test.deviceClassName is set: nothing would be allocated; empty test.deviceClassName" }}
{{- end }}
{{- if and (ne $v.optIn.mode "off") (eq $v.scheduling.mode "observe") }}
{{- fail "optIn.mode is set, but scheduling.mode is observe: pods would be gated and never ungated; choose optIn.mode=off, or scheduling.mode gate or bind" }}
{{- end }}
{{- if and (eq $v.exclusive.mode "all-claims") (ne $v.optIn.mode "all-claims") }}
{{- fail (printf "exclusive.mode is all-claims, but optIn.mode is %s: pods that are not opted in would share the devices; choose optIn.mode=all-claims, or exclusive.mode=taint" $v.optIn.mode) }}
{{- end }}
{{- if and (eq $v.exclusive.mode "taint") (not $v.exclusive.taintKey) }}
{{- fail "exclusive.mode is taint, but exclusive.taintKey is empty: name the key of the NoSchedule taint that the driver publishes" }}
{{- end }}
{{- if and (ne $v.exclusive.mode "taint") $v.exclusive.taintKey }}
{{- fail (printf "exclusive.taintKey is set, but exclusive.mode is %s: choose exclusive.mode=taint or empty exclusive.taintKey" $v.exclusive.mode) }}
{{- end }}
{{- if and (eq $v.exclusive.mode "taint") (not (include "dra.serves" (dict "context" . "what" "resource.k8s.io/v1"))) (not (include "dra.serves" (dict "context" . "what" "resource.k8s.io/v1beta2"))) }}
{{- fail "exclusive.mode=taint needs resource.k8s.io/v1 or v1beta2 (Kubernetes 1.33 and newer), which this server does not serve: claims in older versions have no tolerations; choose exclusive.mode=none" }}
{{- end }}
{{- if and (eq $v.optIn.mode "off") $v.optIn.excludedNamespaces }}
{{- fail "optIn.excludedNamespaces is set, but optIn.mode is off, which opts in nothing: choose optIn.mode labels or all-claims, or empty optIn.excludedNamespaces" }}
{{- end }}
{{- if and (not (include "dra.securePort" .)) (ne (include "dra.metricsAuthentication" .) "secure") }}
{{- fail (printf "metrics.authentication is %s, but metrics.securePort is 0: tokens are not read over HTTP; choose a port, or metrics.authentication=secure" (include "dra.metricsAuthentication" .)) }}
{{- end }}
{{- if and (not (include "dra.securePort" .)) $v.metrics.tlsSecretName }}
{{- fail "metrics.tlsSecretName is set, but metrics.securePort is 0: choose a port, or empty metrics.tlsSecretName" }}
{{- end }}
{{- if eq (int $v.metrics.securePort) (int $v.metrics.port) }}
{{- fail (printf "metrics.securePort and metrics.port are both %d: choose another port for one of them" (int $v.metrics.port)) }}
{{- end }}
{{- if $v.test.namespace }}
{{- if not $v.test.deviceClassName }}
{{- fail "test.namespace is set, but test.deviceClassName is empty: name the DeviceClass that helm test allocates from" }}
{{- end }}
{{- if eq $v.optIn.mode "off" }}
{{- fail "test.namespace is set, but optIn.mode is off, so that no pod of another namespace is opted in: choose optIn.mode labels or all-claims, or empty test.namespace" }}
{{- end }}
{{- if has $v.test.namespace (include "dra.excludedNamespaces" . | fromJsonArray) }}
{{- fail (printf "test.namespace is %s, which is never opted in: choose a namespace whose pods are" $v.test.namespace) }}
{{- end }}
{{- end }}
{{- range $kind, $on := dict "ServiceMonitor" $v.metrics.serviceMonitor.enabled "PrometheusRule" $v.metrics.prometheusRule.enabled }}
{{- if and $on ($.Capabilities.APIVersions.Has "v1/Pod") (not ($.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" $kind))) }}
{{- fail (printf "metrics.%s%s.enabled is true, but the server does not serve %s of monitoring.coreos.com/v1: install the Prometheus operator first, or choose false" (lower (substr 0 1 $kind)) (substr 1 -1 $kind) $kind) }}
{{- end }}
{{- end }}
{{- range $v.volumes }}
{{- if eq .name "tls" }}
{{- fail "volumes has one named tls, the name of the chart's own for metrics.tlsSecretName: choose another name" }}
{{- end }}
{{- end }}
{{- $taken := dict "claim-templates" "claimTemplates" "scheduling" "scheduling.mode" "scheduler-names" "scheduling.names" "device-taint-eviction" "deviceTaintEviction" "recreate-pinned-pods" "recreatePinnedPods" "preemption" "preemption" "defragment" "defragment" "recover-failed-prepares" "recoverFailedPrepares" "usage" "usage" "ignore-taints" "ignoreTaints" "feature-gates" "featureGates" "ignore-unknown-fields" "ignoreUnknownFields" "identity" "identities.own" "identity-parent" "identities.parent" "identity-part" "identities.parts" "identity-exclusive" "identities.exclusive" "identity-annotations" "policies.actions" "device-plugin" "devicePlugin.use" "device-plugin-resources" "devicePlugin.resources" "shared-device-requests" "sharedDevices.requests" "shared-device-parameters" "sharedDevices.parameters" "metrics-port" "metrics.port" "secure-port" "metrics.securePort" "metrics-authentication" "metrics.authentication" "tls-cert-file" "metrics.tlsSecretName" "tls-private-key-file" "metrics.tlsSecretName" "logging-format" "logging.format" "v" "logging.verbosity" "leader-elect-resource-namespace" "the release's namespace" "leader-elect-resource-name" "nothing: the roles name the lease" "release-gates" "uninstall.releaseGates" "leader-elect" "replicas" "bind-address" "nothing: probes come from outside" "release-deadline" "uninstall.deadlineSeconds" "kubeconfig" "nothing: the pod has its own" "master" "nothing: the pod has its own" "context" "nothing: the pod has its own" }}
{{- /* A test compares these with docs/user/flags.md. */}}
{{- $known := list "kube-api-qps" "kube-api-burst" "resourceclaim-controller-is-off" "controllers" "max-evictions-per-rule" "device-taint-eviction-rate" "kubernetes-version" "strategy" "gang-hold-timeout" "gang-starvation-after" "topology-levels" "max-moves" "move-after" "moves-per-hour" "allocation-step-budget" "cel-extensions" "strict-selector-errors" "stale-pool-generations" "leader-elect-lease-duration" "leader-elect-renew-deadline" "leader-elect-retry-period" "leader-elect-resource-lock" "controller-shutdown-timeout" }}
{{- range $v.extraArgs }}
{{- $name := regexReplaceAll "^-+([^=]*).*$" . "${1}" | replace "_" "-" }}
{{- if hasKey $taken $name }}
{{- fail (printf "extraArgs has %s: the chart sets --%s itself; use %s" . $name (get $taken $name)) }}
{{- else if not (has $name $known) }}
{{- fail (printf "extraArgs has %s, which is not a flag of dra-controller-manager: docs/user/flags.md lists them" .) }}
{{- end }}
{{- end }}
{{- end }}
