#!/usr/bin/env bash
# Debian's Python client raises when it lists events.k8s.io/v1 and one event was written by a component of the older recorder (kubelet): its eventTime is null,
# which servers allow on events that came in through the core API.
. "$(dirname "$0")/common.sh"
guess 'whatever the server answers can be read; one event with a null field costs at most itself'
python_kubernetes
cat > run.py <<'PY'
import json
from kubernetes import client
class Answer:
    data = json.dumps({"apiVersion": "events.k8s.io/v1", "kind": "EventList", "metadata": {}, "items": [
        {"metadata": {"name": "train.1", "namespace": "red"}, "eventTime": None, "reason": "FailedPrepareDynamicResources", "type": "Warning",
         "regarding": {"kind": "Pod", "name": "train"}, "deprecatedSource": {"component": "kubelet"}, "deprecatedCount": 3}]})
try:
    print(len(client.ApiClient().deserialize(Answer, "EventsV1EventList").items))
except ValueError as error:
    print(type(error).__name__, error)
PY
python_run run.py | seen 'the list' 'ValueError Invalid value for `event_time`, must not be `None`'
