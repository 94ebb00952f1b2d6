#!/usr/bin/env bash
# parse_quantity of Debian's Python client takes more than an API server does: a blank before the suffix, "K" for kilo, underscores, NaN. A tool that checks
# manifests with it passes what the server refuses, and with NaN every comparison is false.
. "$(dirname "$0")/common.sh"
guess 'parse_quantity raises for what resource.Quantity refuses'
python_kubernetes
cat > run.py <<'PY'
from kubernetes.utils.quantity import parse_quantity
for text in ("80Gi", "80 Gi", "64K", "1_000", "NaN", "80gi"):
    try:
        print(text, "is", parse_quantity(text))
    except ValueError:
        print(text, "is refused")
PY
python_run run.py | seen 'quantities' '80Gi is 85899345920
80 Gi is 85899345920
64K is 64000
1_000 is 1000
NaN is NaN
80gi is refused'
